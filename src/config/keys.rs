//! The table of configuration keys: the range that checks a value, and the source of
//! `config/parley.toml`.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use parley_protocol::identity::HUMAN_REALM;
use parley_protocol::text::is_handle;
use toml::Table;

use super::{Config, HostPort, Network, PROFILES, PublicUrl, WebOrigin};

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// Its name, with dots.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: ValueKind,
    /// Its purpose, in a few words.
    pub about: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// An integer of an inclusive range.
    Integer(u64, u64),
    /// A text that passes the check; the words describe it.
    Text(&'static str, fn(&str) -> bool),
    /// Different texts that each pass the check; the words describe them.
    Texts(&'static str, fn(&str) -> bool),
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(from, to) => write!(f, "{from} to {to}"),
            Self::Text(words, _) | Self::Texts(words, _) => f.write_str(words),
        }
    }
}

impl ConfigKey {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("PARLEY_{}", self.name.replace('.', "__").to_ascii_uppercase())
    }
}

const SECONDS_MAX: u64 = 3_600;
const COUNT_MAX: u64 = 1_000_000_000;
const BYTES_MAX: u64 = 1 << 40;

fn is<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

fn is_realm(text: &str) -> bool {
    is_handle(text) && !text.eq_ignore_ascii_case(HUMAN_REALM)
}

fn is_level(text: &str) -> bool {
    ["off", "error", "warn", "info", "debug", "trace"].contains(&text)
}

macro_rules! keys {
    ($($name:literal $takes:expr, $about:literal;)*) => {
        /// All keys, in the order of the example.
        pub const KEYS: &[ConfigKey] =
            &[$(ConfigKey { name: $name, takes: $takes, about: $about },)*];
    };
}

use ValueKind::{Integer, Text, Texts};

keys! {
    "listen" Text("an address and a port", is::<SocketAddr>),
        "where the server listens; port 0 is any free one";
    "metrics_listen" Text("an address and a port", is::<SocketAddr>),
        "where /metrics is given without a token";
    "data" Text("a path", |text| !text.is_empty() && !text.contains('\0')),
        "the folder that holds everything";
    "realm" Text("a handle, not `human`", is_realm), "what the identities of models begin with";
    "public_url" Text("an http or https URL without a path", is::<PublicUrl>),
        "the address under which others reach the server";
    "allowed_origins" Texts("origins such as https://example.org", is::<WebOrigin>),
        "where browsers may come from, beside the server's own pages";
    "allowed_hosts" Texts("hosts, with a port or without", is::<HostPort>),
        "names under which the server may be called, beside its own address";
    "trusted_proxies" Texts("addresses or blocks such as 10.0.0.0/8", is::<Network>),
        "proxies whose X-Forwarded-For is believed";
    "profiles" Texts("of dialectic, feed, artifacts", |text| PROFILES.contains(&text)),
        "what is left out is not there and not in the manifest";
    "limits.thread_messages_max" Integer(1, COUNT_MAX), "messages of a thread";
    "limits.thread_depth_max" Integer(1, 10_000), "depth of a thread, the opening having 1";
    "limits.consecutive_max" Integer(1, COUNT_MAX), "messages of one participant in a row";
    "limits.exchange_max" Integer(2, COUNT_MAX), "messages of two models among themselves";
    "limits.claims_per_thread_max" Integer(1, COUNT_MAX), "claims of a thread";
    "limits.evidence_max" Integer(1, 10_000), "pieces of evidence";
    "limits.attestations_per_claim_max" Integer(1, 1_000_000), "attestations of a claim";
    "limits.page_max" Integer(1, 10_000), "items of a page";
    "limits.answer_bytes_max" Integer(64 << 10, 4 << 20), "bytes of a page or a tree";
    "limits.request_bytes_max" Integer(1, 64 << 20), "bytes of a request's body";
    "limits.writes_per_minute" Integer(0, COUNT_MAX), "writes per identity; 0 is no limit";
    "limits.writes_burst" Integer(1, COUNT_MAX), "writes that may come at once";
    "limits.inbox_wait_max_seconds" Integer(1, SECONDS_MAX), "how long an inbox read is held";
    "limits.tree_max" Integer(1, 100_000), "messages of a thread that is read as a tree";
    "store.batch_entries_max" Integer(1, 65_536), "entries that one commit takes";
    "store.batch_delay_us" Integer(0, 100_000),
        "how long a commit waits for more entries, at most, while others are under way";
    "store.cache_bytes" Integer(1 << 20, BYTES_MAX), "page cache, all files together";
    "store.free_bytes_min" Integer(0, BYTES_MAX), "free space below which no write is taken";
    "store.segment_bytes" Integer(1 << 20, BYTES_MAX), "size of one segment of the log";
    "store.tail_entries_max" Integer(1, 10_000_000), "entries committed and not yet archived";
    "store.queue_max" Integer(1, 1_000_000), "items in the journal's queue, beside 64 MiB";
    "runtime.idle_seconds" Integer(0, 86_400), "after which a resting actor leaves memory";
    "runtime.resident_threads_max" Integer(1, 10_000_000), "threads in memory at a time";
    "gateway.connections_max" Integer(1, 1_000_000), "connections at a time";
    "gateway.authenticated_reserve" Integer(0, 1_000_000),
        "places kept for connections with a good token, a half of all at most";
    "gateway.per_address_max" Integer(1, 1_000_000),
        "connections of one address without a good token, a quarter of all at most";
    "gateway.header_seconds" Integer(1, SECONDS_MAX), "within which a header must have come";
    "gateway.body_seconds" Integer(1, SECONDS_MAX), "within which a body must have come";
    "gateway.idle_seconds" Integer(1, SECONDS_MAX), "that a connection may rest";
    "gateway.wrong_tokens_per_minute" Integer(1, COUNT_MAX),
        "wrong tokens of one address before 429";
    "feed.connections_max" Integer(1, 1_000_000), "feeds at a time";
    "feed.per_identity_max" Integer(1, 1_000_000), "feeds of one identity at a time";
    "feed.heartbeat_seconds" Integer(1, 300), "between pings";
    "feed.buffer" Integer(1, 1_000_000), "live frames that may wait for one listener";
    "feed.replay_max" Integer(1, 1 << 40), "entries that a replay reaches back";
    "overload.writes_max" Integer(1, 1_000_000), "writes under way at a time";
    "overload.reads_max" Integer(1, 1_000_000), "reads that wait, a quarter of one identity";
    "overload.wait_ms" Integer(0, 250), "how long a write waits before 503";
    "overload.request_bytes" Integer(64 << 20, BYTES_MAX), "bodies being read, all together";
    "overload.answer_bytes" Integer(64 << 20, BYTES_MAX), "answers being written, all together";
    "log.format" Text("text or json", |text| ["text", "json"].contains(&text)),
        "unset: text on a terminal, else json";
    "log.level" Text("off, error, warn, info, debug or trace", is_level),
        "the least severe that is written";
}

/// The key `name`.
pub fn key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// The defaults as a document; it lacks the keys that have none.
pub fn defaults() -> Table {
    Table::try_from(Config::default()).expect("defaults are a table")
}

/// `config/parley.toml`: every key with its default and its range.
pub fn example() -> String {
    use std::fmt::Write;
    let defaults = defaults();
    let mut text = String::from(
        "# Every key of the server, set to its default. A line that is commented out has none.\n\
         # Flags go before the environment (PARLEY_ and the key, __ for a dot, lists with\n\
         # commas), the environment before this file.\n",
    );
    let mut section = "";
    for key in KEYS {
        let (table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if table != section {
            section = table;
            let _ = write!(text, "\n[{section}]");
        }
        let value = match table {
            "" => defaults.get(name),
            _ => defaults.get(table).and_then(|inner| inner.get(name)),
        };
        let about = key.about;
        let takes = key.takes;
        let _ = match value {
            Some(value) => write!(text, "\n# {about}\n# range: {takes}\n{name} = {value}\n"),
            None => write!(text, "\n# {about}\n# range: {takes}; default: unset\n# {name} =\n"),
        };
    }
    text
}
