//! Answers reads from one view of the committed entries; none shows an act that is only admitted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use parley_protocol::claim::ClaimStatus;
use parley_protocol::command::{Language, PageQuery, ReadCall, ThreadQuery};
use parley_protocol::entry::{Act, Position, Retraction, slot};
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer, ListWriter, ShownMessage};
use tokio::sync::OwnedSemaphorePermit;

use super::Forum;
use super::answer::Answer;
use crate::journal::view::{PlacedAct, Scan, ScanLimits, View};
use crate::storage::error::StoreResult;
use crate::threads::admission::PermitClass;

/// Rows that one request reads, at most; then its page ends early with `more`.
pub const SCAN_ROWS_MAX: usize = 2_000;

/// Bytes that suffice for most items of a list.
const ITEM_BYTES: usize = 1_024;

impl Forum {
    pub(super) async fn read(&self, call: ReadCall) -> Result<Answer> {
        let (view, _permit) = self.admit_read().await?;
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

    /// Takes a permit, then the present view.
    pub(super) async fn admit_read(&self) -> Result<(View, OwnedSemaphorePermit)> {
        let permit = self.inner.admission.permit(PermitClass::Read).await?;
        Ok((self.view(), permit))
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

    /// The present time.
    pub fn now(&self) -> Millis {
        self.inner.deps.clock.now()
    }

    /// The cursor of a position.
    pub fn cursor(&self, position: Position) -> String {
        self.inner.deps.journal.cursors().text(position)
    }

    /// The position of a cursor; the beginning without one.
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

    pub(super) fn page(&self, page: &PageQuery) -> ScanLimits {
        ScanLimits { limit: self.limit(page.limit), scan_max: SCAN_ROWS_MAX }
    }

    /// The place of a page's cursor in the list `kind`; `None` without one.
    pub(super) fn list_start(&self, kind: &str, page: &PageQuery) -> Result<Option<u64>> {
        page.cursor.as_deref().map(|text| self.read_list_cursor(kind, text)).transpose()
    }

    fn list_threads(&self, view: &View, query: &ThreadQuery) -> Result<Answer> {
        let ThreadQuery { state, creator, awaiting, locked, order, page } = query;
        let order = order.as_str();
        let kind = format!("threads {state:?} {creator:?} {awaiting:?} {locked:?} {order}");
        let scan = view.threads(query, self.list_start(&kind, page)?, self.page(page))?;
        let end = self.list_cursor(&kind, scan.next);
        Ok(list_answer(&scan.items, &end, scan.more, |out, summary| {
            wire::thread(out, summary, &self.cursor(summary.position));
        }))
    }

    fn read_tree(&self, view: &View, thread: ThreadId) -> Result<Answer> {
        let summary = known(view, thread)?;
        if summary.message_count > self.inner.deps.limits.tree_max {
            return Err(Refusal::tree_too_large());
        }
        let acts = view.acts(thread, 0)?.collect::<StoreResult<Vec<_>>>()?;
        let retractions = view.retractions(thread, messages_of(&acts))?;
        let messages: Vec<ShownMessage<'_>> = shown_messages(&acts, &retractions).collect();
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (messages.len() + 1));
        wire::reading_tree(&mut body, &summary, &self.cursor(summary.position), &messages);
        Ok(Answer::ok(body))
    }

    fn read_flat(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        let summary = known(view, thread)?;
        let after = before_slot(since, slot::MESSAGE);
        let is_message = |act: &Act| act.message().is_some();
        let found = view.acts_page(thread, after, self.page(page), is_message)?;
        let retractions = view.retractions(thread, messages_of(&found.items))?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (found.items.len() + 1));
        let messages = shown_messages(&found.items, &retractions);
        let end = self.acts_end(view, &found, since);
        wire::reading_flat(&mut body, &summary, &end, messages, found.more);
        Ok(Answer::ok(body))
    }

    fn read_events(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        known(view, thread)?;
        let after = before_slot(since, slot::EVENT);
        let is_event = |act: &Act| act.event.is_some();
        let found = view.acts_page(thread, after, self.page(page), is_event)?;
        let end = self.acts_end(view, &found, since);
        Ok(list_answer(&found.items, &end, found.more, |out, placed| {
            wire::event(out, placed.act());
        }))
    }

    /// The cursor of the end of a page of acts after `since`: its place if there is more, else now.
    fn acts_end(&self, view: &View, found: &Scan<PlacedAct>, since: Position) -> String {
        let end = if found.more { Position::after(found.next) } else { view.position() };
        self.cursor(end.max(since))
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
        let after = self.list_start(&kind, page)?;
        known(view, thread)?;
        let scan = view.claims(thread, status, after, self.page(page))?;
        let (end, now) = (self.list_cursor(&kind, scan.next), self.now());
        Ok(list_answer(&scan.items, &end, scan.more, |out, claim| wire::claim(out, claim, now)))
    }
}

/// The summary of a thread, or 404 `thread_not_found`.
pub(super) fn known(view: &View, thread: ThreadId) -> Result<Arc<ThreadSummary>> {
    view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))
}

/// The answer that lists `items`, each written by `put`; `end` is the cursor of its end.
pub(super) fn list_answer<T>(
    items: &[T],
    end: &str,
    more: bool,
    mut put: impl FnMut(&mut JsonBuffer, &T),
) -> Answer {
    let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (items.len() + 1));
    let mut list = ListWriter::begin(&mut body);
    for item in items {
        put(list.item(), item);
    }
    list.end(end, more);
    Answer::ok(body)
}

/// The entry after which lie the acts whose `slot` is after `since`: the entry of `since` is among
/// them unless its slot has passed.
fn before_slot(since: Position, slot: u64) -> u64 {
    let has_passed = since >= Position::of(since.entry(), slot);
    if has_passed { since.entry() } else { since.entry().saturating_sub(1) }
}

/// The first and the last message of `acts`; an empty range without one.
fn messages_of(acts: &[PlacedAct]) -> RangeInclusive<MessageId> {
    let id = |placed: &PlacedAct| placed.act().message().map(|message| message.id);
    let first = acts.iter().find_map(id).unwrap_or(MessageId(1));
    let last = acts.iter().rev().find_map(id).unwrap_or(MessageId(0));
    first..=last
}

/// The messages of `acts`, with their retractions.
fn shown_messages<'a>(
    acts: &'a [PlacedAct],
    retractions: &'a BTreeMap<MessageId, Retraction>,
) -> impl Iterator<Item = ShownMessage<'a>> {
    acts.iter().filter_map(|placed| {
        let message = placed.act().message()?;
        Some(ShownMessage { act: placed.act(), retraction: retractions.get(&message.id) })
    })
}
