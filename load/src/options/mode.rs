//! The modes, with their words and defaults.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The kinds of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The libraries of a forum without the forum.
    Ceiling,
    /// Pure writes, spread over many threads.
    Post,
    /// Whole conversations of agents, while listeners follow their inboxes.
    Swarm,
    /// Many listeners in scope all.
    Fanout,
    /// All agents on one thread.
    Hot,
    /// Memory of resident threads, of sleeping threads and of listeners.
    Idle,
    /// Repeated: kill -9 under load, restart, check.
    Crash,
    /// A steady rate for a long time.
    Soak,
    /// Small reads without writes: a claim, a thread or an empty inbox.
    Read,
    /// Attacks at full rate beside honest agents.
    Abuse,
    /// Inboxes: concurrent resumption, questions to anyone, many questions of one participant.
    Inbox,
}

/// The answer that `read` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadWhat {
    /// A claim.
    Claim,
    /// A thread of ten messages.
    Thread,
    /// An empty inbox.
    Inbox,
}

impl Mode {
    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Post => "post",
            Self::Swarm => "swarm",
            Self::Fanout => "fanout",
            Self::Hot => "hot",
            Self::Idle => "idle",
            Self::Crash => "crash",
            Self::Soak => "soak",
            Self::Read => "read",
            Self::Inbox => "inbox",
            Self::Abuse => "abuse",
        }
    }

    /// Whether the mode restarts or configures its server, so that a named one cannot serve.
    pub fn needs_own_server(self) -> bool {
        match self {
            Self::Ceiling | Self::Idle | Self::Crash | Self::Inbox | Self::Abuse => true,
            Self::Post | Self::Swarm | Self::Fanout | Self::Hot | Self::Soak | Self::Read => false,
        }
    }

    /// Whether each agent has a connection of its own.
    pub fn connects_each_agent(self) -> bool {
        match self {
            Self::Hot | Self::Swarm => true,
            Self::Ceiling
            | Self::Post
            | Self::Fanout
            | Self::Idle
            | Self::Crash
            | Self::Soak
            | Self::Read
            | Self::Abuse
            | Self::Inbox => false,
        }
    }
}

/// The defaults of a mode.
pub struct Defaults {
    /// Length of a round, in seconds.
    pub seconds: u64,
    /// Participants.
    pub agents: usize,
    /// Connections that write or read.
    pub connections: usize,
    /// Threads.
    pub threads: usize,
    /// Open feeds.
    pub listeners: usize,
    /// Rounds.
    pub rounds: usize,
    /// Share of the participants that use MCP.
    pub mcp: f64,
}

/// The defaults of `mode`.
pub const fn defaults(mode: Mode) -> Defaults {
    let base = Defaults {
        seconds: 10,
        agents: 64,
        connections: 64,
        threads: 10_000,
        listeners: 0,
        rounds: 3,
        mcp: 0.0,
    };
    match mode {
        Mode::Ceiling | Mode::Post => base,
        Mode::Swarm => Defaults {
            seconds: 30,
            agents: 1_000,
            connections: 1_000,
            threads: 5_000,
            listeners: 200,
            mcp: 0.5,
            ..base
        },
        Mode::Fanout => Defaults { seconds: 10, threads: 64, listeners: 1_000, ..base },
        Mode::Read => Defaults { threads: 1_000, ..base },
        Mode::Hot => Defaults { threads: 1, ..base },
        Mode::Abuse => Defaults { seconds: 60, threads: 1_000, ..base },
        Mode::Idle => Defaults { threads: 100_000, listeners: 1_000, rounds: 1, ..base },
        Mode::Crash => Defaults {
            seconds: 4,
            agents: 100,
            connections: 100,
            threads: 300,
            listeners: 20,
            rounds: 5,
            mcp: 0.3,
        },
        Mode::Soak => Defaults { seconds: 600, rounds: 1, ..base },
        Mode::Inbox => {
            Defaults { agents: 50_000, threads: 500_000, listeners: 10_000, rounds: 5, ..base }
        }
    }
}
