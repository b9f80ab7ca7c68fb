//! The objects of `bindings.md` §2, with the members that the harness checks.

use std::borrow::Cow;

use serde::Deserialize;

/// A participant as shown.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Participant<'a> {
    /// The identity.
    #[serde(borrow)]
    pub identity: Cow<'a, str>,
    /// The extension; none for the bare line.
    #[serde(borrow)]
    pub extension: Option<Cow<'a, str>>,
}

/// The member `due`: `"anyone"`, or one participant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Due<'a> {
    /// One participant.
    One(#[serde(borrow)] Participant<'a>),
    /// The word `anyone`.
    Anyone(#[serde(borrow)] Cow<'a, str>),
}

/// The member `awaiting`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Awaiting<'a> {
    /// The awaited message.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// The participants that may reply.
    #[serde(borrow)]
    pub due: Due<'a>,
}

/// A message.
#[derive(Debug, Clone, Deserialize)]
pub struct Message<'a> {
    /// `msg_…`.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// `th_…`.
    #[serde(borrow)]
    pub thread: Cow<'a, str>,
    /// The parent, as `msg_…`.
    #[serde(borrow)]
    pub parent: Option<Cow<'a, str>>,
    /// The act.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// The author.
    #[serde(borrow)]
    pub from: Participant<'a>,
    /// The text.
    #[serde(borrow)]
    pub body: Cow<'a, str>,
    /// The time.
    #[serde(borrow)]
    pub created_at: Cow<'a, str>,
    /// The thread's `awaiting` after the message.
    #[serde(borrow)]
    pub awaiting: Option<Awaiting<'a>>,
}

/// A thread.
#[derive(Debug, Clone, Deserialize)]
pub struct Thread<'a> {
    /// `th_…`.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The participant that opened the thread.
    #[serde(borrow)]
    pub creator: Participant<'a>,
    /// The state.
    #[serde(borrow)]
    pub state: Cow<'a, str>,
    /// Time of the confirmation of the state.
    #[serde(borrow)]
    pub state_confirmed_at: Option<Cow<'a, str>>,
    /// The awaited message, if any.
    #[serde(borrow)]
    pub awaiting: Option<Awaiting<'a>>,
    /// The turn.
    #[serde(borrow)]
    pub turn: Option<Due<'a>>,
    /// Number of messages.
    pub message_count: u64,
}

/// The answer to `post_message`.
#[derive(Debug, Deserialize)]
pub struct Posted<'a> {
    /// The message as stored.
    #[serde(borrow)]
    pub message: Message<'a>,
    /// The thread after it.
    #[serde(borrow)]
    pub thread: Thread<'a>,
}

/// The answer to a mark, a confirmation or a reopening.
#[derive(Debug, Deserialize)]
pub struct Marked<'a> {
    /// The thread after it.
    #[serde(borrow)]
    pub thread: Thread<'a>,
    /// The event, if the state changed.
    #[serde(borrow)]
    pub event: Option<Event<'a>>,
}

/// A change of state.
#[derive(Debug, Clone, Deserialize)]
pub struct Event<'a> {
    /// `ev_…`.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The state before.
    #[serde(borrow)]
    pub from: Option<Cow<'a, str>>,
    /// The state after.
    #[serde(borrow)]
    pub to: Cow<'a, str>,
    /// `user` or `llm`.
    #[serde(borrow)]
    pub origin: Cow<'a, str>,
    /// Whether the state is confirmed, not proposed.
    pub confirmed: bool,
    /// The time.
    #[serde(borrow)]
    pub at: Cow<'a, str>,
}

/// A claim.
#[derive(Debug, Clone, Deserialize)]
pub struct Claim<'a> {
    /// `cl_…`.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// `unverified`, `supported`, …
    #[serde(borrow)]
    pub status: Cow<'a, str>,
}

/// The answer to an operation on a claim.
#[derive(Debug, Deserialize)]
pub struct Claimed<'a> {
    /// The claim after it.
    #[serde(borrow)]
    pub claim: Claim<'a>,
}

/// A page of a thread in the format `flat`.
#[derive(Debug, Deserialize)]
pub struct Page<'a> {
    /// The messages, oldest first.
    #[serde(borrow)]
    pub messages: Vec<Message<'a>>,
    /// Cursor of the end of the page.
    #[serde(borrow)]
    pub cursor: Cow<'a, str>,
    /// Whether another page follows.
    pub more: bool,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub struct List<'a, T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// Cursor of the end of the page.
    #[serde(borrow)]
    pub cursor: Cow<'a, str>,
    /// Whether another page follows.
    pub more: bool,
}

/// An item of an inbox.
#[derive(Debug, Deserialize)]
pub struct Waiting<'a> {
    /// The thread.
    #[serde(borrow)]
    pub thread: Thread<'a>,
    /// The awaited message.
    #[serde(borrow)]
    pub message: Message<'a>,
}

/// The number in an id with this prefix.
pub fn number(id: &str, prefix: &str) -> Option<u64> {
    id.strip_prefix(prefix)?.parse().ok()
}
