//! The answers of operations, put together from objects that are made already.

use super::{JsonBuffer, raw, text, truth};

/// The answer of `post_message`.
pub fn posted(out: &mut JsonBuffer, message: &[u8], thread: &[u8]) {
    raw(out, "{\"message\":");
    out.extend_from_slice(message);
    raw(out, ",\"thread\":");
    out.extend_from_slice(thread);
    out.push(b'}');
}

/// The answer of `mark_thread`, `confirm_thread` and `reopen_thread`; without an event if nothing
/// changed.
pub fn marked(out: &mut JsonBuffer, thread: &[u8], event: Option<&[u8]>) {
    raw(out, "{\"thread\":");
    out.extend_from_slice(thread);
    raw(out, ",\"event\":");
    out.extend_from_slice(event.unwrap_or(b"null"));
    out.push(b'}');
}

/// The answer of `assert_claim`, `attest_claim` and `refute_claim`.
pub fn claim_changed(out: &mut JsonBuffer, claim: &[u8]) {
    raw(out, "{\"claim\":");
    out.extend_from_slice(claim);
    out.push(b'}');
}

/// One item of the inbox: the thread and the message that waits.
pub fn inbox_item(out: &mut JsonBuffer, thread: &[u8], message: &[u8]) {
    raw(out, "{\"thread\":");
    out.extend_from_slice(thread);
    raw(out, ",\"message\":");
    out.extend_from_slice(message);
    out.push(b'}');
}

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
