//! What the log has made so far, in order for reading: heads, acts by thread, indexes, the
//! outcomes remembered. Everything here is derived from entries, and follows behind them.
//!
//! One transaction takes a slice of entries and says up to which entry the archive is true. Most
//! slices are committed without a sync; a durable commit follows at intervals and saves what a
//! quick opening needs. Until then the entries are in the log, and a crash folds them again.

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
use crate::storage::disk::BoxedFile;
use crate::storage::error::StoreError;
use crate::storage::panic_guard::open_database;

pub use read::ArchiveRead;
pub(crate) use read::{LazySummary, Referrer, Rows};
pub(crate) use rows::Refill;
pub use tables::Retraction;
pub use tables::{FILE_FORMAT, FILE_NAME};
pub(crate) use tables::{Waiting, damaged};
pub(crate) use walk::Lengths;
pub(crate) use write::{objections, retraction};

/// What never changes while the forum runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveMeta {
    /// The instance's stable identifier.
    pub instance: [u8; 16],
    /// The era: 1, and higher with each restore.
    pub era: u64,
    /// The eras before, each with the last position that the copy restored from held.
    pub past: Vec<(u64, Position)>,
    /// The key that cursors are authenticated with.
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

/// Numbers of each sequence that a restore leaves out, so that none which the source gave after
/// the copy is given again.
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

    /// The same of an act.
    pub fn of_act(number: u64, act: &Act) -> Self {
        Self {
            thread: act.thread.0,
            message: act.message().map_or(0, |message| message.id.0),
            event: act.event.as_ref().map_or(0, |event| event.id.0),
            claim: act.claims().map(|claim| claim.0).max().unwrap_or(0),
            entry: number,
        }
    }

    /// As a restore leaves them: every identifier 2^32 ahead, entries as they are.
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

/// How far the archive is, the row that every slice writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveProgress {
    /// The archive holds what the entries up to this one made; 0 for none.
    pub archived_upto: u64,
    /// The highest numbers used up to there.
    pub maxima: HighestNumbers,
    /// The bucket that outcomes go into now.
    pub bucket: u32,
    /// When that bucket was begun.
    pub bucket_began: Millis,
}

/// The first outcome of a write under an idempotency key (bindings.md §1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedOutcome {
    /// Digest of operation and arguments.
    pub content: [u8; 16],
    /// What to answer again.
    pub outcome: FirstOutcome,
}

/// What a write under an idempotency key came to first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FirstOutcome {
    /// A message or an event: the act to be read again.
    Act {
        /// The thread.
        thread: ThreadId,
        /// The entry.
        entry: u64,
    },
    /// A claim made or changed, as it stood then.
    Claim {
        /// The entry.
        entry: u64,
        /// The claim then.
        claim: Arc<Claim>,
    },
    /// An artifact published, and what was answered: JSON.
    Published(Box<[u8]>),
    /// Nothing was stored but the outcome.
    Other(StoredOutcome),
}

impl RememberedOutcome {
    /// What `committed` is to be remembered for, if it came under a key.
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

/// Acts from which a snapshot of a thread is worth storing.
pub const SNAPSHOT_ACTS_MIN: u64 = 64;

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// It does, and makes all commits before it durable.
    Durable,
    /// It does not: a crash takes it back, and the log has what it held.
    Later,
}

/// The archive, opened for writing by its one folder.
#[derive(Debug)]
pub struct Archive {
    database: Database,
    meta: ArchiveMeta,
}

impl Archive {
    /// Opens the archive, or makes one where there is none. `cache_bytes` bounds the page cache.
    ///
    /// # Errors
    /// [`StoreError::NewerFormat`] if a newer version wrote it, [`StoreError::Damaged`] if it
    /// holds something else than what was written, or what the disk says.
    pub fn open(backend: Box<dyn StorageBackend>, cache_bytes: usize) -> Result<Self, StoreError> {
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        let database = open_database(tables::FILE_NAME, &builder, BoxedFile(backend))?;
        if let Some(meta) = read::stored_meta(&database)? {
            return Ok(Self { database, meta });
        }
        let meta =
            ArchiveMeta { instance: entropy(), era: 1, past: Vec::new(), cursor_key: entropy() };
        write::create(&database, &meta)?;
        Ok(Self { database, meta })
    }

    /// What never changes while the forum runs.
    pub fn meta(&self) -> &ArchiveMeta {
        &self.meta
    }

    /// A consistent state to read from: the last committed one.
    ///
    /// # Errors
    /// What the disk says.
    pub fn read(&self) -> Result<ArchiveRead, StoreError> {
        ArchiveRead::new(self.database.begin_read()?)
    }

    /// Folds entries, in order and following what is folded already, in one transaction; those
    /// at or before `archived_upto` are passed over, so that folding again changes nothing. `now`
    /// decides which outcomes are old enough to be forgotten. Snapshots are stored if they show a
    /// thread as the archive knows it after the slice.
    ///
    /// # Errors
    /// What the disk says; then nothing of the slice is in the archive, or after a failed sync
    /// all of it may be.
    pub fn append(
        &self,
        slice: &[Arc<Committed>],
        snapshots: &[Thread],
        now: Millis,
        sync: SyncMode,
    ) -> Result<ArchiveProgress, StoreError> {
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
    /// What the disk says.
    pub fn close(self) -> Result<(), StoreError> {
        Ok(self.database.close()?)
    }

    /// Begins a new era, as a restore does (operations.md §1): cursors given after the entry
    /// `last` of the copy are no longer good, and every sequence of identifiers skips ahead of
    /// `used`. The era is the greater of the copy's and one, and the time in seconds. Durable.
    ///
    /// # Errors
    /// What the disk says.
    pub fn begin_era(
        &mut self,
        now: Millis,
        last: u64,
        used: HighestNumbers,
    ) -> Result<(), StoreError> {
        let mut meta = self.meta.clone();
        meta.past.push((meta.era, Position::after(last)));
        meta.era = (meta.era + 1).max(now.0 / 1_000);
        write::begin_era(&self.database, &meta, used)?;
        self.meta = meta;
        Ok(())
    }
}
