//! What only a check of everything reads: whole tables, and how many rows each has.

use parley_protocol::entry::{Due, Published};
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;
use redb::ReadableTableMetadata;

use super::tables::{self as t, Waiting, unpack};
use super::{ArchiveRead, RememberedOutcome, Rows};
use crate::storage::error::StoreError;

/// How many rows the tables have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub heads: u64,
    pub acts: u64,
    pub retracted: u64,
    pub updated: u64,
    pub waiting: u64,
    pub claims: u64,
    pub claim_threads: u64,
    pub artifacts: u64,
    pub artifact_ids: u64,
    pub artifact_refs: u64,
    pub artifact_threads: u64,
    pub snapshots: u64,
}

/// An outcome as it is remembered: under which digest, in which bucket.
pub(crate) struct OutcomeRow {
    pub bucket: u32,
    pub digest: [u8; 16],
    pub remembered: RememberedOutcome,
}

impl ArchiveRead {
    pub(crate) fn lengths(&self) -> Result<Lengths, StoreError> {
        Ok(Lengths {
            heads: self.heads.len()?,
            acts: self.acts.len()?,
            retracted: self.retracted.len()?,
            updated: self.updated.len()?,
            waiting: self.board.len()? + self.directed.len()?,
            claims: self.claims.len()?,
            claim_threads: self.claim_threads.len()?,
            artifacts: self.artifacts.len()?,
            artifact_ids: self.artifact_ids.len()?,
            artifact_refs: self.artifact_refs.len()?,
            artifact_threads: self.artifact_threads.len()?,
            snapshots: self.snapshots.len()?,
        })
    }

    /// The row of the act at (`thread`, `entry`) as it is stored.
    pub(crate) fn act_bytes(
        &self,
        thread: ThreadId,
        entry: u64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.acts.get(&t::pair(thread.0, entry))?;
        Ok(row.map(|row| row.value().to_vec()))
    }

    /// The thread whose last change was the entry `entry`.
    pub(crate) fn updated_at(&self, entry: u64) -> Result<Option<ThreadId>, StoreError> {
        Ok(self.updated.get(entry)?.map(|row| ThreadId(row.value())))
    }

    /// The row that stands for the question of `summary`; `None` if it asks none or there is no row.
    pub(crate) fn standing(&self, summary: &ThreadSummary) -> Result<Option<Waiting>, StoreError> {
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

    /// Whether the artifact at `entry` is listed as referring to `id`; with it, whether as an
    /// objection, and under which identifier.
    pub(crate) fn reference(
        &self,
        id: &[u8; 32],
        entry: u64,
    ) -> Result<Option<([u8; 32], bool)>, StoreError> {
        let row = self.artifact_refs.get(&t::reference(id, entry))?;
        row.map(|row| unpack("artifact_refs", row.value())).transpose()
    }

    /// Whether the artifact at `entry` is listed with the thread that it is about.
    pub(crate) fn is_about(&self, published: &Published, entry: u64) -> Result<bool, StoreError> {
        let Some(thread) = published.thread else { return Ok(true) };
        Ok(self.artifact_threads.get(&t::pair(thread.0, entry))?.is_some())
    }

    /// All outcomes remembered.
    pub(crate) fn outcomes(
        &self,
    ) -> Result<impl Iterator<Item = Result<OutcomeRow, StoreError>>, StoreError> {
        let rows = self.outcomes.range::<&[u8; 20]>(..)?;
        Ok(rows.map(|row| {
            let (key, row) = row?;
            let key = key.value();
            let (bucket, digest) = key.split_first_chunk::<4>().expect("twenty bytes");
            Ok(OutcomeRow {
                bucket: u32::from_be_bytes(*bucket),
                digest: digest.try_into().expect("the other sixteen"),
                remembered: unpack("outcomes", row.value())?,
            })
        }))
    }

    /// All threads that a snapshot is stored of.
    pub(crate) fn snapshot_threads(&self) -> Result<Rows<'_, ()>, StoreError> {
        let rows = self.snapshots.range::<u64>(..)?;
        Ok(Box::new(rows.map(|row| Ok((row?.0.value(), ())))))
    }
}
