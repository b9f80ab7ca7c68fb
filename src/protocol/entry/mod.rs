//! Entries: the only thing stored and sent. One act is one entry; its place in the instance's one
//! order is the cursor (parley.md §7).

mod act;
mod key;
mod position;
mod turn;

pub use act::{Act, Change, Event, Message, Provenance, Retraction};
pub use key::KeyUse;
pub use position::{Position, slot};
pub use turn::{Awaiting, Due};

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;
use crate::refusal::StoredRefusal;
use crate::time::Millis;

/// The version of the encoding, the first byte of every stored entry.
pub const ENTRY_VERSION: u8 = 1;

/// The outcome of a write that changed nothing and came under an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredOutcome {
    /// A mark or confirmation that found the state set already; the thread.
    Unchanged(ThreadId),
    /// The same artifact was there already; the answer, as JSON.
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
    /// `extensions["parley/1"].thread`, if it is a well-formed identifier.
    pub thread: Option<ThreadId>,
    /// The idempotency key that it came under, and the answer to give again: JSON.
    pub key: Option<(KeyUse, Box<[u8]>)>,
}

/// One element of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// An act in a thread.
    Act(Box<Act>),
    /// An artifact.
    Artifact(Box<Published>),
    /// A remembered outcome, without a change.
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
            Self::Artifact(_) | Self::Outcome(..) => None,
        }
    }

    /// The stored form: the version, then postcard.
    pub fn encode(&self, into: Vec<u8>) -> Vec<u8> {
        let mut bytes = into;
        bytes.push(ENTRY_VERSION);
        postcard::to_extend(self, bytes).expect("an entry serializes into memory")
    }

    /// Bytes of the stored form: what it weighs where memory is bounded.
    pub fn weight(&self) -> usize {
        1 + encoded_len(self)
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

/// Bytes that `value` takes when it is encoded; nothing is written.
pub(crate) fn encoded_len(value: &impl Serialize) -> usize {
    postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default())
        .expect("an entry serializes into memory")
}
