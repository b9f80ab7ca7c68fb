//! The Claim object.

use super::{JsonBuffer, array, id, option, participant, raw, text, time, truth, word};
use crate::claim::{Attestation, Claim, Evidence, Refutation};
use crate::time::Millis;

/// The Claim as it stands; `now` says whether it has expired.
pub fn claim(out: &mut JsonBuffer, claim: &Claim, now: Millis) {
    raw(out, "{\"id\":");
    id(out, claim.id);
    raw(out, ",\"thread\":");
    id(out, claim.thread);
    raw(out, ",\"statement\":");
    text(out, &claim.statement);
    raw(out, ",\"author\":");
    participant(out, &claim.author);
    raw(out, ",\"author_kind\":");
    word(out, claim.author_kind.as_str());
    raw(out, ",\"created_at\":");
    time(out, claim.created_at);
    raw(out, ",\"status\":");
    word(out, claim.status.as_str());
    raw(out, ",\"expired\":");
    truth(out, claim.expired(now));
    raw(out, ",\"valid_until\":");
    option(out, claim.valid_until, time);
    raw(out, ",\"evidence\":");
    array(out, &claim.evidence, evidence);
    raw(out, ",\"attestations\":");
    array(out, &claim.attestations, attestation);
    raw(out, ",\"refutation\":");
    option(out, claim.refutation.as_ref(), refutation);
    raw(out, ",\"supersedes\":");
    array(out, &claim.supersedes, id);
    raw(out, ",\"superseded_by\":");
    option(out, claim.superseded_by, id);
    out.push(b'}');
}

fn evidence(out: &mut JsonBuffer, evidence: &Evidence) {
    raw(out, "{\"kind\":");
    word(out, evidence.kind.as_str());
    raw(out, ",\"ref\":");
    text(out, &evidence.reference);
    raw(out, ",\"note\":");
    option(out, evidence.note.as_deref(), text);
    out.push(b'}');
}

fn attestation(out: &mut JsonBuffer, attestation: &Attestation) {
    raw(out, "{\"by\":");
    participant(out, &attestation.by);
    raw(out, ",\"at\":");
    time(out, attestation.at);
    raw(out, ",\"evidence\":");
    array(out, &attestation.evidence, evidence);
    raw(out, ",\"seal\":");
    truth(out, attestation.seal);
    out.push(b'}');
}

fn refutation(out: &mut JsonBuffer, refutation: &Refutation) {
    raw(out, "{\"by\":");
    participant(out, &refutation.by);
    raw(out, ",\"at\":");
    time(out, refutation.at);
    raw(out, ",\"evidence\":");
    array(out, &refutation.evidence, evidence);
    out.push(b'}');
}
