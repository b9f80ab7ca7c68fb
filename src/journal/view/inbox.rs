//! The threads that wait for a participant (parley.md §7).

use std::sync::Arc;

use parley_protocol::entry::{Awaiting, Position, slot};
use parley_protocol::identity::Participant;
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{Rows, Waiting, damaged};
use super::View;
use super::scan::{Merged, Scan, ScanLimits, scan};
use crate::storage::error::StoreResult;

/// An open question. A row of the archive is out of date if the tail has the thread.
enum OpenQuestion {
    /// In a thread of the tail.
    Tail(Arc<ThreadSummary>),
    /// On the archive's board; the row names the asker.
    Board(Waiting),
    /// In the archive, due to a participant, whom the row names.
    Directed(Waiting),
}

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
        let of_tail = |entry: &u64, thread: &ThreadId| {
            let found = state.tail.threads.get(thread)?;
            Some(Ok((*entry, OpenQuestion::Tail(Arc::clone(&found.summary)))))
        };
        let key = |entry| (Arc::clone(identity), entry);
        let directed = state.tail.directed.range(key(first)..=key(u64::MAX));
        let stored = state.archive.directed(identity, start)?;
        let mut sources: Vec<Rows<'_, OpenQuestion>> = vec![
            Box::new(directed.filter_map(|((_, entry), thread)| of_tail(entry, thread))),
            Box::new(
                stored.map(|row| row.map(|(entry, row)| (entry, OpenQuestion::Directed(row)))),
            ),
        ];
        if anyone {
            let board = state.tail.board.range(first..);
            sources.push(Box::new(board.filter_map(|(entry, thread)| of_tail(entry, thread))));
            let stored = state.archive.board(start)?;
            let stored =
                stored.map(|row| row.map(|(entry, row)| (entry, OpenQuestion::Board(row))));
            sources.push(Box::new(stored));
        }
        let rows = Merged::new(sources, false);
        let found = scan(rows, start, page, |entry, question| {
            self.concerned(participant, anyone, entry, question)
        })?;
        let Scan { items, next, more } = found;
        let next = if more { Position::after(next).max(since) } else { self.position().max(since) };
        Ok(InboxScan { items, next, more })
    }

    /// The summary of the thread whose question the entry `entry` set, if it concerns
    /// `participant`.
    fn concerned(
        &self,
        participant: &Participant,
        anyone: bool,
        entry: u64,
        question: OpenQuestion,
    ) -> StoreResult<Option<Arc<ThreadSummary>>> {
        // A summary is loaded only if the archive's row may concern the participant.
        let (may_concern, waiting) = match question {
            OpenQuestion::Tail(summary) => return Ok(concerning(summary, participant, anyone)),
            OpenQuestion::Board(waiting) => (&waiting.participant != participant, waiting),
            OpenQuestion::Directed(waiting) => {
                let is_any = participant.extension.is_none();
                (is_any || waiting.participant == *participant, waiting)
            }
        };
        if !may_concern || self.0.tail.holds(waiting.thread) {
            return Ok(None);
        }
        let summary = self.0.archive.summary(waiting.thread)?;
        let summary = summary.filter(|summary| summary.awaiting_entry == entry);
        let odd = || damaged(format!("{} does not wait as listed", waiting.thread));
        Ok(concerning(Arc::new(summary.ok_or_else(odd)?), participant, anyone))
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
