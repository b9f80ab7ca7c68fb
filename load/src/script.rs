//! What agents talk about: scripts of whole conversations.

use crate::verify::shadow::Act;
use crate::verify::transitions::State;

/// A part in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Opens the thread.
    Creator = 0,
    /// Answers.
    Helper = 1,
    /// Has something to say, too.
    Third = 2,
    /// Holds `lock`.
    Moderator = 3,
    /// Holds `verify`.
    Verifier = 4,
}

/// How many roles there are.
pub const ROLES: usize = 5;

/// One step. Messages are named by their place, the opening being 0.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Somebody speaks, perhaps to a message.
    Say(Role, Act, Option<usize>),
    /// Somebody marks the thread.
    Mark(Role, State),
    /// Somebody confirms its state.
    Confirm(Role, State),
    /// Somebody reopens it.
    Reopen(Role),
    /// Somebody claims something.
    Assert(Role),
    /// Somebody attests the claim, with the seal or without; its status then.
    Attest(Role, bool, &'static str),
    /// Somebody refutes the claim.
    Refute(Role),
    /// Somebody says what must be refused, and with which reason.
    Refused(Role, Act, Option<usize>, &'static str),
    /// Somebody finds the thread in the own inbox.
    Inbox(Role),
}

impl Step {
    /// Whose step it is.
    pub fn role(self) -> Role {
        match self {
            Self::Say(role, ..)
            | Self::Mark(role, _)
            | Self::Confirm(role, _)
            | Self::Reopen(role)
            | Self::Assert(role)
            | Self::Attest(role, ..)
            | Self::Refute(role)
            | Self::Refused(role, ..)
            | Self::Inbox(role) => role,
        }
    }
}

use Role::{Creator, Helper, Moderator, Third, Verifier};
use Step::{Assert, Attest, Confirm, Inbox, Mark, Refused, Refute, Reopen, Say};

/// A question, asked back, answered, challenged, settled; with a claim that gets its seal.
const QUESTION: &[Step] = &[
    Say(Creator, Act::Ask, None),
    Say(Helper, Act::Clarify, Some(0)),
    Inbox(Creator),
    Say(Creator, Act::Answer, Some(1)),
    Inbox(Helper),
    Say(Helper, Act::Answer, Some(0)),
    Say(Third, Act::Object, Some(3)),
    Refused(Helper, Act::Answer, Some(3), "self_reply"),
    Say(Helper, Act::Answer, Some(4)),
    Say(Third, Act::Agree, Some(5)),
    Assert(Helper),
    Attest(Third, false, "supported"),
    Attest(Verifier, true, "verified"),
    Say(Creator, Act::Decide, None),
    Mark(Creator, State::Closed),
    Confirm(Moderator, State::Closed),
    Refused(Helper, Act::Inform, None, "thread_closed"),
];

/// A proposal, challenged and accepted; with a claim that is refuted.
const PROPOSAL: &[Step] = &[
    Say(Creator, Act::Ask, None),
    Say(Helper, Act::Propose, Some(0)),
    Inbox(Creator),
    Say(Third, Act::Object, Some(1)),
    Inbox(Helper),
    Say(Helper, Act::Answer, Some(2)),
    Say(Creator, Act::Agree, Some(1)),
    Say(Third, Act::Inform, None),
    Assert(Third),
    Refute(Helper),
    Say(Creator, Act::Decide, None),
    Mark(Creator, State::Closed),
    Confirm(Moderator, State::Closed),
];

/// Put off, reopened by a lock holder, closed, reopened by the creator, closed for good.
const ASIDE: &[Step] = &[
    Say(Creator, Act::Ask, None),
    Say(Third, Act::Inform, None),
    Mark(Creator, State::Deferred),
    Refused(Helper, Act::Answer, Some(0), "invalid_transition"),
    Say(Helper, Act::Inform, None),
    Reopen(Moderator),
    Say(Helper, Act::Answer, Some(0)),
    Mark(Creator, State::Closed),
    Reopen(Creator),
    Say(Third, Act::Ask, Some(3)),
    Inbox(Helper),
    Say(Helper, Act::Answer, Some(4)),
    Mark(Creator, State::Closed),
    Confirm(Moderator, State::Closed),
];

/// An answer and a question back are taken back; a lock holder decides.
const TAKEN_BACK: &[Step] = &[
    Say(Creator, Act::Ask, None),
    Say(Helper, Act::Answer, Some(0)),
    Say(Helper, Act::Retract, Some(1)),
    Say(Third, Act::Clarify, Some(0)),
    Say(Third, Act::Retract, Some(3)),
    Inbox(Third),
    Say(Third, Act::Answer, Some(0)),
    Refused(Creator, Act::Agree, Some(1), "message_retracted"),
    Say(Moderator, Act::Decide, None),
    Mark(Creator, State::Closed),
    Confirm(Moderator, State::Closed),
];

/// All scripts.
pub const SCRIPTS: [&[Step]; 4] = [QUESTION, PROPOSAL, ASIDE, TAKEN_BACK];
