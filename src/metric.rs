//! The metrics of a server (operations.md §4): name, kind, labels and meaning, one row each. The
//! name of each is a constant, which is what recording code names.

/// Buckets in seconds, from a cached read to a held inbox read.
const SECONDS: &[f64] =
    &[0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
/// Buckets in entries of one commit.
const ENTRIES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// Rises only.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts values in these buckets, by their upper ends.
    Histogram(&'static [f64]),
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct MetricSpec {
    /// Its name; ends with the unit, or with `total` for a counter.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The names of its labels. No label holds a value that a client chose.
    pub labels: &'static [&'static str],
    /// The values of its label, if it has one whose values are few: each is there from the start.
    pub values: &'static [&'static str],
    /// Its meaning, as scrapers show it.
    pub about: &'static str,
}

macro_rules! metrics {
    ($(
        $constant:ident $name:literal $kind:ident $(($buckets:ident))? [$($label:literal),*]
        $([$($value:literal),*])? $about:literal;
    )*) => {
        $(#[doc = $about] pub const $constant: &str = $name;)*
        /// Every metric.
        pub const METRICS: &[MetricSpec] = &[$(MetricSpec {
            name: $constant,
            kind: MetricKind::$kind $(($buckets))?,
            labels: &[$($label),*],
            values: &[$($($value),*)?],
            about: $about,
        },)*];
    };
}

metrics! {
    OPERATIONS "parley_operations_total" Counter ["operation", "outcome"]
        "Requests answered, by operation and reason, or ok";
    OPERATION_SECONDS "parley_operation_seconds" Histogram (SECONDS) ["operation", "outcome"]
        "Time from a request's header to its answer";
    THREADS_RESIDENT "parley_threads_resident" Gauge [] "Threads whose actor is in memory";
    INBOXES_RESIDENT "parley_inboxes_resident" Gauge [] "Inboxes whose actor is in memory";
    FEED_CONNECTIONS "parley_feed_connections" Gauge [] "Feeds open";
    FEED_FRAMES "parley_feed_frames_total" Counter ["type"]
        ["hello", "message", "event", "claim", "awaiting", "settled", "caught_up", "subscribed",
         "notice"]
        "Frames sent, by type";
    FEED_DROPPED "parley_feed_dropped_total" Counter ["cause"]
        ["slow_consumer", "send_timeout", "silent", "revoked", "shutdown"]
        "Feeds cut off, by cause";
    JOURNAL_BATCH_SIZE "parley_journal_batch_size" Histogram (ENTRIES) [] "Entries of one commit";
    JOURNAL_COMMIT_SECONDS "parley_journal_commit_seconds" Histogram (SECONDS) []
        "Time of one commit with its sync";
    JOURNAL_QUEUE "parley_journal_queue" Gauge [] "Items that wait for the journal's writer";
    ACTOR_RESTARTS "parley_actor_restarts_total" Counter ["actor"]
        ["thread", "inbox", "router", "journal"]
        "Actors started anew after a fault";
    STORE_BYTES "parley_store_bytes" Gauge [] "Bytes that the store takes up";
    STORE_FREE_BYTES "parley_store_free_bytes" Gauge []
        "Bytes free on the store's file system";
}
