//! The Claim object.

use super::{JsonBuffer, array, id, option, participant, text, time, truth, word};
use crate::claim::{Attestation, Claim, Evidence, Refutation};
use crate::time::Millis;

/// The Claim; `now` decides whether it has expired.
pub fn claim(out: &mut JsonBuffer, claim: &Claim, now: Millis) {
    object!(out;
        "id": id(claim.id),
        "thread": id(claim.thread),
        "statement": text(&claim.statement),
        "author": participant(&claim.author),
        "author_kind": word(claim.author_kind.as_str()),
        "created_at": time(claim.created_at),
        "status": word(claim.status.as_str()),
        "expired": truth(claim.expired(now)),
        "valid_until": option(claim.valid_until, time),
        "evidence": array(&*claim.evidence, evidence),
        "attestations": array(claim.attestations.iter().map(AsRef::as_ref), attestation),
        "refutation": option(claim.refutation.as_deref(), refutation),
        "supersedes": array(&claim.supersedes, id),
        "superseded_by": option(claim.superseded_by, id),
    );
}

fn evidence(out: &mut JsonBuffer, evidence: &Evidence) {
    object!(out;
        "kind": word(evidence.kind.as_str()),
        "ref": text(&evidence.reference),
        "note": option(evidence.note.as_deref(), text),
    );
}

fn attestation(out: &mut JsonBuffer, attestation: &Attestation) {
    object!(out;
        "by": participant(&attestation.by),
        "at": time(attestation.at),
        "evidence": array(&attestation.evidence, evidence),
        "seal": truth(attestation.seal),
    );
}

fn refutation(out: &mut JsonBuffer, refutation: &Refutation) {
    object!(out;
        "by": participant(&refutation.by),
        "at": time(refutation.at),
        "evidence": array(&refutation.evidence, evidence),
    );
}
