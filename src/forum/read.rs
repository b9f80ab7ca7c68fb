//! Reads, answered from one view: what is committed, never what is merely admitted.

use bytes::Bytes;
use parley_protocol::claim::ClaimStatus;
use parley_protocol::command::{Language, PageQuery, ReadCall, ThreadQuery};
use parley_protocol::entry::{Position, slot};
use parley_protocol::identity::Participant;
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer, ListWriter, ShownMessage};

use super::Forum;
use super::answer::Answer;
use crate::journal::view::{self, PlacedAct, View};
use crate::threads::admission::PermitClass;

/// Rows that one request looks at, at most; then its page ends early with `more`.
pub const SCAN_ROWS_MAX: usize = 2_000;

/// Bytes that an item of a list usually needs.
const ITEM_BYTES: usize = 1_024;

/// A page of an inbox.
pub(super) struct InboxPage {
    /// The answer.
    pub answer: Answer,
    /// Whether nothing is in it.
    pub is_empty: bool,
    /// Whether the bound of one scan was reached.
    pub more: bool,
}

impl Forum {
    pub(super) async fn read(&self, call: ReadCall) -> Result<Answer> {
        let _permit = self.inner.admission.permit(PermitClass::Read).await?;
        let view = self.view();
        match call {
            ReadCall::ListThreads(query) => self.list_threads(&view, &query),
            ReadCall::Tree(thread) => self.read_tree(&view, thread),
            ReadCall::Flat(thread, page) => self.read_flat(&view, thread, &page),
            ReadCall::Events(thread, page) => self.read_events(&view, thread, &page),
            ReadCall::Claim(claim) => self.read_claim(&view, claim),
            ReadCall::ListClaims(thread, status, page) => {
                self.list_claims(&view, thread, status, &page)
            }
            ReadCall::Artifact(id) => Self::read_artifact(&view, &id),
            ReadCall::ListArtifacts(query) => self.list_artifacts(&view, &query),
            ReadCall::VerifyClosure(id, strict) => Self::verify_closure(&view, id, strict).await,
            ReadCall::Export(thread, page) => self.export_page(&view, thread, &page).await,
        }
    }

    /// The manifest in `language`.
    pub fn manifest(&self, language: Language) -> Bytes {
        let manifests = &self.inner.manifest;
        match language {
            Language::En => manifests.en.clone(),
            Language::De => manifests.de.clone(),
            Language::Fr => manifests.fr.clone(),
        }
    }

    /// The present view.
    pub fn view(&self) -> View {
        self.inner.deps.journal.view()
    }

    /// The clock's time.
    pub fn now(&self) -> Millis {
        self.inner.deps.clock.now()
    }

    /// The text of a position.
    pub fn cursor(&self, position: Position) -> String {
        self.inner.deps.journal.cursors().text(position)
    }

    /// The position of a cursor's text; the beginning without one.
    ///
    /// # Errors
    /// 400 `invalid_cursor`.
    pub fn position(&self, cursor: Option<&str>) -> Result<Position> {
        match cursor {
            Some(text) => {
                let now = self.view().position();
                self.inner.deps.journal.cursors().read(text, now)
            }
            None => Ok(Position::default()),
        }
    }

    pub(super) fn limit(&self, limit: Option<u64>) -> usize {
        let limit = limit.unwrap_or_else(|| self.inner.deps.limits.page_default());
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    pub(super) fn page(&self, page: &PageQuery) -> view::ScanLimits {
        view::ScanLimits { limit: self.limit(page.limit), scan_max: SCAN_ROWS_MAX }
    }

    fn put_thread(&self, out: &mut JsonBuffer, head: &ThreadSummary) {
        wire::thread(out, head, &self.cursor(head.position));
    }

    fn list_threads(&self, view: &View, query: &ThreadQuery) -> Result<Answer> {
        let kind = format!(
            "threads {:?} {:?} {:?} {:?} {}",
            query.state,
            query.creator,
            query.awaiting,
            query.locked,
            query.order.as_str()
        );
        let cursors = self.inner.deps.journal.cursors();
        let after = query.page.cursor.as_deref().map(|text| cursors.read_list(&kind, text));
        let after = after.transpose()?;
        let scan = view.threads(query, after, self.page(&query.page))?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (scan.items.len() + 1));
        let mut list = ListWriter::begin(&mut body);
        for head in &scan.items {
            self.put_thread(list.item(), head);
        }
        list.end(&cursors.list_text(&kind, scan.next), scan.more);
        Ok(Answer::ok(body))
    }

    fn read_tree(&self, view: &View, thread: ThreadId) -> Result<Answer> {
        let head = view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))?;
        if head.message_count > self.inner.deps.limits.tree_max {
            return Err(Refusal::tree_too_large());
        }
        let acts = view.acts(thread, 0, usize::MAX)?;
        let retractions = view.retractions(thread)?;
        let messages: Vec<ShownMessage<'_>> =
            acts.iter().filter_map(|placed| shown_message(placed, &retractions)).collect();
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (messages.len() + 1));
        wire::reading_tree(&mut body, &head, &self.cursor(head.position), &messages);
        Ok(Answer::ok(body))
    }

    fn read_flat(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        let head = view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))?;
        let limit = self.limit(page.limit);
        let found = acts_page(view, thread, since, slot::MESSAGE, limit, |placed| {
            placed.act().message().is_some()
        })?;
        let retractions = view.retractions(thread)?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (found.acts.len() + 1));
        let messages = found.acts.iter().filter_map(|placed| shown_message(placed, &retractions));
        wire::reading_flat(&mut body, &head, &self.cursor(found.end), messages, found.more);
        Ok(Answer::ok(body))
    }

    fn read_events(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))?;
        let limit = self.limit(page.limit);
        let found = acts_page(view, thread, since, slot::EVENT, limit, |placed| {
            placed.act().event.is_some()
        })?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (found.acts.len() + 1));
        let mut list = ListWriter::begin(&mut body);
        for placed in &found.acts {
            wire::event(list.item(), placed.act());
        }
        list.end(&self.cursor(found.end), found.more);
        Ok(Answer::ok(body))
    }

    pub(super) fn inbox_page(
        &self,
        participant: &Participant,
        anyone: bool,
        since: Position,
        limit: usize,
    ) -> Result<InboxPage> {
        let view = self.view();
        let page = view::ScanLimits { limit, scan_max: SCAN_ROWS_MAX };
        let found = view.inbox(participant, anyone, since, page)?;
        let mut body = JsonBuffer::with_capacity(2 * ITEM_BYTES * (found.items.len() + 1));
        let mut list = ListWriter::begin(&mut body);
        for head in &found.items {
            let Some(placed) = view.act_at(head.id, head.awaited_entry)? else {
                continue;
            };
            wire::inbox_item(list.item(), head, &self.cursor(head.position), placed.act());
        }
        list.end(&self.cursor(found.next.max(since)), found.more);
        Ok(InboxPage {
            answer: Answer::ok(body),
            is_empty: found.items.is_empty(),
            more: found.more,
        })
    }

    fn read_claim(&self, view: &View, claim: ClaimId) -> Result<Answer> {
        let found = view.claim(claim)?.ok_or_else(|| Refusal::claim_not_found(claim))?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES);
        wire::claim(&mut body, &found, self.now());
        Ok(Answer::ok(body))
    }

    fn list_claims(
        &self,
        view: &View,
        thread: ThreadId,
        status: Option<ClaimStatus>,
        page: &PageQuery,
    ) -> Result<Answer> {
        let kind = format!("claims {thread} {status:?}");
        let cursors = self.inner.deps.journal.cursors();
        let after = page.cursor.as_deref().map(|text| cursors.read_list(&kind, text));
        let after = after.transpose()?;
        view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))?;
        let scan = view.claims(thread, status, after, self.page(page))?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (scan.items.len() + 1));
        let mut list = ListWriter::begin(&mut body);
        for claim in &scan.items {
            wire::claim(list.item(), claim, self.now());
        }
        list.end(&cursors.list_text(&kind, scan.next), scan.more);
        Ok(Answer::ok(body))
    }
}

/// The acts of a thread whose `slot` lies after `since` and that are `wanted`, a page of them.
fn acts_page(
    view: &View,
    thread: ThreadId,
    since: Position,
    slot: u64,
    limit: usize,
    wanted: impl Fn(&PlacedAct) -> bool,
) -> Result<ActsPage> {
    // An entry is passed if the place asked for in it is.
    let mut after = if since >= Position::of(since.entry(), slot) {
        since.entry()
    } else {
        since.entry().saturating_sub(1)
    };
    let mut found = ActsPage { acts: Vec::new(), end: view.position().max(since), more: false };
    let mut scanned = 0;
    loop {
        let chunk = (limit + 1).clamp(16, 256);
        let acts = view.acts(thread, after, chunk)?;
        let last = acts.len() < chunk;
        for placed in acts {
            after = placed.entry;
            scanned += 1;
            if !wanted(&placed) {
                continue;
            }
            if found.acts.len() == limit {
                found.more = true;
                found.end = end_of(&found.acts, since);
                return Ok(found);
            }
            found.acts.push(placed);
        }
        if last {
            return Ok(found);
        }
        if scanned >= SCAN_ROWS_MAX {
            found.more = true;
            found.end = Position::after(after);
            return Ok(found);
        }
    }
}

/// A page of a thread's acts.
struct ActsPage {
    acts: Vec<PlacedAct>,
    /// The page's end: after everything that its last act caused where there is more, else now.
    end: Position,
    more: bool,
}

fn end_of(acts: &[PlacedAct], since: Position) -> Position {
    acts.last().map_or(since, |placed| Position::after(placed.entry))
}

fn shown_message<'a>(
    placed: &'a PlacedAct,
    retractions: &'a std::collections::BTreeMap<
        parley_protocol::ids::MessageId,
        parley_protocol::entry::Retraction,
    >,
) -> Option<ShownMessage<'a>> {
    let message = placed.act().message()?;
    Some(ShownMessage { act: placed.act(), retraction: retractions.get(&message.id) })
}
