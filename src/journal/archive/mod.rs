//! The archive: the derived store for reading, behind the log. Summaries, acts by thread, indexes,
//! remembered outcomes.
//!
//! One transaction archives a slice of entries and stores the number of the last one. Most slices
//! are committed without a sync; a durable commit follows at intervals, with the state that a quick
//! opening needs. Until then the entries are in the log, and are archived again after a crash.

mod claims;
mod claims_apart;
mod format;
mod read;
mod rows;
mod tables;
mod walk;
mod write;

use std::sync::Arc;

use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Entry, Position, StoredOutcome};
use parley_protocol::ids::{ID_END, ThreadId};
use parley_protocol::thread::Thread;
use parley_protocol::time::Millis;
use redb::{Database, Durability, ReadableDatabase, StorageBackend};
use serde::{Deserialize, Serialize};

use super::Committed;
use crate::clock::entropy;
use crate::storage::error::StoreResult;
use crate::storage::latch::BoxedFile;
use crate::storage::panic_guard::open_database;

pub use claims::{ClaimState, OutcomeRecord};
pub use format::FILE_FORMAT;
pub use read::ArchiveRead;
pub(crate) use read::{Referrer, Rows};
pub(crate) use rows::Refill;
pub use tables::FILE_NAME;
pub use tables::Retraction;
pub(crate) use tables::{Waiting, damaged};
pub(crate) use walk::Lengths;
pub(crate) use write::{objections, retraction, standing};

/// What does not change while the forum runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveMeta {
    /// The instance's stable identifier.
    pub instance: [u8; 16],
    /// The era: 1, and higher with each restore.
    pub era: u64,
    /// The eras before, each with the last position of the copy that was restored.
    pub past: Vec<(u64, Position)>,
    /// The key that authenticates cursors.
    pub cursor_key: [u8; 16],
}

/// The highest numbers used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighestNumbers {
    /// Of threads.
    pub thread: u64,
    /// Of messages.
    pub message: u64,
    /// Of events.
    pub event: u64,
    /// Of claims.
    pub claim: u64,
    /// Of entries.
    pub entry: u64,
}

/// Numbers of each sequence that a restore skips, so that no number which the source assigned after
/// the copy is assigned again.
pub(crate) const SKIPPED_BY_RESTORE: u64 = 1 << 32;

impl HighestNumbers {
    /// The greater of each.
    pub fn max(self, other: Self) -> Self {
        Self {
            thread: self.thread.max(other.thread),
            message: self.message.max(other.message),
            event: self.event.max(other.event),
            claim: self.claim.max(other.claim),
            entry: self.entry.max(other.entry),
        }
    }

    /// The highest numbers that the entry `number` uses.
    pub fn of(number: u64, entry: &Entry) -> Self {
        let none = Self { entry: number, ..Self::default() };
        entry.act().map_or(none, |act| Self::of_act(number, act))
    }

    /// The highest numbers that the act in the entry `number` uses.
    pub fn of_act(number: u64, act: &Act) -> Self {
        Self {
            thread: act.thread.0,
            message: act.message().map_or(0, |message| message.id.0),
            event: act.event.as_ref().map_or(0, |event| event.id.0),
            claim: act.claims().map(|claim| claim.0).max().unwrap_or(0),
            entry: number,
        }
    }

    /// After a restore: every identifier [`SKIPPED_BY_RESTORE`] ahead, entries unchanged.
    fn ahead(self) -> Self {
        let skip = |number: u64| (number + SKIPPED_BY_RESTORE).min(ID_END - 1);
        Self {
            thread: skip(self.thread),
            message: skip(self.message),
            event: skip(self.event),
            claim: skip(self.claim),
            entry: self.entry,
        }
    }
}

/// The progress of the archive: the row that every slice writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveProgress {
    /// The last entry that is archived; 0 for none.
    pub archived_upto: u64,
    /// The highest numbers used up to that entry.
    pub maxima: HighestNumbers,
    /// The current bucket of outcomes.
    pub bucket: u32,
    /// When the current bucket was begun.
    pub bucket_began: Millis,
}

/// The first outcome of a write under an idempotency key (bindings.md §1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedOutcome {
    /// Digest of operation and arguments.
    pub content: [u8; 16],
    /// The answer to repeat.
    pub outcome: FirstOutcome,
}

/// The first outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstOutcome {
    /// A message or an event: the act to be read again.
    Act {
        /// The thread.
        thread: ThreadId,
        /// The entry.
        entry: u64,
    },
    /// A claim made or changed, in its state then.
    Claim {
        /// The entry.
        entry: u64,
        /// The claim.
        claim: Arc<Claim>,
    },
    /// An artifact published: the answer, JSON.
    Published(Box<[u8]>),
    /// Nothing but the outcome was stored.
    Other(StoredOutcome),
}

impl RememberedOutcome {
    /// The outcome of `committed`, if it has an idempotency key.
    pub fn of(committed: &Committed) -> Option<Self> {
        let content = committed.entry.key()?.content;
        let outcome = match &committed.entry {
            Entry::Act(act) => match committed.claims.first() {
                Some(claim) => {
                    FirstOutcome::Claim { entry: committed.number, claim: Arc::clone(claim) }
                }
                None => FirstOutcome::Act { thread: act.thread, entry: committed.number },
            },
            Entry::Artifact(published) => {
                FirstOutcome::Published(published.key.as_ref().map(|(_, answer)| answer.clone())?)
            }
            Entry::Outcome(.., outcome) => FirstOutcome::Other(outcome.clone()),
        };
        Some(Self { content, outcome })
    }
}

/// Acts of a thread from which on its snapshot is read.
pub const SNAPSHOT_ACTS_MIN: u64 = 64;

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// It waits, and makes all commits before it durable.
    Durable,
    /// It does not wait: a crash undoes it, and the log still has its entries.
    Later,
}

/// The archive, opened for writing by the archiver.
#[derive(Debug)]
pub struct Archive {
    database: Database,
    meta: ArchiveMeta,
}

impl Archive {
    /// Opens the archive, initializing an empty file. `cache_bytes` bounds the page cache.
    ///
    /// # Errors
    /// `StoreError::NewerFormat` if a newer version wrote it, `StoreError::Damaged`, and those
    /// of the disk.
    pub fn open(backend: Box<dyn StorageBackend>, cache_bytes: usize) -> StoreResult<Self> {
        let database = open_database(tables::FILE_NAME, cache_bytes, BoxedFile::new(backend))?;
        if let Some(meta) = format::stored_meta(&database)? {
            return Ok(Self { database, meta });
        }
        let meta =
            ArchiveMeta { instance: entropy(), era: 1, past: Vec::new(), cursor_key: entropy() };
        write::create(&database, &meta)?;
        Ok(Self { database, meta })
    }

    /// What does not change while the forum runs.
    pub fn meta(&self) -> &ArchiveMeta {
        &self.meta
    }

    /// The last committed state.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(&self) -> StoreResult<ArchiveRead> {
        ArchiveRead::new(self.database.begin_read()?)
    }

    /// Appends entries in one transaction, in order and after those that are archived; entries up
    /// to `archived_upto` are skipped, so that a repetition changes nothing. `now` decides which
    /// outcomes expire. A snapshot is stored if it equals the state of its thread after the slice.
    ///
    /// # Errors
    /// Those of the disk; then no entry of the slice is archived, or after a failed sync all may
    /// be.
    pub fn append(
        &self,
        slice: &[Arc<Committed>],
        snapshots: &[Thread],
        now: Millis,
        sync: SyncMode,
    ) -> StoreResult<ArchiveProgress> {
        let mut transaction = self.database.begin_write()?;
        match sync {
            SyncMode::Durable => transaction.set_quick_repair(true),
            SyncMode::Later => transaction.set_durability(Durability::None)?,
        }
        let progress = write::append(&transaction, slice, snapshots, now)?;
        transaction.commit()?;
        Ok(progress)
    }

    /// Closes it in good order.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn close(self) -> StoreResult<()> {
        Ok(self.database.close()?)
    }

    /// Begins a new era, as a restore does (operations.md §1): cursors issued after the entry
    /// `last` of the copy are invalid, and every sequence of identifiers skips ahead of `used`. The
    /// era is at least the copy's plus 1 and the time in seconds; below the second it is random, so
    /// that two restores of one copy begin different ones. Durable.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn begin_era(&mut self, now: Millis, last: u64, used: HighestNumbers) -> StoreResult<()> {
        let mut meta = self.meta.clone();
        meta.past.push((meta.era, Position::after(last)));
        meta.era = (meta.era + 1).max(drawn_era(now));
        write::begin_era(&self.database, &meta, used)?;
        self.meta = meta;
        Ok(())
    }
}

/// The time in seconds, and random digits below: a number that JSON carries until the year 2242.
fn drawn_era(now: Millis) -> u64 {
    const RANDOM_BITS: u32 = 20;
    let random = u64::from(u32::from_be_bytes(entropy())) & ((1 << RANDOM_BITS) - 1);
    (now.0 / 1_000) << RANDOM_BITS | random
}
