//! The profile `dialectic` as tables (parley.md §8).

use parley_protocol::claim::{Claim, ClaimStatus, Evidence, EvidenceKind, proves};
use parley_protocol::entry::Change;
use parley_protocol::refusal::Refusal;

use super::sheet::{self, Case};
use crate::harness::ThreadHarness;
use crate::notation;
use crate::scenario::{self, play, read};

fn claims(harness: &ThreadHarness) -> Vec<Claim> {
    harness.opened().claims().map(|claim| (**claim).clone()).collect()
}

/// What the act makes of the claims of the thread played, and the refusal if it is refused.
fn perform(Case { place, play: text, act, .. }: &Case) -> (Vec<Claim>, Option<Refusal>) {
    let (before, mut harness) = (play(text), play(text));
    let (principal, command) = read(&harness, act);
    let outcome = harness.act(&principal, &command);
    let (old, new) = (claims(&before), claims(&harness));
    let made = match outcome {
        Err(refusal) => {
            assert_eq!(before.opened(), harness.opened(), "{place}: nothing may change");
            return (new, Some(refusal));
        }
        Ok(act) => act.unwrap_or_else(|| panic!("{place}: a claim operation changes something")),
    };
    assert_eq!(made.event, None, "{place}: no state changes");
    assert_eq!(harness.opened().summary().awaiting, before.opened().summary().awaiting, "{place}");
    assert_eq!(harness.opened().summary().updated_at, made.at, "{place}: updated_at moves");
    let me = principal.participant(command.extension());
    match &made.change {
        Change::Assert(_) => {
            let newest = new.last().expect("just made");
            assert_eq!((new.len(), &newest.author), (old.len() + 1, &me), "{place}");
            assert!(old.iter().all(|old| old.id < newest.id), "{place}: identifiers rise");
            for (was, is) in old.iter().zip(&new) {
                let replaced = newest.supersedes.contains(&was.id);
                assert_eq!(is.superseded_by == Some(newest.id), replaced, "{place}");
                assert_eq!(is.attestations, was.attestations, "{place}");
                assert_eq!(is.refutation, was.refutation, "{place}");
            }
        }
        Change::Attest(id, attestation) => {
            let changed = new.iter().find(|claim| claim.id == *id).expect("it is there");
            let last = changed.attestations.last();
            assert_eq!(last, Some(attestation), "{place}: added at the end");
            assert_eq!((&attestation.by, attestation.at), (&me, made.at), "{place}");
            assert_eq!(attestation.seal, act.contains("seal"), "{place}");
        }
        Change::Refute(id, refutation) => {
            let changed = new.iter().find(|claim| claim.id == *id).expect("it is there");
            assert_eq!(changed.refutation.as_ref(), Some(refutation), "{place}");
            assert_eq!((&refutation.by, refutation.at), (&me, made.at), "{place}");
        }
        other => panic!("{place}: {other:?}"),
    }
    (new, None)
}

/// Goal: every operation on every status by everyone does what the page says. Method: grids, a
/// play above each, the act made of a row and a column; every cell is filled.
#[test]
fn grids() {
    sheet::hold(&sheet::cases(include_str!("claims.txt")), 500, |case| {
        let (claims, refused) = perform(case);
        let status = claims[0].status.as_str();
        refused.map_or(status, |refusal| sheet::short(refusal.reason)).to_owned()
    });
}

/// Goal: order of checks, several claims at once, seals, `valid_until` and limits. Method: a row
/// a case, with the status of every claim afterwards.
#[test]
fn rows() {
    sheet::hold(&sheet::rows(include_str!("dialectic.txt")), 60, |case| {
        let (claims, refused) = perform(case);
        let statuses = claims.iter().map(|claim| claim.status.as_str()).collect::<Vec<_>>();
        refused.as_ref().map_or(statuses.join(" "), scenario::refusal)
    });
}

/// Goal: `note` and `other` never stand alone as proof. Method: every set of at most two kinds.
#[test]
fn proof() {
    let piece =
        |kind| Evidence { kind, reference: "0123abc".into(), note: Some("it says so".into()) };
    assert!(!proves(&[]), "nothing is no proof");
    let remark = |kind| matches!(kind, EvidenceKind::Note | EvidenceKind::Other);
    for one in EvidenceKind::ALL {
        assert_eq!(proves(&[piece(one)]), !remark(one), "{one:?}");
        for other in EvidenceKind::ALL {
            let want = !(remark(one) && remark(other));
            assert_eq!(proves(&[piece(one), piece(other)]), want, "{one:?} {other:?}");
        }
    }
}

/// Goal: `ref` has the form of its kind where there is one. Method: good ones and bad ones of each
/// kind, apart by commas, in the notation of `notation::bytes`.
#[test]
fn reference_forms() {
    for (kind, good, bad) in [
        (
            EvidenceKind::Url,
            "https://example.org, http://example.org/a?b=c#d, HTTPS://example.org/, \
             http://[::1]:8080/, http://user:word@example.org:80",
            "ftp://example.org/, //example.org/, /a/b, example.org, http:example.org, http://, \
             http:///path, http://:80/, http://?a, http://user@/, http://example.org/a b, \
             http://example.org/\u{a0},  http://example.org/, http://example.org:port/",
        ),
        (
            EvidenceKind::Hash,
            "sha256:<0a*32>, blake3:<0a*32>, sha512:<0a*64>",
            "sha512:<0a*32>, sha256:<0a*31>0, sha256:<0a*32>0, sha256:<0A*32>, SHA256:<0a*32>, \
             md5:<0a*16>, <0a*32>",
        ),
        (EvidenceKind::Artifact, "sha256:<0a*32>", "blake3:<0a*32>, sha256:<0A*32>, <0a*32>"),
        (EvidenceKind::Commit, "0123456, <0a*20>, <0a*32>", "012345, <0a*32>0, 0123ABC, 012345g"),
        (EvidenceKind::Log, "anything at all", ""),
        (EvidenceKind::Reproducer, "run it", ""),
        (EvidenceKind::Note, "a word", ""),
        (EvidenceKind::Other, "a word", ""),
    ] {
        for (list, want) in [(good, true), (bad, false)] {
            for text in list.split(", ").filter(|text| !text.is_empty()) {
                let text = String::from_utf8(notation::bytes(text)).expect("text");
                assert_eq!(kind.admits(&text), want, "{kind:?} {text}");
            }
        }
    }
}

/// Goal: the five statuses by their words. Method: there and back.
#[test]
fn words() {
    let words = ClaimStatus::ALL.map(ClaimStatus::as_str);
    assert_eq!(words, ["unverified", "supported", "verified", "refuted", "superseded"]);
    assert!(
        ClaimStatus::ALL.iter().all(|status| ClaimStatus::parse(status.as_str()) == Some(*status))
    );
}
