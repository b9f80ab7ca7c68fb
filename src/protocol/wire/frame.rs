//! The frames of the feed (bindings.md §6), each one JSON text: `type` and `cursor` first, then
//! the members of the table, objects as they were made.

use super::{JsonBuffer, array, id, number, raw, text, truth, word};
use crate::identity::Participant;
use crate::ids::ThreadId;
use crate::refusal::Reason;

words! {
    /// The kinds of frames, as `type` names them and metrics count them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum FrameType {
        /// The first one.
        Hello = "hello",
        /// A message.
        Message = "message",
        /// A change of state.
        Event = "event",
        /// A claim as it stands now.
        Claim = "claim",
        /// A thread that now waits for the listener.
        Awaiting = "awaiting",
        /// A thread whose turn has left the listener.
        Settled = "settled",
        /// The end of a replay, or a sign that nothing was missed.
        CaughtUp = "caught_up",
        /// What the feed follows now.
        Subscribed = "subscribed",
        /// A client's frame was not understood.
        Notice = "notice",
    }
}

fn open(out: &mut JsonBuffer, kind: FrameType, cursor: &str) {
    raw(out, "{\"type\":");
    word(out, kind.as_str());
    raw(out, ",\"cursor\":");
    text(out, cursor);
}

fn member(out: &mut JsonBuffer, name: &str, object: &[u8]) {
    raw(out, ",\"");
    raw(out, name);
    raw(out, "\":");
    out.extend_from_slice(object);
}

/// `hello`: who listens, to what, how often something comes at least, and whether `since` was
/// given.
pub fn hello(
    out: &mut JsonBuffer,
    cursor: &str,
    participant: &Participant,
    scope: &str,
    heartbeat_seconds: u64,
    resumed: bool,
) {
    open(out, FrameType::Hello, cursor);
    raw(out, ",\"participant\":");
    super::participant(out, participant);
    raw(out, ",\"scope\":");
    text(out, scope);
    raw(out, ",\"heartbeat_seconds\":");
    number(out, heartbeat_seconds);
    raw(out, ",\"resumed\":");
    truth(out, resumed);
    out.push(b'}');
}

/// `message`.
pub fn message(out: &mut JsonBuffer, cursor: &str, message: &[u8], thread: &[u8]) {
    open(out, FrameType::Message, cursor);
    member(out, "message", message);
    member(out, "thread", thread);
    out.push(b'}');
}

/// `event`.
pub fn event(out: &mut JsonBuffer, cursor: &str, event: &[u8], thread: &[u8]) {
    open(out, FrameType::Event, cursor);
    member(out, "event", event);
    member(out, "thread", thread);
    out.push(b'}');
}

/// `claim`.
pub fn claim(out: &mut JsonBuffer, cursor: &str, claim: &[u8]) {
    open(out, FrameType::Claim, cursor);
    member(out, "claim", claim);
    out.push(b'}');
}

/// `awaiting`.
pub fn awaiting(out: &mut JsonBuffer, cursor: &str, thread: &[u8], message: &[u8]) {
    open(out, FrameType::Awaiting, cursor);
    member(out, "thread", thread);
    member(out, "message", message);
    out.push(b'}');
}

/// `settled`.
pub fn settled(out: &mut JsonBuffer, cursor: &str, thread: ThreadId) {
    open(out, FrameType::Settled, cursor);
    raw(out, ",\"thread\":");
    id(out, thread);
    out.push(b'}');
}

/// `caught_up`.
pub fn caught_up(out: &mut JsonBuffer, cursor: &str) {
    open(out, FrameType::CaughtUp, cursor);
    out.push(b'}');
}

/// `subscribed`: all that the feed follows now.
pub fn subscribed(out: &mut JsonBuffer, cursor: &str, threads: impl IntoIterator<Item = ThreadId>) {
    open(out, FrameType::Subscribed, cursor);
    raw(out, ",\"threads\":");
    array(out, threads, id);
    out.push(b'}');
}

/// `notice`.
pub fn notice(out: &mut JsonBuffer, cursor: &str, reason: Reason, detail: &str) {
    open(out, FrameType::Notice, cursor);
    raw(out, ",\"reason\":");
    word(out, reason.as_str());
    raw(out, ",\"detail\":");
    text(out, detail);
    out.push(b'}');
}
