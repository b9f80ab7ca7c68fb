//! The metrics of a server (operations.md §4): name, kind, labels and meaning, one row each. The
//! name of each is a constant, which is what recording code names.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Rises only.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts values in buckets.
    Histogram,
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
    /// Its meaning, as scrapers show it.
    pub about: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $name:literal $kind:ident $labels:tt $about:literal;)*) => {
        $(#[doc = $about] pub const $constant: &str = $name;)*
        /// Every metric.
        pub const METRICS: &[MetricSpec] = &[$(MetricSpec {
            name: $constant,
            kind: MetricKind::$kind,
            labels: &$labels,
            about: $about,
        },)*];
    };
}

metrics! {
    OPERATIONS "parley_operations_total" Counter ["operation", "outcome"]
        "Requests answered, by operation and reason, or ok";
    OPERATION_SECONDS "parley_operation_seconds" Histogram ["operation", "outcome"]
        "Time from a request's header to its answer";
    THREADS_RESIDENT "parley_threads_resident" Gauge [] "Threads whose actor is in memory";
    INBOXES_RESIDENT "parley_inboxes_resident" Gauge [] "Inboxes whose actor is in memory";
    FEED_CONNECTIONS "parley_feed_connections" Gauge [] "Feeds open";
    FEED_FRAMES "parley_feed_frames_total" Counter ["type"] "Frames sent, by type";
    FEED_DROPPED "parley_feed_dropped_total" Counter ["cause"] "Feeds cut off, by cause";
    JOURNAL_BATCH_SIZE "parley_journal_batch_size" Histogram [] "Entries of one commit";
    JOURNAL_COMMIT_SECONDS "parley_journal_commit_seconds" Histogram []
        "Time of one commit with its sync";
    JOURNAL_QUEUE "parley_journal_queue" Gauge [] "Items that wait for the journal's writer";
    ACTOR_RESTARTS "parley_actor_restarts_total" Counter ["actor"]
        "Actors started anew after a fault";
    STORE_BYTES "parley_store_bytes" Gauge [] "Bytes that the store takes up";
    STORE_FREE_BYTES "parley_store_free_bytes" Gauge []
        "Bytes free on the store's file system";
}
