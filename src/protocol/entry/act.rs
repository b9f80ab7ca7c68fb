//! An act: the record of one admitted operation on a thread.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::key::KeyUse;
use super::position::slot;
use super::turn::Awaiting;
use crate::act::Kind;
use crate::claim::{Attestation, Claim, ClaimStatus, Refutation};
use crate::identity::{AuthorKind, Participant};
use crate::ids::{ClaimId, EventId, MessageId, ThreadId};
use crate::state::{Origin, State};
use crate::time::Millis;

/// `provenance` of an envelope, each at most [`crate::limits::PROVENANCE_MAX`] characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The model, as the sender names it.
    pub model: Option<Box<str>>,
    /// The client, as the sender names it.
    pub client: Option<Box<str>>,
}

/// One change of state, origin or confirmation (parley.md §5.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its identifier.
    pub id: EventId,
    /// The state before; `None` for the opening.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
    /// Whether a human or a model set it.
    pub origin: Origin,
    /// Whether it is confirmed.
    pub confirmed: bool,
    /// `KI · <label>` if it is confirmed by virtue of `lock`.
    pub label: Option<Arc<str>>,
    /// The reason given.
    pub reason: Option<Box<str>>,
}

/// The retraction of a message (parley.md §3.3), shown with it from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retraction {
    /// The participant that took it back.
    pub by: Participant,
    /// When.
    pub at: Millis,
    /// The `retract` that did it.
    pub message: MessageId,
}

/// A message as it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its identifier.
    pub id: MessageId,
    /// The parent as stored.
    pub parent: Option<MessageId>,
    /// The act.
    pub kind: Kind,
    /// Exactly as sent.
    pub body: Box<str>,
    /// If any was given.
    pub provenance: Option<Provenance>,
}

/// The change that an act makes in its thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A speech act.
    Message(Message),
    /// A mark, confirmation or reopening: the act's event says which.
    Mark,
    /// A new claim, as created.
    Assert(Box<Claim>),
    /// An attestation or a seal.
    Attest(ClaimId, Arc<Attestation>),
    /// A refutation.
    Refute(ClaimId, Arc<Refutation>),
}

/// One act in one thread: `admit` makes it, `apply` applies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// The thread.
    pub thread: ThreadId,
    /// Its place among the acts of the thread, from 0.
    pub seq: u64,
    /// Its time, never before that of the preceding act of the thread.
    pub at: Millis,
    /// Who.
    pub by: Participant,
    /// Human or model.
    pub author_kind: AuthorKind,
    /// What.
    pub change: Change,
    /// The change of state that it caused.
    pub event: Option<Event>,
    /// `awaiting` as it left it behind.
    pub awaiting: Option<Awaiting>,
    /// Whether it named the awaited message: the moment at which `awaiting` was set.
    pub awaiting_set: bool,
    /// With `awaiting_set`: the entry that holds the awaited message, where it is an earlier one
    /// that waits again (§3.4); 0 means this very entry.
    pub awaited_entry: u64,
    /// The awaited one before, where the act changed or emptied it.
    pub awaiting_was: Option<Awaiting>,
    /// The idempotency key that it came under.
    pub key: Option<KeyUse>,
}

impl Act {
    /// The message, if the act is one.
    pub fn message(&self) -> Option<&Message> {
        match &self.change {
            Change::Message(message) => Some(message),
            Change::Mark | Change::Assert(_) | Change::Attest(..) | Change::Refute(..) => None,
        }
    }

    /// The claims changed: the one made, attested or refuted first, then those superseded.
    pub fn claims(&self) -> impl Iterator<Item = ClaimId> + '_ {
        let (one, more): (Option<ClaimId>, &[ClaimId]) = match &self.change {
            Change::Assert(claim) => (Some(claim.id), &claim.supersedes),
            Change::Attest(claim, _) | Change::Refute(claim, _) => (Some(*claim), &[]),
            Change::Message(_) | Change::Mark => (None, &[]),
        };
        one.into_iter().chain(more.iter().copied())
    }

    /// The claims changed, in their state after the act, in the order of [`Act::claims`]. `find`
    /// gives the state of a claim before it; a claim that it does not know is left out.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn changed_claims<E>(
        &self,
        mut find: impl FnMut(ClaimId) -> Result<Option<Arc<Claim>>, E>,
    ) -> Result<Vec<Arc<Claim>>, E> {
        let mut changed = Vec::new();
        let mut change = |id: ClaimId, change: &dyn Fn(&mut Claim)| -> Result<(), E> {
            if let Some(mut claim) = find(id)? {
                change(Arc::make_mut(&mut claim));
                changed.push(claim);
            }
            Ok(())
        };
        match &self.change {
            Change::Assert(claim) => {
                for old in &claim.supersedes {
                    change(*old, &|old| {
                        old.status = ClaimStatus::Superseded;
                        old.superseded_by = Some(claim.id);
                    })?;
                }
                changed.insert(0, Arc::new((**claim).clone()));
            }
            Change::Attest(id, attestation) => change(*id, &|claim| {
                claim.status = match (attestation.seal, claim.status) {
                    (true, _) | (false, ClaimStatus::Verified) => ClaimStatus::Verified,
                    (false, _) => ClaimStatus::Supported,
                };
                claim.attestations.push(attestation.clone());
            })?,
            Change::Refute(id, refutation) => change(*id, &|claim| {
                claim.status = ClaimStatus::Refuted;
                claim.refutation = Some(refutation.clone());
            })?,
            Change::Message(_) | Change::Mark => {}
        }
        Ok(changed)
    }

    /// The last slot that this act fills; 0 if it fills none but its own.
    pub fn last_slot(&self) -> u64 {
        if self.awaiting_was.is_some() {
            return slot::SETTLED;
        }
        if self.awaiting_set {
            return slot::AWAITING;
        }
        let claims = self.claims().count() as u64;
        if claims > 0 {
            return slot::CLAIMS + claims - 1;
        }
        if self.event.is_some() { slot::EVENT } else { slot::MESSAGE }
    }
}
