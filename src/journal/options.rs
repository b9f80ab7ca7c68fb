//! What configuration may change about the journal (operations.md §2: `store.*` and
//! `feed.replay_max`). The ranges are checked where configuration is read.

/// How the journal works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// Entries that one commit takes at most.
    pub batch_entries_max: u64,
    /// Microseconds that a commit waits at most for more entries, and only while others are under
    /// way.
    pub batch_delay_us: u64,
    /// Bytes of the page cache, all files together.
    pub cache_bytes: u64,
    /// Free bytes on the file system below which no write is taken.
    pub free_bytes_min: u64,
    /// Bytes after which a new segment of the log begins.
    pub segment_bytes: u64,
    /// Entries that may be committed and not yet folded; above, commits wait for the fold.
    pub tail_entries_max: u64,
    /// Items that may stand in the queue; above: 503 `overloaded`.
    pub queue_max: u64,
    /// Entries that a replay reaches back: segments within are kept.
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

/// Milliseconds between attempts to write again after the disk refused: well under the 5 s within
/// which writing resumes once the disk does (operations.md §3).
pub const RETRY_MS: u64 = 500;
/// Milliseconds for which a look at the free space counts.
pub const FREE_LOOK_MS: u64 = 100;
/// Milliseconds that a commit may take before the store counts as taking no writes.
pub const STALL_MS: u64 = 5_000;
/// Bytes of encoded entries that one row of the log holds, about: one insert serves many entries,
/// and a reader decodes no more than this in vain.
pub const CHUNK_BYTES: usize = 32 << 10;
/// Bytes of page cache for the segment that is written.
pub const ACTIVE_CACHE_BYTES: usize = 16 << 20;
/// Bytes of page cache for a sealed segment that is read.
pub const SEALED_CACHE_BYTES: usize = 2 << 20;
/// Sealed segments that are kept open for readers.
pub const SEALED_OPEN_MAX: usize = 4;
/// Batches that may wait for the publisher; above, the writer waits.
pub const PUBLISH_QUEUE: usize = 64;

const _: () = assert!(RETRY_MS < 5_000 && FREE_LOOK_MS < RETRY_MS);
