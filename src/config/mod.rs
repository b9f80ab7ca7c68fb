//! Configuration (operations.md §2): flags over environment over file over defaults.
//!
//! What each key takes stands in one table, [`keys::KEYS`]; a value is judged where it comes in,
//! so that a line about it can name the key and where it was set.

mod address;
pub mod keys;
mod load;

use std::net::SocketAddr;
use std::path::PathBuf;

use parley_protocol::limits::Limits;
use serde::{Deserialize, Serialize};

use crate::journal::options::JournalOptions;

pub use address::{Host, HostPort, Network, PublicUrl, WebOrigin};
pub use load::{ConfigError, ConfigSources};

/// The profiles that this implementation has.
pub const PROFILES: [&str; 3] = ["dialectic", "feed", "artifacts"];

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the server listens; port 0 is any free one.
    pub listen: SocketAddr,
    /// Where metrics are given without a token.
    pub metrics_listen: Option<SocketAddr>,
    /// The folder that holds everything.
    pub data: PathBuf,
    /// What the identities of models begin with.
    pub realm: String,
    /// The address under which others reach the server.
    pub public_url: Option<PublicUrl>,
    /// Origins from which browsers may come.
    pub allowed_origins: Vec<WebOrigin>,
    /// Hosts under which the server may be called.
    pub allowed_hosts: Vec<HostPort>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// The profiles that are active.
    pub profiles: Vec<String>,
    /// The limits of the language.
    pub limits: Limits,
    /// `store.*`; `replay_max` is not set here.
    pub store: JournalOptions,
    /// The actors.
    pub runtime: RuntimeConfig,
    /// The gateway.
    pub gateway: GatewayConfig,
    /// The feed.
    pub feed: FeedConfig,
    /// How much work may wait.
    pub overload: OverloadConfig,
    /// The log.
    pub log: LogConfig,
}

/// `runtime.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeConfig {
    /// Seconds without work after which an actor leaves memory.
    pub idle_seconds: u64,
    /// Threads that may be in memory at a time.
    pub resident_threads_max: u64,
}

/// `gateway.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayConfig {
    /// Connections at a time; above: 503 `overloaded`.
    pub connections_max: u64,
    /// Seconds within which a request's header must have come.
    pub header_seconds: u64,
    /// Seconds within which a request's body must have come.
    pub body_seconds: u64,
    /// Seconds that a connection may rest between requests, or not take what is sent to it.
    pub idle_seconds: u64,
    /// Wrong tokens per minute and address before 429.
    pub wrong_tokens_per_minute: u64,
}

/// `feed.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedConfig {
    /// Feeds at a time; above: 503 `overloaded`.
    pub connections_max: u64,
    /// Feeds of one identity at a time; above: 429 `rate_limited`.
    pub per_identity_max: u64,
    /// Seconds between pings.
    pub heartbeat_seconds: u64,
    /// Live frames that may wait for one listener.
    pub buffer: u64,
    /// Entries that a replay reaches back.
    pub replay_max: u64,
}

/// `overload.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverloadConfig {
    /// Writes under way at a time.
    pub writes_max: u64,
    /// Reads under way at a time.
    pub reads_max: u64,
    /// Milliseconds that a call waits for its turn before 503 `overloaded`.
    pub wait_ms: u64,
}

/// `log.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// The form; `None` is text on a terminal, else JSON.
    pub format: Option<LogFormat>,
    /// The least severe level that is written.
    pub level: String,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7467)),
            metrics_listen: None,
            data: PathBuf::from("./parley-data"),
            realm: "local".into(),
            public_url: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            profiles: PROFILES.map(String::from).into(),
            limits: Limits::default(),
            store: JournalOptions::default(),
            runtime: RuntimeConfig::default(),
            gateway: GatewayConfig::default(),
            feed: FeedConfig::default(),
            overload: OverloadConfig::default(),
            log: LogConfig::default(),
        }
    }
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { idle_seconds: 60, resident_threads_max: 20_000 }
    }
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            header_seconds: 10,
            body_seconds: 30,
            idle_seconds: 75,
            wrong_tokens_per_minute: 600,
        }
    }
}

impl Default for FeedConfig {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            per_identity_max: 1_000,
            heartbeat_seconds: 20,
            buffer: 256,
            replay_max: JournalOptions::default().replay_max,
        }
    }
}

impl Default for OverloadConfig {
    fn default() -> Self {
        Self { writes_max: 2_048, reads_max: 1_024, wait_ms: 250 }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: None, level: "info".into() }
    }
}

impl Config {
    /// Whether a profile is active.
    pub fn has_profile(&self, name: &str) -> bool {
        self.profiles.iter().any(|profile| profile == name)
    }
}
