//! Reads for the check alone: whole tables, their numbers of rows, and index rows one by one.

use parley_protocol::entry::{Due, Published};
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;
use redb::ReadableTableMetadata;

use super::tables::{self as t, Waiting, unpack};
use super::{ArchiveRead, OutcomeRecord, RememberedOutcome, Rows};
use crate::storage::error::StoreResult;

/// The numbers of rows of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub heads: u64,
    pub acts: u64,
    pub retracted: u64,
    pub updated: u64,
    pub waiting: u64,
    pub claims: u64,
    pub claim_states: u64,
    pub attestations: u64,
    pub refutations: u64,
    pub claim_threads: u64,
    pub artifacts: u64,
    pub artifact_ids: u64,
    pub artifact_refs: u64,
    pub artifact_threads: u64,
    pub snapshots: u64,
}

/// A remembered outcome with its digest and bucket.
pub(crate) struct OutcomeRow {
    pub bucket: u32,
    pub digest: [u8; 16],
    /// Whether it is listed by its bucket.
    pub expires: bool,
    pub remembered: RememberedOutcome,
}

impl ArchiveRead {
    pub(crate) fn lengths(&self) -> StoreResult<Lengths> {
        Ok(Lengths {
            heads: self.heads.len()?,
            acts: self.acts.len()?,
            retracted: self.retracted.len()?,
            updated: self.updated.len()?,
            waiting: self.board.len()? + self.directed.len()?,
            claims: self.claims.len()?,
            claim_states: self.claim_states.len()?,
            attestations: self.attestations.len()?,
            refutations: self.refutations.len()?,
            claim_threads: self.claim_threads.len()?,
            artifacts: self.artifacts.len()?,
            artifact_ids: self.artifact_ids.len()?,
            artifact_refs: self.artifact_refs.len()?,
            artifact_threads: self.artifact_threads.len()?,
            snapshots: self.snapshots.len()?,
        })
    }

    /// The row of the act at (`thread`, `entry`), encoded.
    pub(crate) fn act_bytes(&self, thread: ThreadId, entry: u64) -> StoreResult<Option<Vec<u8>>> {
        let row = self.acts.get(&t::pair(thread.0, entry))?;
        Ok(row.map(|row| row.value().to_vec()))
    }

    /// The thread whose last change was the entry `entry`.
    pub(crate) fn updated_at(&self, entry: u64) -> StoreResult<Option<ThreadId>> {
        Ok(self.updated.get(entry)?.map(|row| ThreadId(row.value())))
    }

    /// The row of the open question of `summary`; `None` if there is no question or no row.
    pub(crate) fn standing(&self, summary: &ThreadSummary) -> StoreResult<Option<Waiting>> {
        let Some(awaiting) = &summary.awaiting else { return Ok(None) };
        let row = match &awaiting.due {
            Due::Anyone => self.board.get(summary.awaiting_entry)?,
            Due::Participant(due) => {
                let key = t::directed(&due.identity, summary.awaiting_entry);
                self.directed.get(key.as_slice())?
            }
        };
        row.map(|row| unpack("board", row.value())).transpose()
    }

    /// The row by which the artifact at `entry` refers to `id`: its identifier, and whether it
    /// objects.
    pub(crate) fn reference(
        &self,
        id: &[u8; 32],
        entry: u64,
    ) -> StoreResult<Option<([u8; 32], bool)>> {
        let row = self.artifact_refs.get(&t::reference(id, entry))?;
        row.map(|row| unpack("artifact_refs", row.value())).transpose()
    }

    /// Whether the artifact at `entry` is listed with its thread; true if it has none.
    pub(crate) fn is_about(&self, published: &Published, entry: u64) -> StoreResult<bool> {
        let Some(thread) = published.thread else { return Ok(true) };
        Ok(self.artifact_threads.get(&t::pair(thread.0, entry))?.is_some())
    }

    /// All remembered outcomes.
    pub(crate) fn outcomes(&self) -> StoreResult<impl Iterator<Item = StoreResult<OutcomeRow>>> {
        let rows = self.outcomes.range::<&[u8; 16]>(..)?;
        Ok(rows.map(|row| {
            let (key, row) = row?;
            let digest = *key.value();
            let record: OutcomeRecord = unpack("outcomes", row.value())?;
            let bucket = record.bucket;
            let expires = self.outcome_ages.get(&t::outcome_age(bucket, &digest))?.is_some();
            let remembered = self.remembered(record)?;
            Ok(OutcomeRow { bucket, digest, expires, remembered })
        }))
    }

    /// All threads with a stored snapshot.
    pub(crate) fn snapshot_threads(&self) -> StoreResult<Rows<'_, ()>> {
        let rows = self.snapshots.range::<u64>(..)?;
        Ok(Box::new(rows.map(|row| Ok((row?.0.value(), ())))))
    }
}
