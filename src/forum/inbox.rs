//! `read_inbox`: the threads that wait for a participant, now or within a while (parley.md §7).

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::InboxQuery;
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::refusal::Result;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Forum;
use super::answer::Answer;
use crate::feed::inbox::{InboxListener, Inboxes};
use crate::threads::admission::PermitClass;

/// A held read's place among the listeners of an inbox, given back when dropped.
struct HeldRead<'a> {
    inboxes: &'a Inboxes,
    participant: &'a Participant,
    listener: InboxListener,
    notify: Arc<Notify>,
}

impl<'a> HeldRead<'a> {
    fn new(inboxes: &'a Inboxes, participant: &'a Participant, anyone: bool) -> Self {
        let notify = Arc::new(Notify::new());
        let listener = InboxListener::Held { notify: Arc::clone(&notify), anyone };
        inboxes.listen(participant, listener.clone());
        Self { inboxes, participant, listener, notify }
    }

    /// Listens on, whatever has become of the inbox actor.
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
        // Listening begins before the first look, so that nothing is slept through.
        let held = (query.wait_seconds > 0)
            .then(|| HeldRead::new(&self.inner.inboxes, &participant, query.anyone));
        loop {
            let page = {
                let _permit = self.inner.admission.permit(PermitClass::Read).await?;
                self.inbox_page(&participant, query.anyone, since, limit)?
            };
            let Some(held) = &held else { return Ok(page.answer) };
            let over = Instant::now() >= end || self.inner.stopping.is_cancelled();
            if !page.is_empty || page.more || over {
                return Ok(page.answer);
            }
            tokio::select! {
                biased;
                () = held.notify.notified() => held.renew(),
                () = self.inner.stopping.cancelled() => {}
                () = tokio::time::sleep_until(end) => {}
            }
        }
    }
}
