//! Claims of the profile `dialectic` (parley.md §8): proof over votes.

use std::sync::Arc;

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

/// A claim in its present state. A copy shares the texts and the attestations with its original,
/// so that the states of a claim before and after an attestation cost one attestation more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its identifier.
    pub id: ClaimId,
    /// The thread it lives in.
    pub thread: ThreadId,
    /// The statement.
    pub statement: Arc<str>,
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
    pub evidence: Arc<[Evidence]>,
    /// In order.
    pub attestations: Vec<Arc<Attestation>>,
    /// At most one, final.
    pub refutation: Option<Arc<Refutation>>,
    /// The claims that it replaced.
    pub supersedes: Vec<ClaimId>,
    /// The claim that replaced it.
    pub superseded_by: Option<ClaimId>,
}

impl Claim {
    /// Bytes of its stored form, about: what it weighs where memory is bounded.
    pub fn weight(&self) -> usize {
        crate::entry::encoded_len(self)
    }

    /// Whether `valid_until` has passed at `now`.
    pub fn expired(&self, now: Millis) -> bool {
        self.valid_until.is_some_and(|until| until <= now)
    }

    /// Whether the status is final.
    pub fn is_settled(&self) -> bool {
        matches!(self.status, ClaimStatus::Refuted | ClaimStatus::Superseded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: `k` states of a claim, one after each attestation, cost `k` attestations and not their
    /// square. Method: each state is a copy of the one before; it shares what that one had.
    #[test]
    fn copies_share() {
        let by = Participant { identity: "local:ada".into(), extension: None };
        let piece = || Evidence {
            kind: EvidenceKind::Log,
            reference: "x".repeat(60_000).into(),
            note: None,
        };
        let mut states = vec![Claim {
            id: ClaimId(1),
            thread: ThreadId(1),
            statement: "It holds.".into(),
            author: by.clone(),
            author_kind: AuthorKind::Llm,
            created_at: Millis(1),
            status: ClaimStatus::Unverified,
            valid_until: None,
            evidence: [piece()].into(),
            attestations: Vec::new(),
            refutation: None,
            supersedes: Vec::new(),
            superseded_by: None,
        }];
        for at in 1..=32 {
            let before = states.last().expect("there is a first");
            let mut next = before.clone();
            let (by, evidence) = (by.clone(), vec![piece()]);
            next.attestations
                .push(Attestation { by, at: Millis(at), evidence, seal: false }.into());
            assert!(Arc::ptr_eq(&next.evidence, &before.evidence));
            let mut shared = next.attestations.iter().zip(&before.attestations);
            assert!(shared.all(|(one, other)| Arc::ptr_eq(one, other)));
            assert!(next.weight() > before.weight() + 60_000, "yet each is weighed whole");
            states.push(next);
        }
    }
}
