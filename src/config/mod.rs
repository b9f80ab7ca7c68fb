//! Configuration (operations.md §2): flags over environment over file over defaults.
//!
//! One table, [`keys::KEYS`], holds the range of each key. A value is checked where it is read, so
//! that an error names the key and the place where it was set.

mod address;
pub mod keys;
mod load;

use std::net::SocketAddr;
use std::path::PathBuf;

use parley_protocol::limits::Limits;
use serde::{Deserialize, Serialize};

use crate::journal::options::JournalOptions;

pub use address::{Host, HostPort, Network, PublicUrl, WebOrigin, url_of};
pub use load::{ConfigError, ConfigSources};

/// The profiles that this implementation has.
pub const PROFILES: [&str; 3] = ["dialectic", "feed", "artifacts"];

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address on which the server listens; port 0 is any free one.
    pub listen: SocketAddr,
    /// The address that serves metrics without a token.
    pub metrics_listen: Option<SocketAddr>,
    /// The data directory.
    pub data: PathBuf,
    /// The prefix of the identities of models.
    pub realm: String,
    /// The URL under which clients reach the server.
    pub public_url: Option<PublicUrl>,
    /// Origins of pages that may call the server.
    pub allowed_origins: Vec<WebOrigin>,
    /// Values of `Host` that the server answers to.
    pub allowed_hosts: Vec<HostPort>,
    /// Proxies whose `X-Forwarded-For` is trusted.
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
    /// Concurrent calls, and the wait for a permit.
    pub overload: OverloadConfig,
    /// The log.
    pub log: LogConfig,
}

/// `runtime.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeConfig {
    /// Seconds without work after which an actor leaves memory.
    pub idle_seconds: u64,
    /// Threads that may be in memory at a time.
    pub resident_threads_max: u64,
}

/// `gateway.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// Connections at a time; above: 503 `overloaded`.
    pub connections_max: u64,
    /// Of these, places that connections without a good token do not take.
    pub authenticated_reserve: u64,
    /// Connections of one address without a good token.
    pub per_address_max: u64,
    /// Seconds within which a request's header must have come.
    pub header_seconds: u64,
    /// Seconds within which a request's body must have come.
    pub body_seconds: u64,
    /// Seconds that a connection may be idle between requests, or not read its answer.
    pub idle_seconds: u64,
    /// Wrong tokens per minute and address; above: 429.
    pub wrong_tokens_per_minute: u64,
}

/// `feed.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
pub struct OverloadConfig {
    /// Writes in progress at a time.
    pub writes_max: u64,
    /// Reads that wait for a thread of their pool.
    pub reads_max: u64,
    /// Milliseconds that a write waits for a permit before 503 `overloaded`.
    pub wait_ms: u64,
    /// Bytes of request bodies that are being read.
    pub request_bytes: u64,
    /// Bytes of answers that are being written.
    pub answer_bytes: u64,
}

/// `log.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// The form; `None` is text on a terminal, else JSON.
    pub format: Option<LogFormat>,
    /// The lowest level that is logged.
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
            runtime: RuntimeConfig { idle_seconds: 60, resident_threads_max: 20_000 },
            gateway: GatewayConfig {
                connections_max: 16_384,
                authenticated_reserve: 8_192,
                per_address_max: 1_024,
                header_seconds: 10,
                body_seconds: 30,
                idle_seconds: 75,
                wrong_tokens_per_minute: 600,
            },
            feed: FeedConfig {
                connections_max: 16_384,
                per_identity_max: 1_000,
                heartbeat_seconds: 20,
                buffer: 256,
                replay_max: JournalOptions::default().replay_max,
            },
            overload: OverloadConfig {
                writes_max: 2_048,
                reads_max: 4_096,
                wait_ms: 250,
                request_bytes: 128 << 20,
                answer_bytes: 128 << 20,
            },
            log: LogConfig { format: None, level: "info".into() },
        }
    }
}
