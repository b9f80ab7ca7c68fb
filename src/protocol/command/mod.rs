//! What a caller may ask of a thread, as read: one enum. Everything here is well-formed already;
//! whether it may happen is for [`crate::thread::Thread::admit`].

use std::sync::Arc;

use crate::act::Kind;
use crate::claim::Evidence;
use crate::entry::Provenance;
use crate::ids::{ClaimId, MessageId, ThreadId};
use crate::state::State;
use crate::time::Millis;

/// What `post_message` takes (parley.md §2).
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

/// What a caller asks of one thread.
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
}

/// The order of `list_threads`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadOrder {
    /// By creation, oldest first.
    #[default]
    Created,
    /// By last change, oldest first.
    Updated,
    /// By creation, newest first.
    CreatedDescending,
    /// By last change, newest first.
    UpdatedDescending,
}

impl ThreadOrder {
    /// All four, in the order of the page.
    pub const ALL: [Self; 4] =
        [Self::Created, Self::Updated, Self::CreatedDescending, Self::UpdatedDescending];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::CreatedDescending => "-created",
            Self::UpdatedDescending => "-updated",
        }
    }

    /// The order of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == word)
    }
}

/// What `list_threads` selects and how it pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those of this identity.
    pub creator: Option<Box<str>>,
    /// Only those that await a reply, or none.
    pub awaiting: Option<bool>,
    /// Only those that are locked, or are not.
    pub locked: Option<bool>,
    /// The order.
    pub order: ThreadOrder,
    /// The page.
    pub page: PageQuery,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// The cursor as given; judged by whoever gave it.
    pub cursor: Option<Box<str>>,
    /// Items at most; `None` is the default page.
    pub limit: Option<u64>,
}

/// What `read_inbox` asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxQuery {
    /// The participant's extension; `None` is the bare line.
    pub extension: Option<Arc<str>>,
    /// `since` and `limit`.
    pub page: PageQuery,
    /// Seconds to be held back while nothing is new.
    pub wait_seconds: u64,
    /// Whether questions to anyone are in it.
    pub anyone: bool,
}

/// What `list_artifacts` selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactQuery {
    /// Only those of this type.
    pub kind: Option<Box<str>>,
    /// Only those that refer to this one.
    pub references: Option<[u8; 32]>,
    /// Only those published with this thread in `extensions["parley/1"]`.
    pub thread: Option<ThreadId>,
    /// The page.
    pub page: PageQuery,
}

/// The language of the manifest's prose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// German.
    De,
    /// French.
    Fr,
}

impl Language {
    /// All three.
    pub const ALL: [Self; 3] = [Self::En, Self::De, Self::Fr];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Fr => "fr",
        }
    }

    /// The language of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == word)
    }
}

/// One call of one operation of bindings.md §3 or artifacts.md §4, well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `get_manifest`.
    GetManifest(Language),
    /// The writes of threads and claims. The thread is `None` for an `ask` that opens one, and
    /// for `attest_claim` and `refute_claim`, whose claim names it.
    Write(Option<ThreadId>, Command),
    /// `list_threads`.
    ListThreads(ThreadQuery),
    /// `read_thread` as a tree.
    ReadTree(ThreadId),
    /// `read_thread` flat; the page's cursor is `since`.
    ReadFlat(ThreadId, PageQuery),
    /// `read_events`.
    ReadEvents(ThreadId, PageQuery),
    /// `read_inbox`.
    ReadInbox(InboxQuery),
    /// `read_claim`.
    ReadClaim(ClaimId),
    /// `list_claims`, of one status or all.
    ListClaims(ThreadId, Option<crate::claim::ClaimStatus>, PageQuery),
    /// `publish_artifact`: the artifact's bytes.
    PublishArtifact(Box<[u8]>),
    /// `read_artifact`.
    ReadArtifact([u8; 32]),
    /// `list_artifacts`.
    ListArtifacts(ArtifactQuery),
    /// `verify_closure`, strict or literal.
    VerifyClosure([u8; 32], bool),
    /// `export_thread`, a page of it.
    ExportThread(ThreadId, PageQuery),
}
