//! The frames of the feed (bindings.md §6), each one JSON text: `type` and `cursor` first, then
//! the members of the table, objects as they were made.

use super::{JsonBuffer, array, bytes, id, number, participant, text, truth, word};
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
        /// A claim in its present state.
        Claim = "claim",
        /// A thread that now waits for the listener.
        Awaiting = "awaiting",
        /// A thread whose turn has left the listener.
        Settled = "settled",
        /// The end of a replay, or a sign that nothing was missed.
        CaughtUp = "caught_up",
        /// The threads that the feed follows now.
        Subscribed = "subscribed",
        /// A client's frame was not understood.
        Notice = "notice",
    }
}

/// A frame: its type, the cursor, then the members of the page. Objects come as they were made.
macro_rules! frame {
    ($out:ident; $type:ident, $cursor:ident $(, $($member:tt)+)?) => {
        object!($out;
            "type": word(FrameType::$type.as_str()),
            "cursor": text($cursor),
            $($($member)+)?
        )
    };
}

/// `hello`: the listener, the scope, the heartbeat, and whether `since` was given.
pub fn hello(
    out: &mut JsonBuffer,
    cursor: &str,
    listener: &Participant,
    scope: &str,
    heartbeat_seconds: u64,
    resumed: bool,
) {
    frame!(out; Hello, cursor,
        "participant": participant(listener),
        "scope": text(scope),
        "heartbeat_seconds": number(heartbeat_seconds),
        "resumed": truth(resumed),
    );
}

/// `message`.
pub fn message(out: &mut JsonBuffer, cursor: &str, message: &[u8], thread: &[u8]) {
    frame!(out; Message, cursor, "message": bytes(message), "thread": bytes(thread));
}

/// `event`.
pub fn event(out: &mut JsonBuffer, cursor: &str, event: &[u8], thread: &[u8]) {
    frame!(out; Event, cursor, "event": bytes(event), "thread": bytes(thread));
}

/// `claim`.
pub fn claim(out: &mut JsonBuffer, cursor: &str, claim: &[u8]) {
    frame!(out; Claim, cursor, "claim": bytes(claim));
}

/// `awaiting`.
pub fn awaiting(out: &mut JsonBuffer, cursor: &str, thread: &[u8], message: &[u8]) {
    frame!(out; Awaiting, cursor, "thread": bytes(thread), "message": bytes(message));
}

/// `settled`.
pub fn settled(out: &mut JsonBuffer, cursor: &str, thread: ThreadId) {
    frame!(out; Settled, cursor, "thread": id(thread));
}

/// `caught_up`.
pub fn caught_up(out: &mut JsonBuffer, cursor: &str) {
    frame!(out; CaughtUp, cursor);
}

/// `subscribed`: all threads that the feed follows now.
pub fn subscribed(out: &mut JsonBuffer, cursor: &str, threads: impl IntoIterator<Item = ThreadId>) {
    frame!(out; Subscribed, cursor, "threads": array(threads, id));
}

/// `notice`.
pub fn notice(out: &mut JsonBuffer, cursor: &str, reason: Reason, detail: &str) {
    frame!(out; Notice, cursor, "reason": word(reason.as_str()), "detail": text(detail));
}
