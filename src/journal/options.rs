//! The numbers of the journal: those that configuration sets (operations.md §2: `store.*` and
//! `feed.replay_max`), each with its default, and the fixed ones.

use serde::{Deserialize, Serialize};

/// What configuration sets. The ranges are checked where configuration is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalOptions {
    /// Entries of one commit, at most.
    pub batch_entries_max: u64,
    /// Microseconds that a commit waits for more entries, at most, and only while there is load.
    pub batch_delay_us: u64,
    /// Bytes of the page cache, all files together.
    pub cache_bytes: u64,
    /// Free bytes on the file system below which no write is accepted.
    pub free_bytes_min: u64,
    /// Bytes after which a new segment of the log begins.
    pub segment_bytes: u64,
    /// Entries that are committed and not archived, at most; above, commits wait for the archiver.
    pub tail_entries_max: u64,
    /// Items in the queue, at most; above: 503 `overloaded`.
    pub queue_max: u64,
    /// Entries that a replay reaches back: segments within are kept (`feed.replay_max`).
    #[serde(skip)]
    pub replay_max: u64,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            batch_entries_max: 1_024,
            batch_delay_us: 3_000,
            cache_bytes: 128 << 20,
            free_bytes_min: 16 << 20,
            segment_bytes: 64 << 20,
            tail_entries_max: 200_000,
            queue_max: 16_384,
            replay_max: 1_000_000,
        }
    }
}

/// Milliseconds between attempts to write again after a failure: well under the 5 s within which
/// writing resumes once the disk does (operations.md §3).
pub const RETRY_MS: u64 = 500;
/// Milliseconds that a commit may take before the store counts as refusing writes.
pub const STALL_MS: u64 = 5_000;
/// Bytes of encoded entries in one row of the log, about: one insert serves many entries, and a
/// reader decodes no more than this in vain.
pub const CHUNK_BYTES: usize = 32 << 10;
/// Bytes of page cache for the segment that is written.
pub const ACTIVE_CACHE_BYTES: usize = 16 << 20;
/// Bytes of page cache for a sealed segment that is read.
pub const SEALED_CACHE_BYTES: usize = 2 << 20;
/// Sealed segments that are kept open for readers.
pub const SEALED_OPEN_MAX: usize = 4;
/// Batches that may wait for the publisher; above, the writer waits.
pub const PUBLISH_QUEUE: usize = 64;
/// Bytes that wait in the queue in memory, roughly; above: 503 `overloaded`.
pub const QUEUE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of the tail in memory, roughly; above, commits wait for the archiver.
pub const TAIL_BYTES_MAX: u64 = 256 << 20;

const _: () = assert!(RETRY_MS < STALL_MS);
