//! Lists of threads (bindings.md §3).

use std::sync::Arc;

use imbl::OrdMap;
use parley_protocol::command::{ThreadOrder, ThreadQuery};
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{Rows, damaged};
use super::super::tail::TailThread;
use super::View;
use super::scan::{Merged, Scan, ScanLimits, Takes, scan};
use crate::storage::error::StoreResult;

impl View {
    /// Threads that `query` selects, in its order, those beyond the place `after`: a thread's
    /// number, or the entry of its last change. The page of `query` is ignored.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn threads(
        &self,
        query: &ThreadQuery,
        after: Option<u64>,
        page: ScanLimits,
        takes: &mut Takes<'_, Arc<ThreadSummary>>,
    ) -> StoreResult<Scan<Arc<ThreadSummary>>> {
        let (by_update, descending) = match query.order {
            ThreadOrder::Created => (false, false),
            ThreadOrder::Updated => (true, false),
            ThreadOrder::CreatedDescending => (false, true),
            ThreadOrder::UpdatedDescending => (true, true),
        };
        let start = after.unwrap_or(if descending { u64::MAX } else { 0 });
        let View(state) = self;
        let in_tail =
            |place, found: &Arc<TailThread>| Ok((place, Some(Arc::clone(&found.summary))));
        let sources: Vec<Rows<'_, Option<Arc<ThreadSummary>>>> = if by_update {
            let updated = beyond(&state.tail.updated, start, descending, |entry| entry);
            let found = updated.filter_map(move |(entry, thread)| {
                state.tail.threads.get(thread).map(|found| in_tail(*entry, found))
            });
            let rows = state.archive.updated(start, descending)?.map(|row| {
                let (entry, thread) = row?;
                if state.tail.holds(thread) {
                    return Ok((entry, None));
                }
                let summary = state.archive.summary(thread)?;
                let summary = summary.ok_or_else(|| damaged(format!("{thread} has no head")))?;
                Ok((entry, Some(Arc::new(summary))))
            });
            vec![Box::new(found), Box::new(rows)]
        } else {
            let found = beyond(&state.tail.threads, start, descending, ThreadId);
            let found = found.map(move |(thread, found)| in_tail(thread.0, found));
            let rows = state.archive.summaries(start, descending)?.map(|row| {
                let (thread, row) = row?;
                let is_current = !state.tail.holds(ThreadId(thread));
                Ok((thread, is_current.then(|| row.read().map(Arc::new)).transpose()?))
            });
            vec![Box::new(found), Box::new(rows)]
        };
        // An out-of-date row of the archive is none, and counts as read.
        scan(Merged::new(sources, descending), start, page, takes, |_, summary| {
            Ok(summary.filter(|summary| selects(query, summary)))
        })
    }
}

/// The items of `map` after (descending: before) the place `start`.
fn beyond<'a, K: Ord, V>(
    map: &'a OrdMap<K, V>,
    start: u64,
    descending: bool,
    key: fn(u64) -> K,
) -> Box<dyn Iterator<Item = (&'a K, &'a V)> + 'a> {
    if descending {
        Box::new(map.range(..key(start)).rev())
    } else {
        Box::new(map.range(key(start.saturating_add(1))..))
    }
}

fn selects(query: &ThreadQuery, summary: &ThreadSummary) -> bool {
    query.state.is_none_or(|state| state == summary.state)
        && query.creator.as_ref().is_none_or(|creator| **creator == *summary.creator.identity)
        && query.awaiting.is_none_or(|awaiting| awaiting == summary.awaiting.is_some())
        && query.locked.is_none_or(|locked| locked == summary.locked())
}
