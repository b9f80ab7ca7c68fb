//! Refusals of operations on a thread (parley.md §3 to §7, §9).

use super::{Reason, Refusal};
use crate::ids::{MessageId, ThreadId};
use crate::state::State;

fixed! {
    /// 400 `invalid_body` of a reply without parent where nothing is awaited (§3.1).
    nothing_awaited: Reason::InvalidBody.at("parent") =
        "Nothing is awaited here, so a reply must name its `parent`.";
    /// 403 `thread_authority_missing` to reopen from a side state (§5).
    side_state_authority_missing: Reason::ThreadAuthorityMissing =
        "Only a lock holder or a human may reopen a thread from a side state. Ask one, or ask in a \
         new thread.";
    /// 409 `message_retracted` of an act on a retracted message (§3.3).
    message_retracted: Reason::MessageRetracted =
        "The message was retracted; nothing can point at it. Reply to another message.";
    /// 409 `message_retracted` of a retraction of a retraction (§3.3).
    retraction_stands: Reason::MessageRetracted =
        "A `retract` cannot be retracted. Say what holds with a new message.";
    /// 409 `self_reply` (§3.2).
    self_reply: Reason::SelfReply =
        "This participant wrote the parent itself. Let another participant reply, or add to it \
         with `inform` without a parent.";
    /// 409 `depth_limit` (§9).
    depth_limit: Reason::DepthLimit =
        "The thread is as deep here as it may be. Reply further up, or begin anew beside the \
         opening without a parent.";
    /// 409 `thread_full` of a message (§9).
    messages_full: Reason::ThreadFull =
        "The thread holds as many messages as it may. Let it be decided and closed; go on in a new \
         thread.";
}

impl Refusal {
    /// 404 `thread_not_found`.
    pub fn no_thread(thread: ThreadId) -> Self {
        let detail = format!("There is no thread {thread}. List the threads and name one of them.");
        Self::new(Reason::ThreadNotFound, detail).of(thread)
    }

    /// 404 `message_not_found` of the parent `message`.
    pub fn message_not_found(message: MessageId) -> Self {
        let detail = format!(
            "The thread holds no message {message}. Read the thread and name one of its messages."
        );
        Self::new(Reason::MessageNotFound, detail).at("parent")
    }

    /// 400 `invalid_parameter` of a thread with more messages than a tree may have.
    pub fn tree_too_large() -> Self {
        let detail = "The thread has too many messages to be read as a tree. Read it with \
                      `format=flat`, page by page.";
        Self::parameter("format", detail)
    }

    /// 400 `invalid_parameter` of a thread whose tree has more bytes than an answer may have.
    pub fn tree_too_long(bytes_max: u64) -> Self {
        let detail = format!(
            "The thread has more than {bytes_max} bytes as a tree. Read it with `format=flat`, \
             page by page."
        );
        Self::parameter("format", detail)
    }

    /// 403 `thread_authority_missing` to do `what`, a verb with its object (§6).
    pub fn thread_authority_missing(what: &str) -> Self {
        let detail = format!(
            "Only the thread's creator, a lock holder or a human may {what}. Say what you think \
             with `propose`, `object` or `inform` instead."
        );
        Self::new(Reason::ThreadAuthorityMissing, detail)
    }

    /// 409 `thread_closed`.
    pub fn thread_closed() -> Self {
        let detail = "The thread is closed and takes nothing. Its creator, a lock holder or a \
                      human may reopen it (`reopen_thread`); else ask in a new thread.";
        Self { state: Some(State::Closed), ..Self::new(Reason::ThreadClosed, detail) }
    }

    /// 409 `consecutive_limit` after `max` messages in a row (§3.2).
    pub fn consecutive_limit(max: usize) -> Self {
        let detail = format!(
            "This participant wrote the last {max} messages. Wait until another one has spoken."
        );
        Self::new(Reason::ConsecutiveLimit, detail)
    }

    /// 409 `loop_limit` after `count` messages of two models (§3.2).
    pub fn loop_limit(count: u64) -> Self {
        let detail = format!(
            "The last {count} messages come from the same two models and the state has not moved. \
             Ways out: `decide`, a mark, a third participant, a human."
        );
        Self::new(Reason::LoopLimit, detail)
    }

    /// 409 `invalid_transition` from `from` to `to` (§5).
    pub fn invalid_transition(from: State, to: State) -> Self {
        let detail = format!(
            "A thread cannot go from {from} to {to} so. The manifest's `states` say where it may \
             go; from `closed` and the side states only reopening leads."
        );
        let refusal = Self::new(Reason::InvalidTransition, detail);
        Self { state: Some(from), attempted: Some(to), ..refusal }
    }

    /// 409 `state_moved`: the thread is in `state`, the confirmation names `named` (§5.1).
    pub fn state_moved(state: State, named: State) -> Self {
        let detail = format!(
            "The thread is {state}, not {named}. Read it again, then confirm the state it is in."
        );
        let refusal = Self::new(Reason::StateMoved, detail);
        Self { state: Some(state), attempted: Some(named), ..refusal }
    }
}
