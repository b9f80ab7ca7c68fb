//! Listing threads (bindings.md §3).

use std::sync::Arc;

use parley_protocol::command::{ThreadOrder, ThreadQuery};
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{LazySummary, Rows, damaged};
use super::View;
use super::scan::{Merged, Scan, ScanLimits, scan};
use crate::storage::error::StoreError;

/// Where the summary of a listed thread is.
enum SummarySource {
    /// In the tail.
    Tail(Arc<ThreadSummary>),
    /// In the archive, found.
    Row(LazySummary),
    /// In the archive, to be found.
    Thread(ThreadId),
    /// The archive's row is out of date: the tail holds the thread.
    Superseded,
}

impl View {
    /// Threads that `query` selects, in its order, those beyond the place `after`: a thread's
    /// number, or the entry of its last change. The page of `query` is not looked at.
    ///
    /// # Errors
    /// What the disk says.
    pub fn threads(
        &self,
        query: &ThreadQuery,
        after: Option<u64>,
        page: ScanLimits,
    ) -> Result<Scan<Arc<ThreadSummary>>, StoreError> {
        let (by_update, descending) = match query.order {
            ThreadOrder::Created => (false, false),
            ThreadOrder::Updated => (true, false),
            ThreadOrder::CreatedDescending => (false, true),
            ThreadOrder::UpdatedDescending => (true, true),
        };
        let start = after.unwrap_or(if descending { u64::MAX } else { 0 });
        let sources = if by_update {
            vec![self.tail_updated(start, descending), self.archive_updated(start, descending)?]
        } else {
            vec![self.tail_created(start, descending), self.archive_created(start, descending)?]
        };
        scan(Merged::new(sources, descending), start, page, |_, listed| {
            let summary = match listed {
                SummarySource::Tail(summary) => summary,
                SummarySource::Row(summary) => Arc::new(summary.read()?),
                SummarySource::Thread(thread) => {
                    let summary = self.0.archive.summary(thread)?;
                    Arc::new(summary.ok_or_else(|| damaged(format!("{thread} has no head")))?)
                }
                SummarySource::Superseded => return Ok(None),
            };
            Ok(selects(query, &summary).then_some(summary))
        })
    }

    fn archive_created(
        &self,
        start: u64,
        descending: bool,
    ) -> Result<Rows<'_, SummarySource>, StoreError> {
        let rows = self.0.archive.summaries(start, descending)?;
        Ok(Box::new(rows.map(|row| {
            let (thread, summary) = row?;
            let superseded = self.0.tail.holds(ThreadId(thread));
            Ok((
                thread,
                if superseded { SummarySource::Superseded } else { SummarySource::Row(summary) },
            ))
        })))
    }

    fn archive_updated(
        &self,
        start: u64,
        descending: bool,
    ) -> Result<Rows<'_, SummarySource>, StoreError> {
        let rows = self.0.archive.updated(start, descending)?;
        Ok(Box::new(rows.map(|row| {
            let (entry, thread) = row?;
            let superseded = self.0.tail.holds(thread);
            Ok((
                entry,
                if superseded { SummarySource::Superseded } else { SummarySource::Thread(thread) },
            ))
        })))
    }

    fn tail_created(&self, start: u64, descending: bool) -> Rows<'_, SummarySource> {
        let threads = &self.0.tail.threads;
        let row = |(thread, found): (&ThreadId, &Arc<super::super::tail::TailThread>)| {
            Ok((thread.0, SummarySource::Tail(Arc::clone(&found.summary))))
        };
        if descending {
            Box::new(threads.range(..ThreadId(start)).rev().map(row))
        } else {
            Box::new(threads.range(ThreadId(start.saturating_add(1))..).map(row))
        }
    }

    fn tail_updated(&self, start: u64, descending: bool) -> Rows<'_, SummarySource> {
        let updated = &self.0.tail.updated;
        let row = |(entry, thread): (&u64, &ThreadId)| {
            let found = self.0.tail.threads.get(thread);
            Ok((
                *entry,
                found.map_or(SummarySource::Superseded, |found| {
                    SummarySource::Tail(Arc::clone(&found.summary))
                }),
            ))
        };
        if descending {
            Box::new(updated.range(..start).rev().map(row))
        } else {
            Box::new(updated.range(start.saturating_add(1)..).map(row))
        }
    }
}

fn selects(query: &ThreadQuery, summary: &ThreadSummary) -> bool {
    query.state.is_none_or(|state| state == summary.state)
        && query.creator.as_ref().is_none_or(|creator| **creator == *summary.creator.identity)
        && query.awaiting.is_none_or(|awaiting| awaiting == summary.awaiting.is_some())
        && query.locked.is_none_or(|locked| locked == summary.locked())
}
