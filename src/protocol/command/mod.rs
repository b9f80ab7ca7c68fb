//! Commands: the writes on one thread, as read. They are well-formed;
//! [`crate::thread::Thread::admit`] decides whether they take effect.

mod call;
mod language;
mod query;

pub use call::{Call, ReadCall};
pub use language::{Language, ManifestPart};
pub use query::{ArtifactQuery, InboxQuery, PageQuery, ThreadOrder, ThreadQuery};

use std::sync::Arc;

use crate::act::Kind;
use crate::claim::Evidence;
use crate::entry::Provenance;
use crate::ids::{ClaimId, MessageId, ThreadId};
use crate::refusal::{Refusal, Result};
use crate::state::State;
use crate::time::Millis;

/// The input of `post_message` (parley.md §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The act.
    pub kind: Kind,
    /// The thread; `None` only for an `ask` that opens one.
    pub thread: Option<ThreadId>,
    /// The parent as given.
    pub parent: Option<MessageId>,
    /// `from.extension`.
    pub extension: Option<Arc<str>>,
    /// The body, exactly as sent.
    pub body: Box<str>,
    /// `provenance`, if any was given.
    pub provenance: Option<Provenance>,
}

/// A mark, a confirmation or a reopening (bindings.md §3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The state set, or confirmed; `open` for a reopening.
    pub state: State,
    /// The reason given.
    pub reason: Option<Box<str>>,
    /// `from.extension`.
    pub extension: Option<Arc<str>>,
}

/// A new claim (parley.md §8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The statement, as a body.
    pub statement: Box<str>,
    /// Optional here.
    pub evidence: Vec<Evidence>,
    /// The claims replaced, each once, at most [`crate::limits::SUPERSEDES_MAX`].
    pub supersedes: Vec<ClaimId>,
    /// When the claim expires.
    pub valid_until: Option<Millis>,
    /// `from.extension`.
    pub extension: Option<Arc<str>>,
}

/// An attestation, a seal or a refutation of a claim (parley.md §8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimProof {
    /// The claim.
    pub claim: ClaimId,
    /// At least one piece that proves something.
    pub evidence: Vec<Evidence>,
    /// Whether an attestation is the verifier's seal.
    pub seal: bool,
    /// `from.extension`.
    pub extension: Option<Arc<str>>,
}

/// A write on one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `post_message`.
    Post(Envelope),
    /// `mark_thread`.
    Mark(Mark),
    /// `confirm_thread`.
    Confirm(Mark),
    /// `reopen_thread`.
    Reopen(Mark),
    /// `assert_claim`.
    Assert(Assertion),
    /// `attest_claim`.
    Attest(ClaimProof),
    /// `refute_claim`.
    Refute(ClaimProof),
}

impl Command {
    /// The extension that acts.
    pub fn extension(&self) -> Option<&Arc<str>> {
        match self {
            Self::Post(envelope) => envelope.extension.as_ref(),
            Self::Mark(mark) | Self::Confirm(mark) | Self::Reopen(mark) => mark.extension.as_ref(),
            Self::Assert(assertion) => assertion.extension.as_ref(),
            Self::Attest(proof) | Self::Refute(proof) => proof.extension.as_ref(),
        }
    }

    /// Judges the times of a command that came under an idempotency key (parley.md §8): a known key
    /// gives its first outcome, though a time has passed meanwhile.
    ///
    /// # Errors
    /// 400 `invalid_body`.
    pub fn check_time(&self, now: Millis) -> Result<()> {
        if let Self::Assert(Assertion { valid_until: Some(until), .. }) = self
            && *until <= now
        {
            return Err(Refusal::past("valid_until", now));
        }
        Ok(())
    }
}
