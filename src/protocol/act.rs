//! The nine speech acts (parley.md §3): the one table of what each does.

use serde::{Deserialize, Serialize};

use crate::state::State;

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Opens a thread, or puts a further question in one.
    Ask,
    /// Answers what it replies to.
    Answer,
    /// Asks back before answering.
    Clarify,
    /// Puts forward a course of action.
    Propose,
    /// Challenges what it replies to, with a reason.
    Object,
    /// Accepts what it replies to.
    Agree,
    /// Adds what nobody needs to reply to.
    Inform,
    /// States the outcome; needs authority.
    Decide,
    /// Takes back the message it points at.
    Retract,
}

/// What an act says about its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentRule {
    /// With or without one.
    Optional,
    /// A reply: to the awaited message where none is named (§3.1).
    Reply,
    /// Must be named.
    Required,
}

impl ParentRule {
    /// The word in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Optional => "optional",
            Self::Reply => "reply",
            Self::Required => "required",
        }
    }
}

impl Kind {
    /// All nine, in the order of the page.
    pub const ALL: [Self; 9] = [
        Self::Ask,
        Self::Answer,
        Self::Clarify,
        Self::Propose,
        Self::Object,
        Self::Agree,
        Self::Inform,
        Self::Decide,
        Self::Retract,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Clarify => "clarify",
            Self::Propose => "propose",
            Self::Object => "object",
            Self::Agree => "agree",
            Self::Inform => "inform",
            Self::Decide => "decide",
            Self::Retract => "retract",
        }
    }

    /// The act of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// What the act says about its parent.
    pub fn parent_rule(self) -> ParentRule {
        match self {
            Self::Ask | Self::Propose | Self::Inform | Self::Decide => ParentRule::Optional,
            Self::Answer | Self::Clarify | Self::Object | Self::Agree => ParentRule::Reply,
            Self::Retract => ParentRule::Required,
        }
    }

    /// Whether the act expects a reply, and so sets `awaiting`.
    pub fn expects_reply(self) -> bool {
        matches!(self, Self::Ask | Self::Clarify | Self::Propose | Self::Object)
    }

    /// The state that the act marks: of `ask` when it opens, of `answer` when it answers an `ask`.
    pub fn mark(self) -> Option<State> {
        match self {
            Self::Ask => Some(State::Open),
            Self::Answer => Some(State::Answered),
            Self::Decide => Some(State::Decided),
            _ => None,
        }
    }
}
