//! Lists of threads (bindings.md §3).

use std::sync::Arc;

use imbl::OrdMap;
use parley_protocol::command::{ThreadOrder, ThreadQuery};
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{LazySummary, Rows, damaged};
use super::super::tail::TailThread;
use super::View;
use super::scan::{Merged, Scan, ScanLimits, scan};
use crate::storage::error::StoreResult;

/// The source of the summary of a listed thread.
enum SummarySource {
    /// In the tail.
    Tail(Arc<ThreadSummary>),
    /// In the archive, under the number of the thread; out of date if the tail has the thread.
    Row(LazySummary),
    /// In the archive, to be looked up; out of date if the tail has the thread.
    Thread(ThreadId),
}

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
    ) -> StoreResult<Scan<Arc<ThreadSummary>>> {
        let (by_update, descending) = match query.order {
            ThreadOrder::Created => (false, false),
            ThreadOrder::Updated => (true, false),
            ThreadOrder::CreatedDescending => (false, true),
            ThreadOrder::UpdatedDescending => (true, true),
        };
        let start = after.unwrap_or(if descending { u64::MAX } else { 0 });
        let View(state) = self;
        let in_tail = |place, found: &Arc<TailThread>| {
            Ok((place, SummarySource::Tail(Arc::clone(&found.summary))))
        };
        let sources: Vec<Rows<'_, SummarySource>> = if by_update {
            let updated = beyond(&state.tail.updated, start, descending, |entry| entry);
            let found = updated.filter_map(|(entry, thread)| {
                state.tail.threads.get(thread).map(|found| in_tail(*entry, found))
            });
            let rows = state.archive.updated(start, descending)?;
            let rows = rows.map(|row| row.map(|(entry, id)| (entry, SummarySource::Thread(id))));
            vec![Box::new(found), Box::new(rows)]
        } else {
            let found = beyond(&state.tail.threads, start, descending, ThreadId);
            let found = found.map(|(thread, found)| in_tail(thread.0, found));
            let rows = state.archive.summaries(start, descending)?;
            let rows = rows.map(|row| row.map(|(thread, row)| (thread, SummarySource::Row(row))));
            vec![Box::new(found), Box::new(rows)]
        };
        scan(Merged::new(sources, descending), start, page, |place, source| {
            let summary = match source {
                SummarySource::Tail(summary) => summary,
                SummarySource::Row(_) if state.tail.holds(ThreadId(place)) => return Ok(None),
                SummarySource::Row(row) => Arc::new(row.read()?),
                SummarySource::Thread(thread) if state.tail.holds(thread) => return Ok(None),
                SummarySource::Thread(thread) => {
                    let summary = state.archive.summary(thread)?;
                    Arc::new(summary.ok_or_else(|| damaged(format!("{thread} has no head")))?)
                }
            };
            Ok(selects(query, &summary).then_some(summary))
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
