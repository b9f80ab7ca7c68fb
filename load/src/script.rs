//! Scripts of whole conversations, step by step.

use crate::verify::shadow::Act;
use crate::verify::transitions::State;

/// A role in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Opens the thread.
    Creator = 0,
    /// Answers.
    Helper = 1,
    /// Takes part as a third participant.
    Third = 2,
    /// Holds `lock`.
    Moderator = 3,
    /// Holds `verify`.
    Verifier = 4,
}

/// Number of roles.
pub const ROLES: usize = 5;

/// One step. Messages are named by their index, the opening message being 0.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// An act, with the index of its parent if it has one.
    Say(Role, Act, Option<usize>),
    /// A mark.
    Mark(Role, State),
    /// A confirmation of the state.
    Confirm(Role, State),
    /// A reopening.
    Reopen(Role),
    /// A new claim.
    Assert(Role),
    /// An attestation of the claim: whether with the seal, and the status after it.
    Attest(Role, bool, &'static str),
    /// A refutation of the claim.
    Refute(Role),
    /// An act that must be refused with this reason.
    Refused(Role, Act, Option<usize>, &'static str),
    /// A read of the role's inbox, which must show the thread.
    Inbox(Role),
}

impl Step {
    /// The role that takes the step.
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

/// A question: clarified, answered, objected to, decided; with a claim that is sealed.
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

/// A proposal: objected to, agreed to, decided; with a claim that is refuted.
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

/// Deferred, reopened by a holder of `lock`, closed, reopened by the creator, closed and confirmed.
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

/// An answer and a clarification are retracted; a holder of `lock` decides.
const RETRACTED: &[Step] = &[
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
pub const SCRIPTS: [&[Step]; 4] = [QUESTION, PROPOSAL, ASIDE, RETRACTED];
