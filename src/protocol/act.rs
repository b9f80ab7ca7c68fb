//! The nine speech acts (parley.md §3): one table that admission, the loop rule, export, schemas
//! and the manifest read.

use serde::{Deserialize, Serialize};

use crate::state::State;

/// The speech act of a message. Stored by its number: new kinds come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Opens a thread, or puts a further question in one.
    Ask,
    /// Answers the parent.
    Answer,
    /// Asks back before answering.
    Clarify,
    /// Puts forward a course of action.
    Propose,
    /// Challenges the parent, with a reason.
    Object,
    /// Accepts the parent.
    Agree,
    /// Adds information that needs no reply.
    Inform,
    /// States the outcome; needs authority.
    Decide,
    /// Takes back the parent.
    Retract,
}

words! {
    /// The rule for the parent of an act.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ParentRule {
        /// With or without one.
        Optional = "optional",
        /// A reply: to the awaited message where none is named (§3.1).
        Reply = "reply",
        /// Must be named.
        Required = "required",
    }
}

/// The effect of an act on the thread's turn (§3, §3.4, §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnRule {
    /// Expects a reply: its message is awaited from now on, except in a side state.
    Await,
    /// On the awaited message: the turn goes back from a `clarify`, else nothing is awaited. On
    /// the message that the awaited `clarify` is about: nothing is awaited.
    Answer,
    /// On the awaited message: nothing is awaited.
    Accept,
    /// The turn stays.
    Keep,
    /// Nothing is awaited.
    Empty,
    /// On the awaited message: the turn goes back from a `clarify`, else nothing is awaited.
    TakeBack,
}

/// When an act marks its state (§3, §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkRule {
    /// Where it opens a thread.
    Opening,
    /// Where its parent is of this kind.
    On(Kind),
    /// Always.
    Always,
}

/// The authority over the thread that an act needs (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActAuthority {
    /// None.
    None,
    /// For this, a verb with its object.
    For(&'static str),
    /// For this, where the parent is of another identity.
    OverOthers(&'static str),
}

/// The artifact that an export makes of an act (artifacts.md §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// A CLAIM that considers the parent.
    Claim,
    /// An EVIDENCE that supports the parent.
    Evidence,
    /// An OBJECTION to the parent.
    Objection,
    /// A REVISION of the parent, which is taken back.
    Revision,
    /// A DECISION.
    Decision,
}

/// A row of the table.
#[derive(Debug)]
pub struct ActSpec {
    /// The act.
    pub kind: Kind,
    /// The word on the wire.
    pub word: &'static str,
    /// The rule for its parent.
    pub parent: ParentRule,
    /// Its effect on the turn.
    pub turn: TurnRule,
    /// The state that it marks, and when.
    pub mark: Option<(State, MarkRule)>,
    /// The authority that it needs.
    pub authority: ActAuthority,
    /// Whether the loop limit stops it (§3.2): the ways out of a loop are exempt.
    pub loop_limited: bool,
    /// Whether it adds to the conversation, so that `self_reply`, `consecutive_limit`,
    /// `depth_limit` and `thread_full` stop it (§3.2, §3.3, §9).
    pub adds: bool,
    /// The artifact that an export makes of it.
    pub export: ExportForm,
}

/// The nine acts, in the order of the page.
pub static ACTS: [ActSpec; 9] = [
    ActSpec {
        mark: Some((State::Open, MarkRule::Opening)),
        ..act(Kind::Ask, "ask", ParentRule::Optional, TurnRule::Await, ExportForm::Evidence)
    },
    ActSpec {
        mark: Some((State::Answered, MarkRule::On(Kind::Ask))),
        ..act(Kind::Answer, "answer", ParentRule::Reply, TurnRule::Answer, ExportForm::Claim)
    },
    act(Kind::Clarify, "clarify", ParentRule::Reply, TurnRule::Await, ExportForm::Evidence),
    act(Kind::Propose, "propose", ParentRule::Optional, TurnRule::Await, ExportForm::Claim),
    act(Kind::Object, "object", ParentRule::Reply, TurnRule::Await, ExportForm::Objection),
    act(Kind::Agree, "agree", ParentRule::Reply, TurnRule::Accept, ExportForm::Evidence),
    act(Kind::Inform, "inform", ParentRule::Optional, TurnRule::Keep, ExportForm::Evidence),
    ActSpec {
        mark: Some((State::Decided, MarkRule::Always)),
        authority: ActAuthority::For("decide"),
        loop_limited: false,
        ..act(Kind::Decide, "decide", ParentRule::Optional, TurnRule::Empty, ExportForm::Decision)
    },
    ActSpec {
        authority: ActAuthority::OverOthers("retract another's message"),
        loop_limited: false,
        adds: false,
        ..act(
            Kind::Retract,
            "retract",
            ParentRule::Required,
            TurnRule::TakeBack,
            ExportForm::Revision,
        )
    },
];

/// An act that marks nothing, needs no authority and is bounded like any message.
const fn act(
    kind: Kind,
    word: &'static str,
    parent: ParentRule,
    turn: TurnRule,
    export: ExportForm,
) -> ActSpec {
    let (mark, authority, loop_limited, adds) = (None, ActAuthority::None, true, true);
    ActSpec { kind, word, parent, turn, mark, authority, loop_limited, adds, export }
}

// A row stands at the number of its kind.
const _: () = {
    let mut row = 0;
    while row < ACTS.len() {
        assert!(ACTS[row].kind as usize == row && ACTS[row].kind.spec().kind as usize == row);
        row += 1;
    }
};

impl Kind {
    /// All nine, in the order of the page.
    pub const ALL: [Self; ACTS.len()] = {
        let mut all = [Self::Ask; ACTS.len()];
        let mut row = 0;
        while row < ACTS.len() {
            all[row] = ACTS[row].kind;
            row += 1;
        }
        all
    };

    /// The row of the table.
    pub const fn spec(self) -> &'static ActSpec {
        match self {
            Self::Ask => &ACTS[0],
            Self::Answer => &ACTS[1],
            Self::Clarify => &ACTS[2],
            Self::Propose => &ACTS[3],
            Self::Object => &ACTS[4],
            Self::Agree => &ACTS[5],
            Self::Inform => &ACTS[6],
            Self::Decide => &ACTS[7],
            Self::Retract => &ACTS[8],
        }
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        self.spec().word
    }

    /// The act of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether the act expects a reply, and so sets `awaiting`.
    pub fn expects_reply(self) -> bool {
        self.spec().turn == TurnRule::Await
    }

    /// Whether the act can open a thread.
    pub fn opens(self) -> bool {
        matches!(self.spec().mark, Some((_, MarkRule::Opening)))
    }

    /// The state that the act can mark.
    pub fn mark(self) -> Option<State> {
        self.spec().mark.map(|(state, _)| state)
    }

    /// The state that the act marks in an existing thread, on a parent of the kind `parent`.
    pub fn marks(self, parent: Option<Self>) -> Option<State> {
        match self.spec().mark? {
            (state, MarkRule::Always) => Some(state),
            (state, MarkRule::On(kind)) => (parent == Some(kind)).then_some(state),
            (_, MarkRule::Opening) => None,
        }
    }

    /// Whether the act takes back its parent.
    pub fn takes_back(self) -> bool {
        self.spec().turn == TurnRule::TakeBack
    }
}
