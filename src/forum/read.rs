//! Answers reads from one view of the committed entries; none shows an act that is only admitted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use parley_protocol::claim::ClaimStatus;
use parley_protocol::command::{Language, ManifestPart, PageQuery, ReadCall, ThreadQuery};
use parley_protocol::entry::{Act, Position, Retraction, slot};
use parley_protocol::identity::Principal;
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer, ListWriter, ShownMessage};

use super::Forum;
use super::answer::Answer;
use crate::journal::view::{PlacedAct, Scan, ScanLimits, Takes, View};
use crate::storage::error::StoreResult;

/// Rows that one request reads, at most; then its page ends early with `more`.
pub const SCAN_ROWS_MAX: usize = 2_000;

/// Bytes that suffice for most items of a list.
const ITEM_BYTES: usize = 1_024;
/// Bytes that suffice for most lists.
pub(super) const LIST_BYTES: usize = 8 << 10;
/// Bytes of a Thread, at most.
const THREAD_BYTES_MAX: usize = 8 << 10;

impl Forum {
    /// Answers a read on a thread of a pool: it reads the disk, and encoding takes long too.
    pub(super) async fn read(&self, principal: &Principal, call: ReadCall) -> Result<Answer> {
        let pool = match &call {
            ReadCall::VerifyClosure(..) | ReadCall::Export(..) => &self.inner.long_reads,
            ReadCall::ListThreads(_)
            | ReadCall::Tree(_)
            | ReadCall::Flat(..)
            | ReadCall::Events(..)
            | ReadCall::Claim(_)
            | ReadCall::ListClaims(..)
            | ReadCall::Artifact(_)
            | ReadCall::ListArtifacts(_) => &self.inner.deps.reads,
        };
        let forum = self.clone();
        pool.run(&principal.identity, move || forum.answer_read(call)).await
    }

    fn answer_read(&self, call: ReadCall) -> Result<Answer> {
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
            ReadCall::VerifyClosure(id, strict) => self.verify_closure(&view, id, strict),
            ReadCall::Export(thread, page) => self.export_page(&view, thread, &page),
        }
    }

    /// Runs a read of the store for `principal` on a thread of the pool.
    ///
    /// # Errors
    /// 503 `overloaded`; else those of `read`.
    pub async fn aside<T: Send + 'static>(
        &self,
        principal: &Principal,
        read: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let forum = self.clone();
        self.inner.deps.reads.run(&principal.identity, move || read(&forum)).await
    }

    /// The manifest in `language`.
    pub fn manifest(&self, language: Language, part: ManifestPart) -> Bytes {
        self.inner.manifest.0[language as usize][part as usize].clone()
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

    /// Bytes of an answer, at most (bindings.md §1).
    pub(super) fn answer_bytes_max(&self) -> usize {
        usize::try_from(self.inner.deps.limits.answer_bytes_max).unwrap_or(usize::MAX)
    }

    fn list_threads(&self, view: &View, query: &ThreadQuery) -> Result<Answer> {
        let ThreadQuery { state, creator, awaiting, locked, order, page } = query;
        let order = order.as_str();
        let kind = format!("threads {state:?} {creator:?} {awaiting:?} {locked:?} {order}");
        let start = self.list_start(&kind, page)?;
        self.list(
            |takes| view.threads(query, start, self.page(page), takes),
            |out, summary| wire::thread(out, summary, &self.cursor(summary.position)),
            |scan| self.list_cursor(&kind, scan.next),
        )
    }

    /// The answer that lists the page which `read` gives: `put` writes an item, `end` gives the
    /// cursor of the page's end. Items are written while they are read, and the page ends before
    /// the first that is beyond the bound on bytes.
    pub(super) fn list<T>(
        &self,
        read: impl FnOnce(&mut Takes<'_, T>) -> StoreResult<Scan<T>>,
        put: impl Fn(&mut JsonBuffer, &T),
        end: impl FnOnce(&Scan<T>) -> String,
    ) -> Result<Answer> {
        let mut body = JsonBuffer::with_capacity(LIST_BYTES);
        let mut list = ListWriter::begin(&mut body);
        let bytes_max = self.answer_bytes_max();
        let scan = read(&mut |item| Ok(list.put_within(bytes_max, |out| put(out, item))))?;
        list.end(&end(&scan), scan.more);
        Ok(Answer::ok(body))
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
        if body.len() > self.answer_bytes_max() {
            return Err(Refusal::tree_too_long(self.inner.deps.limits.answer_bytes_max));
        }
        Ok(Answer::ok(body))
    }

    fn read_flat(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        let summary = known(view, thread)?;
        let after = before_slot(since, slot::MESSAGE);
        let is_message = |act: &Act| act.message().is_some();
        let mut messages = JsonBuffer::with_capacity(LIST_BYTES);
        // The thread, which the answer holds beside the messages, has no more than these.
        let bytes_max = self.answer_bytes_max().saturating_sub(THREAD_BYTES_MAX);
        let takes = &mut |placed: &PlacedAct| {
            let Some(message) = placed.act().message() else { return Ok(true) };
            let before = messages.len();
            if before > 0 {
                messages.push(b',');
            }
            let retraction = view.retraction(thread, message.id)?;
            wire::message(&mut messages, placed.act(), retraction.as_ref());
            let fits = before == 0 || messages.len() <= bytes_max;
            if !fits {
                messages.truncate(before);
            }
            Ok(fits)
        };
        let found = view.acts_page(thread, after, self.page(page), takes, is_message)?;
        let mut body = JsonBuffer::with_capacity(messages.len() + ITEM_BYTES);
        let end = self.acts_end(view, &found, since);
        wire::reading_flat(&mut body, &summary, &end, &messages, found.more);
        Ok(Answer::ok(body))
    }

    fn read_events(&self, view: &View, thread: ThreadId, page: &PageQuery) -> Result<Answer> {
        let since = self.position(page.cursor.as_deref())?;
        known(view, thread)?;
        let after = before_slot(since, slot::EVENT);
        let is_event = |act: &Act| act.event.is_some();
        self.list(
            |takes| view.acts_page(thread, after, self.page(page), takes, is_event),
            |out, placed| wire::event(out, placed.act()),
            |found| self.acts_end(view, found, since),
        )
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
        let now = self.now();
        self.list(
            |takes| view.claims(thread, status, after, self.page(page), takes),
            |out, claim| wire::claim(out, claim, now),
            |scan| self.list_cursor(&kind, scan.next),
        )
    }
}

/// The summary of a thread, or 404 `thread_not_found`.
pub(super) fn known(view: &View, thread: ThreadId) -> Result<Arc<ThreadSummary>> {
    view.summary(thread)?.ok_or_else(|| Refusal::no_thread(thread))
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
