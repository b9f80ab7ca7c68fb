//! Claims of the profile `dialectic` (parley.md §8): proof over votes.

use serde::{Deserialize, Serialize};

use crate::artifact::Identifier;
use crate::identity::{AuthorKind, Participant};
use crate::ids::{ClaimId, ThreadId};
use crate::limits::{COMMIT_MAX, COMMIT_MIN, HEX_256, HEX_512};
use crate::time::Millis;

words! {
    /// The kind of thing that the `ref` of a piece of evidence points at.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum EvidenceKind {
        /// An absolute http or https URL.
        Url = "url",
        /// `<algorithm>:<hex>`.
        Hash = "hash",
        /// An artifact's identifier.
        Artifact = "artifact",
        /// A commit, [`COMMIT_MIN`] to [`COMMIT_MAX`] lowercase hex digits.
        Commit = "commit",
        /// A log.
        Log = "log",
        /// Something that shows it again.
        Reproducer = "reproducer",
        /// A remark; no proof alone.
        Note = "note",
        /// Anything else; no proof alone.
        Other = "other",
    }
}

impl EvidenceKind {
    /// Whether a piece of this kind may stand alone as proof.
    pub fn proves(self) -> bool {
        !matches!(self, Self::Note | Self::Other)
    }

    /// Whether `text` has the form that this kind of `ref` has, where there is one.
    pub fn admits(self, text: &str) -> bool {
        match self {
            Self::Url => is_web_url(text),
            Self::Hash => match text.split_once(':') {
                Some(("sha256" | "blake3", hex)) => is_lower_hex(hex, HEX_256, HEX_256),
                Some(("sha512", hex)) => is_lower_hex(hex, HEX_512, HEX_512),
                _ => false,
            },
            Self::Artifact => text.parse::<Identifier>().is_ok(),
            Self::Commit => is_lower_hex(text, COMMIT_MIN, COMMIT_MAX),
            Self::Log | Self::Reproducer | Self::Note | Self::Other => true,
        }
    }
}

fn is_lower_hex(text: &str, min: usize, max: usize) -> bool {
    (min..=max).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// An absolute http or https URL with a host, to RFC 3986 and to the WHATWG URL standard alike.
fn is_web_url(text: &str) -> bool {
    let Ok(uri) = fluent_uri::Uri::parse(text) else { return false };
    let is_web = ["http", "https"].iter().any(|it| uri.scheme().as_str().eq_ignore_ascii_case(it));
    let has_host = uri.authority().is_some_and(|authority| !authority.host().is_empty());
    is_web && has_host && url::Url::parse(text).is_ok_and(|url| url.has_host())
}

/// A pointer, never an opinion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The kind of its target.
    pub kind: EvidenceKind,
    /// Its target, in the form of the kind.
    pub reference: Box<str>,
    /// A remark of at most [`crate::limits::NOTE_MAX`] characters.
    pub note: Option<Box<str>>,
}

/// Whether `evidence` proves anything (parley.md §8: `note` and `other` never stand alone).
pub fn proves(evidence: &[Evidence]) -> bool {
    evidence.iter().any(|piece| piece.kind.proves())
}

words! {
    /// The status of a claim. `refuted` and `superseded` are final.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum ClaimStatus {
        /// Asserted, nothing more.
        Unverified = "unverified",
        /// Attested with proof by another identity.
        Supported = "supported",
        /// Sealed by a verifier.
        Verified = "verified",
        /// Refuted with proof.
        Refuted = "refuted",
        /// Replaced by a newer claim.
        Superseded = "superseded",
    }
}

/// Support with proof; with `seal` the verifier's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    /// The attesting participant.
    pub by: Participant,
    /// The time of it.
    pub at: Millis,
    /// The proof.
    pub evidence: Vec<Evidence>,
    /// Whether it is the seal.
    pub seal: bool,
}

/// A proven refutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refutation {
    /// The refuting participant.
    pub by: Participant,
    /// The time of it.
    pub at: Millis,
    /// The proof.
    pub evidence: Vec<Evidence>,
}

/// A claim in its present state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its identifier.
    pub id: ClaimId,
    /// The thread it lives in.
    pub thread: ThreadId,
    /// The statement.
    pub statement: Box<str>,
    /// The claiming participant.
    pub author: Participant,
    /// Human or model.
    pub author_kind: AuthorKind,
    /// The time of it.
    pub created_at: Millis,
    /// Its status.
    pub status: ClaimStatus,
    /// When it expires.
    pub valid_until: Option<Millis>,
    /// The evidence given with it.
    pub evidence: Vec<Evidence>,
    /// In order.
    pub attestations: Vec<Attestation>,
    /// At most one, final.
    pub refutation: Option<Refutation>,
    /// The claims that it replaced.
    pub supersedes: Vec<ClaimId>,
    /// The claim that replaced it.
    pub superseded_by: Option<ClaimId>,
}

impl Claim {
    /// Whether `valid_until` has passed at `now`.
    pub fn expired(&self, now: Millis) -> bool {
        self.valid_until.is_some_and(|until| until <= now)
    }

    /// Whether the status is final.
    pub fn is_settled(&self) -> bool {
        matches!(self.status, ClaimStatus::Refuted | ClaimStatus::Superseded)
    }
}
