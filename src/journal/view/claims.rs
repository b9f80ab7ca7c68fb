//! Claims (parley.md §8).

use std::sync::Arc;

use parley_protocol::claim::{Claim, ClaimStatus};
use parley_protocol::ids::{ClaimId, ThreadId};

use super::super::archive::Rows;
use super::View;
use super::scan::{Merged, Scan, ScanLimits, Takes, scan};
use crate::storage::error::StoreResult;

impl View {
    /// The current state of the claim `id`.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn claim(&self, id: ClaimId) -> StoreResult<Option<Arc<Claim>>> {
        if let Some(thread) = self.0.tail.claim_threads.get(&id) {
            let found = self.0.tail.threads.get(thread).and_then(|found| found.claims.get(&id));
            return Ok(found.cloned());
        }
        let Some(thread) = self.0.archive.claim_thread(id)? else {
            return Ok(None);
        };
        Ok(self.0.archive.claim(thread, id)?.map(Arc::new))
    }

    /// The claims of `thread`, by identifier, of one status or all, those beyond the place
    /// `after`: a claim's number. None if there is no such thread.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn claims(
        &self,
        thread: ThreadId,
        status: Option<ClaimStatus>,
        after: Option<u64>,
        page: ScanLimits,
        takes: &mut Takes<'_, Arc<Claim>>,
    ) -> StoreResult<Scan<Arc<Claim>>> {
        let start = after.unwrap_or(0);
        let mut sources: Vec<Rows<'_, Option<Arc<Claim>>>> = Vec::new();
        let in_tail = self.0.tail.threads.get(&thread);
        if let Some(found) = in_tail {
            let rows = found.claims.range(ClaimId(start.saturating_add(1))..);
            sources.push(Box::new(rows.map(|(id, claim)| Ok((id.0, Some(Arc::clone(claim)))))));
        }
        let rows = self.0.archive.claims(thread, start)?;
        sources.push(Box::new(rows.map(move |row| {
            let (id, claim) = row?;
            let superseded = in_tail.is_some_and(|found| found.claims.contains_key(&ClaimId(id)));
            Ok((id, (!superseded).then_some(claim)))
        })));
        scan(Merged::new(sources, false), start, page, takes, |_, claim| {
            Ok(claim.filter(|claim| status.is_none_or(|status| status == claim.status)))
        })
    }
}
