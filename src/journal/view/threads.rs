//! Listing threads (bindings.md §3).

use std::sync::Arc;

use parley_protocol::command::{ThreadOrder, ThreadQuery};
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{LazyHead, Rows, damaged};
use super::View;
use super::scan::{Merged, Scan, ScanLimits, scan};
use crate::storage::error::StoreError;

/// Where the head of a listed thread is.
enum SummarySource {
    /// In the tail.
    Here(Arc<ThreadSummary>),
    /// In the archive, found.
    Lazy(LazyHead),
    /// In the archive, to be found.
    Stored(ThreadId),
    /// The archive's row is out of date: the tail holds the thread.
    Moved,
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
            let head = match listed {
                SummarySource::Here(head) => head,
                SummarySource::Lazy(head) => Arc::new(head.read()?),
                SummarySource::Stored(thread) => {
                    let head = self.0.archive.summary(thread)?;
                    Arc::new(head.ok_or_else(|| damaged(format!("{thread} has no head")))?)
                }
                SummarySource::Moved => return Ok(None),
            };
            Ok(selects(query, &head).then_some(head))
        })
    }

    fn archive_created(
        &self,
        start: u64,
        descending: bool,
    ) -> Result<Rows<'_, SummarySource>, StoreError> {
        let rows = self.0.archive.heads(start, descending)?;
        Ok(Box::new(rows.map(|row| {
            let (thread, head) = row?;
            let moved = self.0.tail.holds(ThreadId(thread));
            Ok((thread, if moved { SummarySource::Moved } else { SummarySource::Lazy(head) }))
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
            let moved = self.0.tail.holds(thread);
            Ok((entry, if moved { SummarySource::Moved } else { SummarySource::Stored(thread) }))
        })))
    }

    fn tail_created(&self, start: u64, descending: bool) -> Rows<'_, SummarySource> {
        let threads = &self.0.tail.threads;
        let row = |(thread, found): (&ThreadId, &Arc<super::super::tail::TailThread>)| {
            Ok((thread.0, SummarySource::Here(Arc::clone(&found.summary))))
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
                found.map_or(SummarySource::Moved, |found| {
                    SummarySource::Here(Arc::clone(&found.summary))
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

fn selects(query: &ThreadQuery, head: &ThreadSummary) -> bool {
    query.state.is_none_or(|state| state == head.state)
        && query.creator.as_ref().is_none_or(|creator| **creator == *head.creator.identity)
        && query.awaiting.is_none_or(|awaiting| awaiting == head.awaiting.is_some())
        && query.locked.is_none_or(|locked| locked == head.locked())
}
