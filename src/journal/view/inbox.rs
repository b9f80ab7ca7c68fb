//! The threads that wait for a participant (parley.md §7).

use std::sync::Arc;

use parley_protocol::entry::{Awaiting, Position, slot};
use parley_protocol::identity::Participant;
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{Rows, Waiting, damaged};
use super::View;
use super::scan::{Merged, Scan, ScanLimits, Takes, scan};
use crate::storage::error::StoreResult;

/// A page of an inbox.
#[derive(Clone, Debug)]
pub struct InboxScan {
    /// The threads that wait, by the moment at which `awaiting` was set. The entry that holds the
    /// awaited message is [`ThreadSummary::awaited_entry`].
    pub items: Vec<Arc<ThreadSummary>>,
    /// Where the next page begins: after the last item if there is more, else now.
    pub next: Position,
    /// Whether there may be more; also where the bound on rows was reached.
    pub more: bool,
}

impl View {
    /// The threads that wait for a reply which `participant` may give, set after `since`.
    /// `anyone` false leaves out the questions to anyone.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn inbox(
        &self,
        participant: &Participant,
        anyone: bool,
        since: Position,
        page: ScanLimits,
        takes: &mut Takes<'_, Arc<ThreadSummary>>,
    ) -> StoreResult<InboxScan> {
        // The first entry whose setting of `awaiting` lies after the cursor.
        let first = if since < Position::of(since.entry(), slot::AWAITING) {
            since.entry()
        } else {
            since.entry() + 1
        };
        let start = first.saturating_sub(1);
        let View(state) = self;
        let identity = &participant.identity;
        let of_tail = move |entry: &u64, thread: &ThreadId| {
            let summary = Arc::clone(&state.tail.threads.get(thread)?.summary);
            Some(Ok((*entry, concerning(summary, participant, anyone))))
        };
        let stored = move |row: StoreResult<(u64, Waiting)>, may_concern: fn(&_, &_) -> bool| {
            let (entry, row) = row?;
            if !may_concern(&row.participant, participant) {
                return Ok((entry, None));
            }
            let found = self.stored_question(entry, row.thread)?;
            Ok((entry, found.and_then(|found| concerning(found, participant, anyone))))
        };
        let key = |entry| (Arc::clone(identity), entry);
        let directed = state.tail.directed.range(key(first)..=key(u64::MAX));
        let mut sources: Vec<Rows<'_, Option<Arc<ThreadSummary>>>> = vec![
            Box::new(directed.filter_map(move |((_, entry), thread)| of_tail(entry, thread))),
            Box::new(state.archive.directed(identity, start)?.map(move |row| {
                stored(row, |due: &Participant, it| it.extension.is_none() || due == it)
            })),
        ];
        if anyone {
            let board = state.tail.board.range(first..);
            sources.push(Box::new(board.filter_map(move |(entry, id)| of_tail(entry, id))));
            let board = state.archive.board(start)?;
            sources.push(Box::new(board.map(move |row| stored(row, |asker, it| asker != it))));
        }
        let found = scan(Merged::new(sources, false), start, page, takes, |_, found| Ok(found))?;
        let Scan { items, next, more } = found;
        let next = if more { Position::after(next).max(since) } else { self.position().max(since) };
        Ok(InboxScan { items, next, more })
    }

    /// The summary of `thread`, whose question the archive lists at `entry`; `None` if the tail has
    /// the thread, so that the row is out of date.
    fn stored_question(
        &self,
        entry: u64,
        thread: ThreadId,
    ) -> StoreResult<Option<Arc<ThreadSummary>>> {
        if self.0.tail.holds(thread) {
            return Ok(None);
        }
        let summary = self.0.archive.summary(thread)?;
        let summary = summary.filter(|summary| summary.awaiting_entry == entry);
        let odd = || damaged(format!("{thread} does not wait as listed"));
        Ok(Some(Arc::new(summary.ok_or_else(odd)?)))
    }
}

fn concerning(
    summary: Arc<ThreadSummary>,
    participant: &Participant,
    anyone: bool,
) -> Option<Arc<ThreadSummary>> {
    let concerns = |awaiting: &Awaiting| awaiting.concerns(participant, anyone);
    summary.awaiting.as_ref().is_some_and(concerns).then_some(summary)
}
