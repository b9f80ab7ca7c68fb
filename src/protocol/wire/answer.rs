//! The objects with which operations answer (bindings.md §3, §6; artifacts.md §4).

use super::{
    JsonBuffer, array, claim, event, message, option, raw, text, thread, time, truth, word,
};
use crate::artifact::Identifier;
use crate::claim::Claim;
use crate::entry::Act;
use crate::thread_summary::ThreadSummary;
use crate::time::Millis;

/// The answer of the probes while the server lives, or is ready (operations.md §4).
pub const STATUS_OK: &str = "{\"status\":\"ok\"}";

/// The answer of `post_message`; `cursor` is that of the thread.
pub fn posted(out: &mut JsonBuffer, act: &Act, summary: &ThreadSummary, cursor: &str) {
    object!(out; "message": message(act, None), "thread": thread(summary, cursor));
}

/// The answer of `mark_thread`, `confirm_thread` and `reopen_thread`; without an act if nothing
/// changed.
pub fn marked(out: &mut JsonBuffer, summary: &ThreadSummary, cursor: &str, act: Option<&Act>) {
    object!(out; "thread": thread(summary, cursor), "event": option(act, event));
}

/// The answer of `assert_claim`, `attest_claim` and `refute_claim`.
pub fn claim_changed(out: &mut JsonBuffer, changed: &Claim, now: Millis) {
    object!(out; "claim": claim(changed, now));
}

/// One item of the inbox: the thread, and the awaited message that `act` made.
pub fn inbox_item(out: &mut JsonBuffer, summary: &ThreadSummary, cursor: &str, act: &Act) {
    object!(out; "thread": thread(summary, cursor), "message": message(act, None));
}

/// The answer of `publish_artifact`.
pub fn artifact_published(
    out: &mut JsonBuffer,
    id: Identifier,
    unresolved: impl IntoIterator<Item = Identifier>,
) {
    object!(out;
        "artifact_id": word(&id.to_string()),
        "unresolved": array(unresolved, |out, id| word(out, &id.to_string())),
    );
}

/// The answer to the request for a feed's ticket.
pub fn feed_ticket(out: &mut JsonBuffer, ticket: &str, expires_at: Millis) {
    object!(out; "ticket": text(ticket), "expires_at": time(expires_at));
}

/// Bytes of the end of a list, at most: a cursor and two names.
const END_BYTES_MAX: usize = 512;

/// A list being written: `{"items", "cursor", "more"}`.
#[derive(Debug)]
pub struct ListWriter<'o> {
    out: &'o mut JsonBuffer,
    empty: bool,
}

impl<'o> ListWriter<'o> {
    /// Begins a list at the end of `out`.
    pub fn begin(out: &'o mut JsonBuffer) -> Self {
        raw(out, "{\"items\":[");
        Self { out, empty: true }
    }

    /// Puts the next item, unless the list would then be longer than `bytes_max` with its end; the
    /// first is put whatever its size. Returns whether it was put.
    pub fn put_within(&mut self, bytes_max: usize, put: impl FnOnce(&mut JsonBuffer)) -> bool {
        let (before, is_first) = (self.out.len(), self.empty);
        put(self.item());
        let fits = is_first || self.out.len() + END_BYTES_MAX <= bytes_max;
        if !fits {
            self.out.truncate(before);
        }
        fits
    }

    /// Where the next item is to be put, whole.
    pub fn item(&mut self) -> &mut JsonBuffer {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out
    }

    /// Ends the list: the page's end, and whether more follows.
    pub fn end(self, cursor: &str, more: bool) {
        raw(self.out, "],\"cursor\":");
        text(self.out, cursor);
        raw(self.out, ",\"more\":");
        truth(self.out, more);
        self.out.push(b'}');
    }
}
