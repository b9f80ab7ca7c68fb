//! The frames that an act causes for each listener (bindings.md §6), and their positions in
//! the one order. Derived, never stored: the same for every listener, live or in a replay.

use crate::entry::{Act, Position, slot};
use crate::identity::Participant;

/// Threads that a query names at most.
pub const QUERY_THREADS_MAX: usize = 100;

words! {
    /// The scope of a feed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Scope {
        /// The turns of one participant.
        #[default]
        Inbox = "inbox",
        /// Some threads.
        Threads = "threads",
        /// Everything, and the turns of one participant.
        All = "all",
    }
}

impl Scope {
    /// The words in a sentence: `inbox, threads and all`.
    pub fn listed() -> String {
        let [first @ .., last] = Self::ALL.map(Self::as_str);
        format!("{} and {last}", first.join(", "))
    }

    /// Whether the feed sends turns.
    pub fn tells_turns(self) -> bool {
        match self {
            Self::Inbox | Self::All => true,
            Self::Threads => false,
        }
    }
}

/// One frame that an act causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The message.
    Message,
    /// The event.
    Event,
    /// The claim at this place of [`Act::claims`].
    Claim(usize),
    /// The thread now waits for the listener.
    Awaiting,
    /// The turn has left the listener.
    Settled,
}

impl Frame {
    /// The position of the frame where the act is the entry `entry`.
    pub fn position(self, entry: u64) -> Position {
        let slot = match self {
            Self::Message => slot::MESSAGE,
            Self::Event => slot::EVENT,
            Self::Claim(place) => slot::CLAIMS + place as u64,
            Self::Awaiting => slot::AWAITING,
            Self::Settled => slot::SETTLED,
        };
        Position::of(entry, slot)
    }
}

/// The frames about the thread itself, in order.
pub fn act_frames(act: &Act) -> impl Iterator<Item = Frame> + '_ {
    let message = act.message().map(|_| Frame::Message);
    let event = act.event.as_ref().map(|_| Frame::Event);
    let claims = act.claims().enumerate().map(|(place, _)| Frame::Claim(place));
    message.into_iter().chain(event).chain(claims)
}

/// The frame about the turn for `participant`, if any. A new `awaiting` replaces the one
/// before without a `settled`.
pub fn turn_frame(act: &Act, participant: &Participant, anyone: bool) -> Option<Frame> {
    let waits = act.awaiting.as_ref().is_some_and(|now| now.concerns(participant, anyone));
    if act.awaiting_set && waits {
        return Some(Frame::Awaiting);
    }
    let waited = act.awaiting_was.as_ref().is_some_and(|was| was.concerns(participant, anyone));
    (waited && !waits).then_some(Frame::Settled)
}
