//! Reading one committed state of the archive.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use parley_protocol::entry::{Act, Entry, Published};
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::thread_summary::ThreadSummary;
use redb::{AccessGuard, ReadOnlyTable, ReadTransaction, StorageError, Value};
use serde::de::DeserializeOwned;

use super::ArchiveProgress;
use super::tables::{self as t, Retraction, Waiting, damaged, meta_row, pair, second, unpack};
use crate::storage::error::StoreResult;

/// Rows of a table, each with its number, in the requested order.
pub(crate) type Rows<'a, T> = Box<dyn Iterator<Item = StoreResult<(u64, T)>> + 'a>;

/// An artifact that refers to another: its identifier, and whether it objects to the other.
pub(crate) type Referrer = ([u8; 32], bool);

/// One committed state of the archive. It pins the pages of that state: do not hold one while
/// waiting for a client.
pub struct ArchiveRead {
    pub(super) transaction: ReadTransaction,
    pub(super) progress: ArchiveProgress,
    pub(super) heads: ReadOnlyTable<u64, &'static [u8]>,
    pub(super) acts: ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    pub(super) retracted: ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    pub(super) updated: ReadOnlyTable<u64, u64>,
    pub(super) board: ReadOnlyTable<u64, &'static [u8]>,
    pub(super) directed: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) claims: ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    pub(super) claim_states: ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    pub(super) attestations: ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    pub(super) refutations: ReadOnlyTable<u64, &'static [u8]>,
    pub(super) claim_threads: ReadOnlyTable<u64, u64>,
    pub(super) outcomes: ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    pub(super) outcome_ages: ReadOnlyTable<&'static [u8; 20], ()>,
    pub(super) artifacts: ReadOnlyTable<u64, &'static [u8]>,
    pub(super) artifact_ids: ReadOnlyTable<&'static [u8; 32], u64>,
    pub(super) artifact_refs: ReadOnlyTable<&'static [u8; 40], &'static [u8]>,
    pub(super) artifact_threads: ReadOnlyTable<&'static [u8; 16], ()>,
    pub(super) snapshots: ReadOnlyTable<u64, &'static [u8]>,
}

impl fmt::Debug for ArchiveRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveRead").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl ArchiveRead {
    pub(super) fn new(transaction: ReadTransaction) -> StoreResult<Self> {
        let meta = transaction.open_table(t::META)?;
        let row = meta.get(meta_row::PROGRESS)?;
        let row = row.ok_or_else(|| damaged("meta does not say how far it is"))?;
        let progress = unpack("meta", row.value())?;
        Ok(Self {
            progress,
            heads: transaction.open_table(t::HEADS)?,
            acts: transaction.open_table(t::ACTS)?,
            retracted: transaction.open_table(t::RETRACTED)?,
            updated: transaction.open_table(t::UPDATED)?,
            board: transaction.open_table(t::BOARD)?,
            directed: transaction.open_table(t::DIRECTED)?,
            claims: transaction.open_table(t::CLAIMS)?,
            claim_states: transaction.open_table(t::CLAIM_STATES)?,
            attestations: transaction.open_table(t::ATTESTATIONS)?,
            refutations: transaction.open_table(t::REFUTATIONS)?,
            claim_threads: transaction.open_table(t::CLAIM_THREADS)?,
            outcomes: transaction.open_table(t::OUTCOMES)?,
            outcome_ages: transaction.open_table(t::OUTCOME_AGES)?,
            artifacts: transaction.open_table(t::ARTIFACTS)?,
            artifact_ids: transaction.open_table(t::ARTIFACT_IDS)?,
            artifact_refs: transaction.open_table(t::ARTIFACT_REFS)?,
            artifact_threads: transaction.open_table(t::ARTIFACT_THREADS)?,
            snapshots: transaction.open_table(t::SNAPSHOTS)?,
            transaction,
        })
    }

    /// The progress of this state.
    pub fn progress(&self) -> &ArchiveProgress {
        &self.progress
    }

    /// The entry up to which this state is true.
    pub fn upto(&self) -> u64 {
        self.progress.archived_upto
    }

    pub(crate) fn summary(&self, thread: ThreadId) -> StoreResult<Option<ThreadSummary>> {
        unpack_row("heads", self.heads.get(thread.0))
    }

    /// Summaries by thread, those after (descending: before) `place`, each unpacked on demand.
    pub(crate) fn summaries(
        &self,
        place: u64,
        descending: bool,
    ) -> StoreResult<Rows<'_, LazySummary>> {
        numbered(&self.heads, place, descending, |row| Ok(LazySummary(row)))
    }

    /// Threads by the entry of their last change, those after (descending: before) `place`.
    pub(crate) fn updated(&self, place: u64, descending: bool) -> StoreResult<Rows<'_, ThreadId>> {
        numbered(&self.updated, place, descending, |row| Ok(ThreadId(row.value())))
    }

    /// Open questions to anyone, by the entry that set them, those after `place`.
    pub(crate) fn board(&self, place: u64) -> StoreResult<Rows<'_, Waiting>> {
        numbered(&self.board, place, false, |row| unpack("board", row.value()))
    }

    /// Open questions due to participants of `identity`, by the entry that set them, those after
    /// `place`.
    pub(crate) fn directed(&self, identity: &str, place: u64) -> StoreResult<Rows<'_, Waiting>> {
        let (first, last) = (t::directed(identity, beyond(place)), t::directed(identity, u64::MAX));
        let rows = self.directed.range(first.as_slice()..=last.as_slice())?;
        Ok(Box::new(rows.map(|row| {
            let (key, row) = row?;
            Ok((t::directed_entry(key.value())?, unpack("directed", row.value())?))
        })))
    }

    pub(crate) fn act(&self, thread: ThreadId, entry: u64) -> StoreResult<Option<Box<Act>>> {
        let row = self.acts.get(&pair(thread.0, entry))?;
        row.map(|row| decode_act(row.value())).transpose()
    }

    /// Acts of `thread` after the entry `after`, in order.
    pub(crate) fn acts(&self, thread: ThreadId, after: u64) -> StoreResult<Rows<'_, Box<Act>>> {
        paired(&self.acts, thread, after, |row| decode_act(row.value()))
    }

    pub(crate) fn retraction(
        &self,
        thread: ThreadId,
        message: MessageId,
    ) -> StoreResult<Option<Retraction>> {
        unpack_row("retracted", self.retracted.get(&pair(thread.0, message.0)))
    }

    pub(crate) fn retractions(
        &self,
        thread: ThreadId,
        messages: RangeInclusive<MessageId>,
    ) -> StoreResult<BTreeMap<MessageId, Retraction>> {
        let (first, last) = (messages.start().0, messages.end().0);
        if first > last {
            return Ok(BTreeMap::new());
        }
        let rows =
            self.retracted.range::<&[u8; 16]>(&pair(thread.0, first)..=&pair(thread.0, last))?;
        rows.map(|row| {
            let (key, row) = row?;
            Ok((MessageId(second(key.value())), unpack("retracted", row.value())?))
        })
        .collect()
    }

    pub(crate) fn claim_thread(&self, claim: ClaimId) -> StoreResult<Option<ThreadId>> {
        Ok(self.claim_threads.get(claim.0)?.map(|row| ThreadId(row.value())))
    }

    pub(crate) fn artifact_entry(&self, id: &[u8; 32]) -> StoreResult<Option<u64>> {
        Ok(self.artifact_ids.get(id)?.map(|row| row.value()))
    }

    pub(crate) fn artifact(&self, entry: u64) -> StoreResult<Option<Published>> {
        unpack_row("artifacts", self.artifacts.get(entry))
    }

    /// Artifacts by entry, those after the entry `after`.
    pub(crate) fn artifacts(&self, after: u64) -> StoreResult<Rows<'_, Published>> {
        numbered(&self.artifacts, after, false, |row| unpack("artifacts", row.value()))
    }

    /// Entries of artifacts published about `thread`, after the entry `after`.
    pub(crate) fn artifacts_of(&self, thread: ThreadId, after: u64) -> StoreResult<Rows<'_, ()>> {
        paired(&self.artifact_threads, thread, after, |_| Ok(()))
    }

    /// The artifacts that refer to `id`, by entry, after the entry `after`.
    pub(crate) fn referrers(&self, id: &[u8; 32], after: u64) -> StoreResult<Rows<'_, Referrer>> {
        let (first, last) = (t::reference(id, beyond(after)), t::reference(id, u64::MAX));
        let rows = self.artifact_refs.range::<&[u8; 40]>(&first..=&last)?;
        Ok(Box::new(rows.map(|row| {
            let (key, row) = row?;
            Ok((t::reference_entry(key.value()), unpack("artifact_refs", row.value())?))
        })))
    }
}

/// A summary that is unpacked on demand.
pub(crate) struct LazySummary(AccessGuard<'static, &'static [u8]>);

impl LazySummary {
    pub(crate) fn read(&self) -> StoreResult<ThreadSummary> {
        unpack("heads", self.0.value())
    }
}

/// The first number after `place`; there is no key as high as the highest number.
fn beyond(place: u64) -> u64 {
    place.saturating_add(1)
}

/// Rows of a table whose keys are numbers, those after (descending: before) `place`.
fn numbered<'a, V: Value + 'static, T: 'a>(
    table: &'a ReadOnlyTable<u64, V>,
    place: u64,
    descending: bool,
    read: fn(AccessGuard<'static, V>) -> StoreResult<T>,
) -> StoreResult<Rows<'a, T>> {
    let read = move |row: Result<(AccessGuard<'static, u64>, _), StorageError>| {
        let (key, row) = row?;
        Ok((key.value(), read(row)?))
    };
    Ok(if descending {
        Box::new(table.range(..place)?.rev().map(read))
    } else {
        Box::new(table.range(beyond(place)..)?.map(read))
    })
}

/// Rows of `thread` in a table whose keys are a [`pair`], those whose second number is after
/// `place`, under that number.
pub(super) fn paired<'a, V: Value + 'static, T: 'a>(
    table: &'a ReadOnlyTable<&'static [u8; 16], V>,
    thread: ThreadId,
    place: u64,
    read: fn(AccessGuard<'static, V>) -> StoreResult<T>,
) -> StoreResult<Rows<'a, T>> {
    let (first, last) = (pair(thread.0, beyond(place)), pair(thread.0, u64::MAX));
    let rows = table.range::<&[u8; 16]>(&first..=&last)?;
    Ok(Box::new(rows.map(move |row| {
        let (key, row) = row?;
        Ok((second(key.value()), read(row)?))
    })))
}

/// The row of `table` that was looked up, unpacked.
pub(super) fn unpack_row<T: DeserializeOwned>(
    table: &str,
    row: Result<Option<AccessGuard<'_, &'static [u8]>>, StorageError>,
) -> StoreResult<Option<T>> {
    row?.map(|row| unpack(table, row.value())).transpose()
}

fn decode_act(bytes: &[u8]) -> StoreResult<Box<Act>> {
    match Entry::decode(bytes) {
        Some(Entry::Act(act)) => Ok(act),
        _ => Err(damaged("an act cannot be read")),
    }
}
