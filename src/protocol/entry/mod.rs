//! What happened: the only thing stored and sent. One act is one entry; its place in the
//! instance's one order is the cursor (parley.md §7).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::act::Kind;
use crate::claim::{Attestation, Claim, Refutation};
use crate::identity::{AuthorKind, Participant};
use crate::ids::{ClaimId, EventId, MessageId, ThreadId};
use crate::refusal::StoredRefusal;
use crate::state::{Origin, State};
use crate::time::Millis;

/// The version of the encoding, the first byte of every stored entry.
pub const ENTRY_VERSION: u8 = 1;

/// `provenance` of an envelope, each at most 128 characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The model, as the sender names it.
    pub model: Option<Box<str>>,
    /// The client, as the sender names it.
    pub client: Option<Box<str>>,
}

/// Who is due.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Due {
    /// Anyone but the participant that asked.
    Anyone,
    /// Exactly this one.
    Participant(Participant),
}

/// The one open turn of a thread (parley.md §4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaiting {
    /// The message that waits for a reply.
    pub message: MessageId,
    /// Who asked: its author, who is never due on it.
    pub asker: Participant,
    /// Who is due.
    pub due: Due,
    /// When it was set last: the time of the act that named the message.
    pub since: Millis,
}

impl Awaiting {
    /// Whether `participant` may give the reply that is awaited (parley.md §7, inbox): as the bare
    /// line it sees also what is due to any extension of the line, and the questions to anyone
    /// that its extensions asked. `anyone` false leaves out the questions to anyone.
    pub fn concerns(&self, participant: &Participant, anyone: bool) -> bool {
        match &self.due {
            Due::Anyone => anyone && self.asker != *participant,
            Due::Participant(due) => {
                due.identity == participant.identity
                    && (participant.extension.is_none() || due.extension == participant.extension)
            }
        }
    }
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
    /// Who set it.
    pub origin: Origin,
    /// Whether it is confirmed.
    pub confirmed: bool,
    /// `KI · <label>` if it is confirmed by virtue of `lock`.
    pub label: Option<Arc<str>>,
    /// The reason given.
    pub reason: Option<Box<str>>,
}

/// How a message was taken back (parley.md §3.3): what is shown of it from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retraction {
    /// Who took it back.
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

/// What an act does in its thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A speech act.
    Message(Message),
    /// A mark, confirmation or reopening: the act's event says which.
    Mark,
    /// A new claim, as created.
    Assert(Box<Claim>),
    /// An attestation or a seal.
    Attest(ClaimId, Attestation),
    /// A refutation.
    Refute(ClaimId, Refutation),
}

/// One act in one thread: what `admit` lets happen and `apply` makes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// The thread.
    pub thread: ThreadId,
    /// Its place among the acts of the thread, from 0.
    pub seq: u64,
    /// When; never before the act before it in the thread.
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
            _ => None,
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

/// How an idempotency key was used (bindings.md §1): digests, never the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    /// Digest of identity and key.
    pub key: [u8; 16],
    /// Digest of operation and arguments as parsed.
    pub content: [u8; 16],
}

/// The outcome of a write that changed nothing and came under an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredOutcome {
    /// A mark or confirmation that found the state set already; the thread.
    Unchanged(ThreadId),
    /// The same artifact was there already; its identifier and what it answered.
    Published(Box<[u8]>),
    /// A refusal.
    Refused(StoredRefusal),
}

/// An artifact published (artifacts.md §4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// SHA-256 of the canonical bytes without `artifact_id`.
    pub id: [u8; 32],
    /// When.
    pub at: Millis,
    /// The canonical bytes with `artifact_id`.
    pub bytes: Box<[u8]>,
    /// The artifacts referred to, each once, in order.
    pub references: Vec<[u8; 32]>,
    /// `artifact_type`.
    pub kind: Box<str>,
    /// `extensions["parley/1"].thread`, if a well-formed identifier stands there.
    pub thread: Option<ThreadId>,
    /// The idempotency key that it came under, and the answer to give again: JSON.
    pub key: Option<(KeyUse, Box<[u8]>)>,
}

/// What the journal holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// An act in a thread.
    Act(Box<Act>),
    /// An artifact.
    Artifact(Box<Published>),
    /// Nothing but what must be answered again.
    Outcome(Millis, KeyUse, StoredOutcome),
}

impl Entry {
    /// When it happened.
    pub fn at(&self) -> Millis {
        match self {
            Self::Act(act) => act.at,
            Self::Artifact(artifact) => artifact.at,
            Self::Outcome(at, ..) => *at,
        }
    }

    /// The key that it came under.
    pub fn key(&self) -> Option<&KeyUse> {
        match self {
            Self::Act(act) => act.key.as_ref(),
            Self::Artifact(artifact) => artifact.key.as_ref().map(|(key, _)| key),
            Self::Outcome(_, key, _) => Some(key),
        }
    }

    /// The act, if it is one.
    pub fn act(&self) -> Option<&Act> {
        match self {
            Self::Act(act) => Some(act),
            _ => None,
        }
    }

    /// The stored form: the version, then postcard.
    pub fn encode(&self, into: Vec<u8>) -> Vec<u8> {
        let mut bytes = into;
        bytes.push(ENTRY_VERSION);
        postcard::to_extend(self, bytes).expect("an entry serializes into memory")
    }

    /// Reads the stored form; `None` if the version is another or the bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        if *version != ENTRY_VERSION {
            return None;
        }
        let (entry, after) = postcard::take_from_bytes(rest).ok()?;
        after.is_empty().then_some(entry)
    }
}

/// The places within one entry: position = entry × 16 + slot.
pub mod slot {
    /// Positions of one entry.
    pub const COUNT: u64 = 16;
    /// The message.
    pub const MESSAGE: u64 = 0;
    /// The event.
    pub const EVENT: u64 = 1;
    /// The first of up to nine claims.
    pub const CLAIMS: u64 = 2;
    /// The thread now waits for the listener.
    pub const AWAITING: u64 = 11;
    /// The turn has left the listener.
    pub const SETTLED: u64 = 12;
    /// After all that the entry caused.
    pub const END: u64 = 15;

    const _: () = assert!(CLAIMS + 1 + crate::limits::SUPERSEDES_MAX as u64 <= AWAITING);
}

/// A place in the instance's one order. Cursors are made of these.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position(pub u64);

impl Position {
    /// The place `slot` of the entry numbered `entry`.
    pub fn of(entry: u64, slot: u64) -> Self {
        Self(entry * slot::COUNT + slot)
    }

    /// The place after everything that the entry numbered `entry` caused.
    pub fn after(entry: u64) -> Self {
        Self::of(entry, slot::END)
    }

    /// The number of the entry.
    pub fn entry(self) -> u64 {
        self.0 / slot::COUNT
    }
}
