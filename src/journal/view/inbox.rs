//! What waits for a participant (parley.md §7).

use std::sync::Arc;

use parley_protocol::entry::{Awaiting, Position, slot};
use parley_protocol::identity::Participant;
use parley_protocol::ids::ThreadId;
use parley_protocol::thread_summary::ThreadSummary;

use super::super::archive::{Rows, Waiting, damaged};
use super::View;
use super::scan::{Merged, Scan, ScanLimits, scan};
use crate::storage::error::StoreError;

/// A question that stands.
enum OpenQuestion {
    /// In a thread of the tail.
    Tail(Arc<ThreadSummary>),
    /// In the archive.
    Archive(Waiting, QuestionIndex),
    /// The archive's row is out of date: the tail holds the thread.
    Superseded,
}

/// Which index the row is from, and so whom it names.
#[derive(Clone, Copy)]
enum QuestionIndex {
    Anyone,
    One,
}

/// A page of an inbox.
#[derive(Clone, Debug)]
pub struct InboxScan {
    /// The threads that wait, by the moment at which `awaiting` was set. The entry that holds the
    /// awaited message is [`ThreadSummary::awaited_entry`].
    pub items: Vec<Arc<ThreadSummary>>,
    /// The place to go on from: after the last item where there is more, else now.
    pub next: Position,
    /// Whether there is more, or may be: the bound on rows was reached.
    pub more: bool,
}

impl View {
    /// The threads that wait for a reply which `participant` may give, set after `since`.
    /// `anyone` false leaves out the questions to anyone.
    ///
    /// # Errors
    /// What the disk says.
    pub fn inbox(
        &self,
        participant: &Participant,
        anyone: bool,
        since: Position,
        page: ScanLimits,
    ) -> Result<InboxScan, StoreError> {
        // The first entry whose setting of `awaiting` lies after the cursor.
        let first = if since < Position::of(since.entry(), slot::AWAITING) {
            since.entry()
        } else {
            since.entry() + 1
        };
        let mut sources = vec![
            self.tail_directed(participant, first),
            self.archive_directed(participant, first)?,
        ];
        if anyone {
            sources.push(self.tail_board(first));
            sources.push(self.archive_board(first)?);
        }
        let rows = Merged::new(sources, false);
        let start = first.saturating_sub(1);
        let found = scan(rows, start, page, |entry, standing| {
            self.concerned(participant, anyone, entry, standing)
        })?;
        let Scan { items, next, more } = found;
        let next = if more { Position::after(next).max(since) } else { self.position().max(since) };
        Ok(InboxScan { items, next, more })
    }

    fn concerned(
        &self,
        participant: &Participant,
        anyone: bool,
        entry: u64,
        standing: OpenQuestion,
    ) -> Result<Option<Arc<ThreadSummary>>, StoreError> {
        let summary = match standing {
            OpenQuestion::Superseded => return Ok(None),
            OpenQuestion::Tail(summary) => summary,
            OpenQuestion::Archive(waiting, asked) => {
                if !may_concern(participant, &waiting, asked) {
                    return Ok(None);
                }
                let summary = self.0.archive.summary(waiting.thread)?;
                let summary = summary.filter(|summary| summary.awaiting_entry == entry);
                let odd = || damaged(format!("{} does not wait as listed", waiting.thread));
                Arc::new(summary.ok_or_else(odd)?)
            }
        };
        let concerns = |awaiting: &Awaiting| awaiting.concerns(participant, anyone);
        Ok(summary.awaiting.as_ref().is_some_and(concerns).then_some(summary))
    }

    fn archive_board(&self, first: u64) -> Result<Rows<'_, OpenQuestion>, StoreError> {
        let rows = self.0.archive.board(first)?;
        Ok(Box::new(
            rows.map(|row| {
                row.map(|(entry, row)| self.of_archive(entry, row, QuestionIndex::Anyone))
            }),
        ))
    }

    fn archive_directed(
        &self,
        participant: &Participant,
        first: u64,
    ) -> Result<Rows<'_, OpenQuestion>, StoreError> {
        let rows = self.0.archive.directed(&participant.identity, first)?;
        Ok(Box::new(
            rows.map(|row| row.map(|(entry, row)| self.of_archive(entry, row, QuestionIndex::One))),
        ))
    }

    fn of_archive(&self, entry: u64, row: Waiting, asked: QuestionIndex) -> (u64, OpenQuestion) {
        let superseded = self.0.tail.holds(row.thread);
        (
            entry,
            if superseded { OpenQuestion::Superseded } else { OpenQuestion::Archive(row, asked) },
        )
    }

    fn tail_board(&self, first: u64) -> Rows<'_, OpenQuestion> {
        let rows = self.0.tail.board.range(first..);
        Box::new(rows.map(|(entry, thread)| Ok((*entry, self.of_tail(*thread)))))
    }

    fn tail_directed(&self, participant: &Participant, first: u64) -> Rows<'_, OpenQuestion> {
        let key = |entry| (Arc::clone(&participant.identity), entry);
        let rows = self.0.tail.directed.range(key(first)..=key(u64::MAX));
        Box::new(rows.map(|((_, entry), thread)| Ok((*entry, self.of_tail(*thread)))))
    }

    fn of_tail(&self, thread: ThreadId) -> OpenQuestion {
        let found = self.0.tail.threads.get(&thread);
        found.map_or(OpenQuestion::Superseded, |found| {
            OpenQuestion::Tail(Arc::clone(&found.summary))
        })
    }
}

/// Whether a row of the archive may concern `participant`, judged without the summary.
fn may_concern(participant: &Participant, waiting: &Waiting, asked: QuestionIndex) -> bool {
    match asked {
        QuestionIndex::Anyone => waiting.participant != *participant,
        QuestionIndex::One => {
            participant.extension.is_none() || waiting.participant == *participant
        }
    }
}
