//! Replaying entries of the log that the archive lacks: each act needs the summary of its thread
//! and the claims that it names, never the whole thread.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Entry};
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::thread_summary::ThreadSummary;

use super::Committed;
use super::archive::HighestNumbers;
use super::view::View;
use crate::storage::error::{StoreError, StoreResult};

/// The entries with the summaries and claims that they were committed with, and the highest numbers
/// used: by what `base` shows, `maxima`, and by them.
///
/// # Errors
/// [`StoreError::Damaged`] for an act that is not the next one of its thread, and those of the
/// disk.
pub(super) fn replay(
    base: &View,
    entries: Vec<(u64, Entry)>,
    maxima: HighestNumbers,
) -> StoreResult<(Vec<Arc<Committed>>, HighestNumbers)> {
    let mut state = ReplayState::before(base, &entries)?;
    let mut maxima = maxima;
    let mut replayed = Vec::with_capacity(entries.len());
    for (number, entry) in entries {
        let (summary, claims) = match &entry {
            Entry::Act(act) => {
                let (summary, claims) = state.apply(number, act)?;
                (Some(summary), claims)
            }
            Entry::Artifact(_) | Entry::Outcome(..) => (None, Vec::new()),
        };
        let committed = Arc::new(Committed { number, entry, summary, claims });
        maxima = maxima.max(HighestNumbers::of(number, &committed.entry));
        replayed.push(committed);
    }
    Ok((replayed, maxima))
}

/// What the acts replayed so far made of the threads and claims that they name.
struct ReplayState<'a> {
    base: &'a View,
    summaries: HashMap<ThreadId, Arc<ThreadSummary>>,
    claims: HashMap<ClaimId, Arc<Claim>>,
}

impl<'a> ReplayState<'a> {
    /// The state before `entries`. Summaries are read in the order of the table that has them: in
    /// the order of the acts, each would cost a page of its own.
    fn before(base: &'a View, entries: &[(u64, Entry)]) -> StoreResult<Self> {
        let acts = entries.iter().filter_map(|(_, entry)| entry.act());
        let threads: BTreeSet<ThreadId> = acts.map(|act| act.thread).collect();
        let mut summaries = HashMap::with_capacity(threads.len());
        for thread in threads {
            if let Some(summary) = base.summary(thread)? {
                summaries.insert(thread, summary);
            }
        }
        Ok(Self { base, summaries, claims: HashMap::new() })
    }

    /// The summary of the thread after `act`, the next one of it, and the claims that it changed.
    fn apply(
        &mut self,
        number: u64,
        act: &Act,
    ) -> StoreResult<(Arc<ThreadSummary>, Vec<Arc<Claim>>)> {
        let not_next = || {
            let (seq, thread) = (act.seq, act.thread);
            let detail = format!("entry {number} is act {seq} of {thread}, which is not the next");
            StoreError::damaged("the log", detail)
        };
        let mut summary = match self.summaries.get(&act.thread) {
            Some(summary) if summary.seq == act.seq => {
                let mut summary = ThreadSummary::clone(summary);
                summary.apply(act);
                summary
            }
            Some(_) => return Err(not_next()),
            None => ThreadSummary::open(act).ok_or_else(not_next)?,
        };
        summary.stamp(act, number);
        let claims = act.changed_claims(|id| match self.claims.get(&id) {
            Some(claim) => Ok(Some(Arc::clone(claim))),
            None => self.base.claim(id),
        })?;
        if claims.len() != act.claims().count() {
            let detail = format!("entry {number} names a claim that was never made");
            return Err(StoreError::damaged("the log", detail));
        }
        self.claims.extend(claims.iter().map(|claim| (claim.id, Arc::clone(claim))));
        let summary = Arc::new(summary);
        self.summaries.insert(act.thread, Arc::clone(&summary));
        Ok((summary, claims))
    }
}
