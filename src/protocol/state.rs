//! The state machine (parley.md §5): one state for the whole thread.

use serde::{Deserialize, Serialize};

words! {
    /// The state of a thread.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum State {
        /// Asked, not answered.
        Open = "open",
        /// Answered, not decided.
        Answered = "answered",
        /// Decided, not closed.
        Decided = "decided",
        /// Closed; locked once confirmed.
        Closed = "closed",
        /// Side state: put off.
        Deferred = "deferred",
        /// Side state: no longer of interest.
        Obsolete = "obsolete",
        /// Side state: turned down.
        Rejected = "rejected",
    }
}

impl State {
    /// The place on the line, 0 to 3; `None` for a side state.
    pub fn step(self) -> Option<u8> {
        match self {
            Self::Open => Some(0),
            Self::Answered => Some(1),
            Self::Decided => Some(2),
            Self::Closed => Some(3),
            Self::Deferred | Self::Obsolete | Self::Rejected => None,
        }
    }

    /// Whether this is an endpoint beside the line.
    pub fn is_side(self) -> bool {
        self.step().is_none()
    }

    /// Whether an event that leads here empties `awaiting` (parley.md §4).
    pub fn empties_awaiting(self) -> bool {
        self != Self::Open && self != Self::Answered
    }

    /// Whether a model with authority may move a thread from here (a `closed` being a proposed
    /// one) to the other state `to`.
    pub fn model_may_move(self, to: Self) -> bool {
        match (self.step(), to.step()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(from), Some(to)) => to > from && to - from <= 2,
        }
    }
}

words! {
    /// Whether a human or a model set the present state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Origin {
        /// A human.
        User = "user",
        /// A model.
        Llm = "llm",
    }
}
