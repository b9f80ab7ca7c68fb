//! Closures near their limits.

use std::convert::Infallible;

use parley_protocol::artifact::closure::{self, VerifyOptions};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::{ClosureReport, Identifier};
use serde_json::json;

use super::{naive, named, unnamed};

/// The references that consider these.
fn considered(ids: &[Identifier]) -> Vec<(Identifier, &'static str)> {
    ids.iter().map(|id| (*id, "considers")).collect()
}

fn claim(number: usize, references: &[Identifier]) -> Vec<u8> {
    let payload = json!({"statement": format!("number {number}")});
    named(&unnamed("CLAIM", &payload, &considered(references)))
}

fn verify(collection: &Collection, target: Identifier, options: VerifyOptions) -> ClosureReport {
    let report: Result<ClosureReport, Infallible> = closure::verify(collection, &[target], options);
    let Ok(report) = report;
    report
}

/// A chain; the store, and the identifiers from the first to the last.
fn chain(length: usize) -> (Collection, Vec<Identifier>) {
    let mut collection = Collection::default();
    let mut ids: Vec<Identifier> = Vec::new();
    for number in 0..length {
        let bytes = claim(number, ids.last().map(std::slice::from_ref).unwrap_or_default());
        ids.push(collection.add(&bytes).expect("an artifact"));
    }
    (collection, ids)
}

/// A chain of 4 000 has its depth and needs no stack: verified from its end.
#[test]
fn a_chain_of_4000() {
    let (collection, ids) = chain(4_000);
    let report = verify(&collection, ids[3_999], VerifyOptions::STRICT);
    assert!(report.ok);
    assert_eq!((report.artifact_count, report.depth), (4_000, 3_999));
}

/// One cycle through 4 000 artifacts names each of them: a dishonest store closes a chain.
#[test]
fn a_cycle_of_4000() {
    let (mut collection, ids) = chain(4_000);
    collection.add_under(ids[0], &claim(4_000, &ids[3_999..]));
    let report = verify(&collection, ids[17], VerifyOptions::STRICT);
    let count =
        |class| report.failures.iter().filter(|failure| failure.class.as_str() == class).count();
    assert_eq!(count("reference_cycle"), 4_000);
    assert_eq!(count("artifact_identifier_mismatch"), 1);
    assert_eq!((report.artifact_count, report.depth), (4_000, 0));
}

/// An artifact with 256 references is admitted and followed, one with 257 is not: both
/// verified over a store that has all they name.
#[test]
fn a_fan_out_of_256() {
    let mut collection = Collection::default();
    let mut add = |bytes: Vec<u8>| collection.add(&bytes).expect("an artifact");
    let leaves: Vec<Identifier> = (0..257).map(|number| add(claim(number, &[]))).collect();
    let admitted = add(claim(257, &leaves[..256]));
    let refused = add(claim(258, &leaves));
    let report = verify(&collection, admitted, VerifyOptions::STRICT);
    assert_eq!((report.ok, report.artifact_count, report.depth), (true, 257, 1));
    let report = verify(&collection, refused, VerifyOptions::STRICT);
    assert!(!report.ok);
    let failure = &report.failures[0];
    assert_eq!((failure.class.as_str(), failure.artifact_id), ("limit_exceeded", refused));
    assert_eq!(failure.pointer, "");
}

/// One missing among 10 000 is found and named, and nothing else is said: a tree of claims
/// with one leaf left out of the store.
#[test]
fn one_missing_among_10000() {
    let mut collection = Collection::default();
    let mut layer: Vec<Identifier> = Vec::new();
    let mut missing = None;
    for number in 0..9_900 {
        let bytes = claim(number, &[]);
        if number == 4_321 {
            let id = naive::identifier(&bytes).expect("canonical");
            missing = id.parse().ok();
            layer.extend(missing);
        } else {
            layer.push(collection.add(&bytes).expect("an artifact"));
        }
    }
    let mut number = layer.len();
    while layer.len() > 1 {
        let chunks: Vec<&[Identifier]> = layer.chunks(100).collect();
        let parents = chunks.into_iter().enumerate().map(|(at, children)| {
            collection.add(&claim(number + at, children)).expect("an artifact")
        });
        layer = parents.collect();
        number += layer.len();
    }
    assert_eq!(number, 10_000);
    let report = verify(&collection, layer[0], VerifyOptions::STRICT);
    assert_eq!((report.ok, report.artifact_count), (false, 9_999));
    let [failure] = &report.failures[..] else { panic!("{} failures", report.failures.len()) };
    assert_eq!(failure.class.as_str(), "reference_unavailable");
    assert_eq!(Some(failure.artifact_id), missing);
}

/// At the limit a closure verifies, one artifact over it the report says so about the target
/// and nothing about a part: a chain under two bounds.
#[test]
fn limits_are_explicit() {
    let (collection, ids) = chain(50);
    let options = |artifacts_max| VerifyOptions { strict: true, artifacts_max };
    assert!(verify(&collection, ids[49], options(50)).ok);
    let report = verify(&collection, ids[49], options(49));
    assert!(!report.ok);
    let failures: Vec<_> =
        report.failures.iter().map(|it| (it.class.as_str(), it.artifact_id)).collect();
    assert_eq!(failures, [("limit_exceeded", ids[49])]);
}

/// A termination may refer to more final decisions than one walk has bits for: of 200, those
/// that hide the objection are found, and the one that does not lets the termination stand.
#[test]
fn more_decisions_than_bits() {
    let mut collection = Collection::default();
    let mut publish = |kind: &str, payload, references: &[(Identifier, &str)]| {
        collection.add(&named(&unnamed(kind, &payload, references))).expect("an artifact")
    };
    let claim = publish("CLAIM", json!({"statement": "s"}), &[]);
    let objection = json!({"statement": "s", "blocking": true});
    let objection = publish("OBJECTION", objection, &[(claim, "objects-to")]);
    let decision = |number: usize, issues: &[Identifier]| {
        json!({"outcome": format!("number {number}"), "status": "final",
            "objection_dispositions": [], "unresolved_issues": issues})
    };
    let decides = [(objection, "considers")];
    let hiding = (0..199).map(|number| publish("DECISION", decision(number, &[]), &decides));
    let hiding: Vec<Identifier> = hiding.collect();
    let naming = publish("DECISION", decision(199, &[objection]), &decides);
    let state = || json!({"state": "completed"});
    let without = publish("TERMINATION", state(), &considered(&hiding));
    let with = publish("TERMINATION", state(), &considered(&[&hiding[..], &[naming]].concat()));
    let classes = |target| {
        let report = verify(&collection, target, VerifyOptions::LITERAL);
        report.failures.iter().map(|it| it.class.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(classes(without), ["hidden_objection", "termination_without_decision"]);
    assert_eq!(classes(with), ["hidden_objection"]);
}
