//! The objects of the wire, as far as they are checked.

use std::borrow::Cow;

use serde::Deserialize;

/// An identity and, for a sub-agent, its extension.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Participant<'a> {
    /// The line.
    #[serde(borrow)]
    pub identity: Cow<'a, str>,
    /// The sub-agent.
    #[serde(borrow)]
    pub extension: Option<Cow<'a, str>>,
}

/// Who is due: `"anyone"`, or one participant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Due<'a> {
    /// One participant.
    One(#[serde(borrow)] Participant<'a>),
    /// The word `anyone`.
    Anyone(#[serde(borrow)] Cow<'a, str>),
}

/// What waits for a reply.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Awaiting<'a> {
    /// The awaited message.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// Who is due.
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
    /// The message that it replies to or points at.
    #[serde(borrow)]
    pub parent: Option<Cow<'a, str>>,
    /// The act.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// Who spoke.
    #[serde(borrow)]
    pub from: Participant<'a>,
    /// The text.
    #[serde(borrow)]
    pub body: Cow<'a, str>,
    /// The time.
    #[serde(borrow)]
    pub created_at: Cow<'a, str>,
    /// What it left waiting.
    #[serde(borrow)]
    pub awaiting: Option<Awaiting<'a>>,
}

/// A thread.
#[derive(Debug, Clone, Deserialize)]
pub struct Thread<'a> {
    /// `th_…`.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Who opened it.
    #[serde(borrow)]
    pub creator: Participant<'a>,
    /// The state.
    #[serde(borrow)]
    pub state: Cow<'a, str>,
    /// When the state was confirmed.
    #[serde(borrow)]
    pub state_confirmed_at: Option<Cow<'a, str>>,
    /// What waits.
    #[serde(borrow)]
    pub awaiting: Option<Awaiting<'a>>,
    /// Who moves next.
    #[serde(borrow)]
    pub turn: Option<Due<'a>>,
    /// How many messages it has.
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
    /// Whether it is no mere proposal.
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

/// A page of a thread, read flat.
#[derive(Debug, Deserialize)]
pub struct Page<'a> {
    /// The messages, oldest first.
    #[serde(borrow)]
    pub messages: Vec<Message<'a>>,
    /// The page's end.
    #[serde(borrow)]
    pub cursor: Cow<'a, str>,
    /// Whether there is more.
    pub more: bool,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub struct List<'a, T> {
    /// What is on it.
    pub items: Vec<T>,
    /// The page's end.
    #[serde(borrow)]
    pub cursor: Cow<'a, str>,
    /// Whether there is more.
    pub more: bool,
}

/// What waits, in an inbox.
#[derive(Debug, Deserialize)]
pub struct Waiting<'a> {
    /// The thread.
    #[serde(borrow)]
    pub thread: Thread<'a>,
    /// The awaited message.
    #[serde(borrow)]
    pub message: Message<'a>,
}

/// The number in an id of this kind.
pub fn number(id: &str, prefix: &str) -> Option<u64> {
    id.strip_prefix(prefix)?.parse().ok()
}
