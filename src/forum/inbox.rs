//! Answers `read_inbox` with the threads that await a participant, now or within the time that the
//! call may be held (parley.md §7).

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::InboxQuery;
use parley_protocol::entry::Position;
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::wire::{self, JsonBuffer, ListWriter};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Forum;
use super::answer::Answer;
use super::read::{LIST_BYTES, SCAN_ROWS_MAX};
use crate::budget::{Hold, Holder};
use crate::feed::inbox::Inboxes;
use crate::feed::inbox_listeners::InboxListener;
use crate::journal::view::ScanLimits;

/// A held read, among the listeners of an inbox until it is dropped.
struct HeldRead<'a> {
    inboxes: &'a Inboxes,
    participant: &'a Participant,
    listener: InboxListener,
    notify: Arc<Notify>,
    _hold: Hold,
}

impl<'a> HeldRead<'a> {
    fn new(inboxes: &'a Inboxes, participant: &'a Participant, anyone: bool, hold: Hold) -> Self {
        let notify = Arc::new(Notify::new());
        let listener = InboxListener::Held { notify: Arc::clone(&notify), anyone };
        inboxes.listen(participant, listener.clone());
        Self { inboxes, participant, listener, notify, _hold: hold }
    }

    /// Listens again, should the inbox actor have failed.
    fn renew(&self) {
        self.inboxes.renew(self.participant, &self.listener);
    }
}

impl Drop for HeldRead<'_> {
    fn drop(&mut self) {
        self.inboxes.forget(self.participant, &self.listener);
    }
}

impl Forum {
    pub(super) async fn read_inbox(
        &self,
        principal: &Principal,
        query: InboxQuery,
    ) -> Result<Answer> {
        let participant = principal.participant(query.extension.as_ref());
        let since = self.position(query.page.cursor.as_deref())?;
        let limit = self.limit(query.page.limit);
        let end = Instant::now() + Duration::from_secs(query.wait_seconds);
        // Listening begins before the first page is read, so that no turn is missed.
        let held = match query.wait_seconds {
            0 => None,
            _ => {
                let holder = Holder::Identity(Arc::clone(&principal.identity));
                let hold = self.inner.held.hold(&holder, 1);
                let hold = hold.map_err(|_| Refusal::inboxes_held())?;
                Some(HeldRead::new(&self.inner.inboxes, &participant, query.anyone, hold))
            }
        };
        loop {
            let (reader, anyone) = (participant.clone(), query.anyone);
            let page = move |forum: &Self| forum.inbox_page(&reader, anyone, since, limit);
            let (answer, is_final) = self.aside(principal, page).await?;
            let Some(held) = &held else { return Ok(answer) };
            let over = Instant::now() >= end || self.inner.stopping.is_cancelled();
            if is_final || over {
                return Ok(answer);
            }
            tokio::select! {
                biased;
                () = held.notify.notified() => held.renew(),
                () = self.inner.stopping.cancelled() => {}
                () = tokio::time::sleep_until(end) => {}
            }
        }
    }

    /// The answer with a page, and whether it is final: it has threads, or more may follow.
    fn inbox_page(
        &self,
        participant: &Participant,
        anyone: bool,
        since: Position,
        limit: usize,
    ) -> Result<(Answer, bool)> {
        let page = ScanLimits { limit, scan_max: SCAN_ROWS_MAX };
        let (view, bytes_max) = (self.view(), self.answer_bytes_max());
        let mut body = JsonBuffer::with_capacity(LIST_BYTES);
        let mut list = ListWriter::begin(&mut body);
        let found = view.inbox(participant, anyone, since, page, &mut |summary| {
            let Some(placed) = view.act_at(summary.id, summary.awaited_entry)? else {
                return Ok(true);
            };
            let cursor = self.cursor(summary.position);
            let put = |out: &mut _| wire::inbox_item(out, summary, &cursor, placed.act());
            Ok(list.put_within(bytes_max, put))
        })?;
        list.end(&self.cursor(found.next.max(since)), found.more);
        Ok((Answer::ok(body), !found.items.is_empty() || found.more))
    }
}
