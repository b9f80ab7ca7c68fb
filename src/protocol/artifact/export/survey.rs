//! The first pass over a thread, before its first artifact can be made.

use std::collections::{BTreeMap, BTreeSet};

use super::{OBJECTIONS_NAMED_MAX, ObjectionStatus};
use crate::act::{ExportForm, TurnRule};
use crate::entry::{Act, Change, Message};
use crate::identity::Participant;
use crate::ids::{EventId, MessageId, ThreadId};
use crate::state::State;
use crate::time::Millis;

/// The first pass: sees every act of a thread, in order.
#[derive(Default)]
pub struct Survey {
    count: u64,
    /// The parent of each reply.
    replies: BTreeMap<MessageId, MessageId>,
    retracted: BTreeSet<MessageId>,
    objectors: BTreeMap<MessageId, Participant>,
    /// By each `agree` of an objector to a reply: the objection.
    agreements: BTreeMap<MessageId, MessageId>,
    /// The objections in order of creation; `None` is a refutation.
    objections: Vec<Option<MessageId>>,
    /// The last `decide`, and how many objections came before it and the one before.
    last_decide: Option<(MessageId, usize, usize)>,
    /// Whether the thread was confirmed `decided` or `closed` since the last `decide`, and has
    /// not left these states since.
    is_settled: bool,
    ending: Option<(Ending, bool)>,
}

/// The event that led to the present state.
pub(super) struct Ending {
    pub thread: ThreadId,
    pub event: EventId,
    pub state: State,
    pub at: Millis,
    pub by: Participant,
}

/// The result of the first pass.
pub(super) struct Plan {
    pub count: u64,
    pub final_decision: Option<MessageId>,
    pub ending: Option<Ending>,
    retracted: BTreeSet<MessageId>,
    resolved: BTreeSet<MessageId>,
}

impl Survey {
    /// Sees the next act.
    pub fn see(&mut self, act: &Act) {
        self.count += match &act.change {
            Change::Message(_) => 1,
            Change::Mark => 0,
            Change::Assert(claim) => 1 + claim.evidence.len() as u64,
            Change::Attest(_, attestation) => attestation.evidence.len() as u64,
            Change::Refute(_, refutation) => 1 + refutation.evidence.len() as u64,
        };
        match &act.change {
            Change::Message(message) => self.message(act, message),
            Change::Refute(..) => self.objections.push(None),
            Change::Mark | Change::Assert(_) | Change::Attest(..) => {}
        }
        if let Some(event) = &act.event {
            let ending = Ending {
                thread: act.thread,
                event: event.id,
                state: event.to,
                at: act.at,
                by: act.by.clone(),
            };
            self.ending = Some((ending, event.confirmed));
        }
        let present = self.ending.as_ref().map(|(ending, confirmed)| (ending.state, *confirmed));
        match present {
            Some((State::Decided | State::Closed, confirmed)) => self.is_settled |= confirmed,
            Some((
                State::Open | State::Answered | State::Deferred | State::Obsolete | State::Rejected,
                _,
            ))
            | None => self.is_settled = false,
        }
    }

    fn message(&mut self, act: &Act, message: &Message) {
        if message.kind.takes_back() {
            self.retracted.extend(message.parent);
            return;
        }
        if let Some(parent) = message.parent {
            self.replies.insert(message.id, parent);
        }
        if message.kind.spec().turn == TurnRule::Accept {
            let accepted = message.parent.and_then(|parent| self.replies.get(&parent));
            let objection = accepted.filter(|id| self.objectors.get(id) == Some(&act.by));
            self.agreements.extend(objection.map(|objection| (message.id, *objection)));
        }
        match message.kind.spec().export {
            ExportForm::Objection => {
                self.objections.push(Some(message.id));
                self.objectors.insert(message.id, act.by.clone());
            }
            ExportForm::Decision => {
                let before = self.last_decide.map_or(0, |(_, count, _)| count);
                self.last_decide = Some((message.id, self.objections.len(), before));
                self.is_settled = false;
            }
            ExportForm::Claim | ExportForm::Evidence | ExportForm::Revision => {}
        }
    }

    pub(super) fn plan(self) -> Plan {
        // What was taken back was not agreed to.
        let agreed = self.agreements.iter().filter(|(agree, _)| !self.retracted.contains(agree));
        let resolved = agreed.map(|(_, objection)| *objection).collect();
        let ends = |state: State| state == State::Closed || state.is_side();
        let ending = self.ending.filter(|(ending, confirmed)| *confirmed && ends(ending.state));
        let mut plan = Plan {
            count: self.count + u64::from(ending.is_some()),
            final_decision: None,
            ending: ending.map(|(ending, _)| ending),
            retracted: self.retracted,
            resolved,
        };
        let last = self.last_decide.filter(|_| self.is_settled);
        let is_final = |&(_, count, before): &(MessageId, usize, usize)| {
            let blocks = |id: &&Option<MessageId>| id.is_none_or(|id| plan.blocks(id));
            let earlier = self.objections[..before].iter().filter(blocks).count();
            earlier + (count - before) <= OBJECTIONS_NAMED_MAX
                && !self.objections[count..].iter().any(|id| blocks(&id))
        };
        plan.final_decision = last.filter(is_final).map(|(id, ..)| id);
        plan
    }
}

impl Plan {
    /// Whether the objection that a message makes still blocks.
    pub fn blocks(&self, objection: MessageId) -> bool {
        self.status(objection) == ObjectionStatus::Unresolved
    }

    /// The status in a decision of the objection that a message makes.
    pub fn status(&self, objection: MessageId) -> ObjectionStatus {
        if self.retracted.contains(&objection) {
            ObjectionStatus::Withdrawn
        } else if self.resolved.contains(&objection) {
            ObjectionStatus::Resolved
        } else {
            ObjectionStatus::Unresolved
        }
    }
}
