//! Artifacts (artifacts.md §4): by identifier, in order of publication, and by reference.

use std::collections::BTreeSet;

use parley_protocol::command::ArtifactQuery;
use parley_protocol::entry::{Entry, Published};

use super::super::archive::{Referrer, Rows, damaged};
use super::View;
use super::placed::Placed;
use super::scan::{Merged, Scan, ScanLimits, Takes, scan};
use crate::storage::error::StoreResult;

/// An artifact and its place in the one order.
pub type PlacedArtifact = Placed<Published>;

impl PlacedArtifact {
    /// The artifact.
    pub fn published(&self) -> &Published {
        self.get(|entry| match entry {
            Entry::Artifact(published) => Some(published),
            _ => None,
        })
    }
}

impl View {
    /// The entry of the artifact `id`, which is its place in the order of publication.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn artifact_entry(&self, id: &[u8; 32]) -> StoreResult<Option<u64>> {
        match self.0.tail.artifact_ids.get(id) {
            Some(entry) => Ok(Some(*entry)),
            None => self.0.archive.artifact_entry(id),
        }
    }

    /// The artifact `id`.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn artifact(&self, id: &[u8; 32]) -> StoreResult<Option<PlacedArtifact>> {
        match self.artifact_entry(id)? {
            Some(entry) => self.artifact_at(entry).map(Some),
            None => Ok(None),
        }
    }

    fn artifact_at(&self, entry: u64) -> StoreResult<PlacedArtifact> {
        if let Some(committed) = self.0.tail.artifacts.get(&entry) {
            return Ok(Placed::of_tail(committed));
        }
        let published = self.0.archive.artifact(entry)?;
        let published = published.ok_or_else(|| damaged(format!("no artifact at {entry}")))?;
        Ok(Placed::of_archive(entry, Box::new(published)))
    }

    /// Artifacts that `query` selects, in order of publication, those after the entry `after`. The
    /// page of `query` is ignored.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn artifacts(
        &self,
        query: &ArtifactQuery,
        after: Option<u64>,
        page: ScanLimits,
        takes: &mut Takes<'_, PlacedArtifact>,
    ) -> StoreResult<Scan<PlacedArtifact>> {
        let start = after.unwrap_or(0);
        let rows: Rows<'_, PlacedArtifact> = match (&query.references, query.thread) {
            (Some(id), _) => Box::new(self.referrers(id, start)?.map(|row| self.loaded(row))),
            (None, Some(thread)) => {
                let from = start.max(self.0.archive.upto());
                let range = (thread, from.saturating_add(1))..=(thread, u64::MAX);
                let in_tail = self.0.tail.artifact_threads.range(range);
                let in_tail = in_tail.map(|((_, entry), ())| Ok((*entry, ())));
                let stored = self.0.archive.artifacts_of(thread, start)?;
                let rows = Merged::new(vec![stored, Box::new(in_tail)], false);
                Box::new(rows.map(|row| self.loaded(row)))
            }
            (None, None) => Box::new(self.all_artifacts(start)?),
        };
        scan(rows, start, page, takes, |_, found| {
            Ok(selects(query, found.published()).then_some(found))
        })
    }

    /// The artifact that the row of an index names.
    fn loaded<T>(&self, row: StoreResult<(u64, T)>) -> StoreResult<(u64, PlacedArtifact)> {
        let (entry, _) = row?;
        Ok((entry, self.artifact_at(entry)?))
    }

    fn all_artifacts(&self, start: u64) -> StoreResult<Merged<'_, PlacedArtifact>> {
        let from = start.max(self.0.archive.upto());
        let in_tail = self.0.tail.artifacts.range(from.saturating_add(1)..);
        let in_tail = in_tail.map(|(entry, committed)| Ok((*entry, Placed::of_tail(committed))));
        let stored = self.0.archive.artifacts(start)?.map(|row| {
            let (entry, published) = row?;
            Ok((entry, Placed::of_archive(entry, Box::new(published))))
        });
        Ok(Merged::new(vec![Box::new(stored), Box::new(in_tail)], false))
    }

    /// The artifacts that refer to `id`, in order of publication, after the entry `after`.
    fn referrers(&self, id: &[u8; 32], after: u64) -> StoreResult<Merged<'_, Referrer>> {
        let from = after.max(self.0.archive.upto());
        let in_tail =
            self.0.tail.artifact_refs.range((*id, from.saturating_add(1))..=(*id, u64::MAX));
        let in_tail: Rows<'_, _> =
            Box::new(in_tail.map(|((_, entry), referrer)| Ok((*entry, *referrer))));
        Ok(Merged::new(vec![self.0.archive.referrers(id, after)?, in_tail], false))
    }

    /// Which of `ids` are not published, in their order.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn unresolved(&self, ids: &[[u8; 32]]) -> StoreResult<Vec<[u8; 32]>> {
        let mut missing = Vec::new();
        for id in ids {
            if self.artifact_entry(id)?.is_none() {
                missing.push(*id);
            }
        }
        Ok(missing)
    }

    /// The artifacts of type `OBJECTION` that object to `id` (artifacts.md §2), each once, found
    /// among the first `max` references; and whether there are no more references.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn objections_to(
        &self,
        id: &[u8; 32],
        max: usize,
    ) -> StoreResult<(BTreeSet<[u8; 32]>, bool)> {
        let mut found = BTreeSet::new();
        for (looked_at, row) in self.referrers(id, 0)?.enumerate() {
            if looked_at >= max {
                return Ok((found, false));
            }
            let (_, (referrer, objects)) = row?;
            if objects {
                found.insert(referrer);
            }
        }
        Ok((found, true))
    }
}

fn selects(query: &ArtifactQuery, published: &Published) -> bool {
    query.kind.as_ref().is_none_or(|kind| *kind == published.kind)
        && query.references.as_ref().is_none_or(|id| published.references.contains(id))
        && query.thread.is_none_or(|thread| published.thread == Some(thread))
}
