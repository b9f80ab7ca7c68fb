//! Answers reads from one view of the committed entries; none shows an act that is only admitted.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parley_protocol::claim::ClaimStatus;
use parley_protocol::command::{Language, PageQuery, ReadCall, ThreadQuery};
use parley_protocol::entry::{Position, Retraction, slot};
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer, ListWriter, ShownMessage};
use tokio::sync::OwnedSemaphorePermit;

use super::Forum;
use super::answer::Answer;
use crate::journal::view::{PlacedAct, ScanLimits, View};
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
        let acts = view.acts(thread, 0, usize::MAX)?;
        let retractions = view.retractions(thread)?;
        let messages: Vec<ShownMessage<'_>> = shown_messages(&acts, &retractions).collect();
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (messages.len() + 1));
        wire::reading_tree(&mut body, &summary, &self.cursor(summary.position), &messages);
        Ok(Answer::ok(body))
    }

    fn read_flat(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        let summary = known(view, thread)?;
        let limit = self.limit(page.limit);
        let found = acts_page(view, thread, since, slot::MESSAGE, limit, |placed| {
            placed.act().message().is_some()
        })?;
        let retractions = view.retractions(thread)?;
        let mut body = JsonBuffer::with_capacity(ITEM_BYTES * (found.acts.len() + 1));
        let messages = shown_messages(&found.acts, &retractions);
        wire::reading_flat(&mut body, &summary, &self.cursor(found.end), messages, found.more);
        Ok(Answer::ok(body))
    }

    fn read_events(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        known(view, thread)?;
        let limit = self.limit(page.limit);
        let found = acts_page(view, thread, since, slot::EVENT, limit, |placed| {
            placed.act().event.is_some()
        })?;
        Ok(list_answer(&found.acts, &self.cursor(found.end), found.more, |out, placed| {
            wire::event(out, placed.act());
        }))
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

/// A page of the `wanted` acts of a thread whose `slot` lies after `since`.
fn acts_page(
    view: &View,
    thread: ThreadId,
    since: Position,
    slot: u64,
    limit: usize,
    wanted: impl Fn(&PlacedAct) -> bool,
) -> Result<ActsPage> {
    // The entry of `since` belongs to the page unless its slot has passed.
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
                let last = found.acts.last();
                found.end = last.map_or(since, |placed| Position::after(placed.entry));
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
    /// Its end: after its last act if there is more, else now.
    end: Position,
    more: bool,
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
