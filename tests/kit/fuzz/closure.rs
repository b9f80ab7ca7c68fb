//! Closures of small graphs, honest and dishonest, against the second implementation. The bytes
//! draw the graph: how many artifacts, of which type, what each refers to and says.

use std::convert::Infallible;

use parley_protocol::artifact::closure::{self, ArtifactStore, VerifyOptions};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::{ClosureReport, Identifier, ViolationClass};
use serde_json::{Value, json};

use parley_naive::naive;
use parley_naive::naive_closure::{self, Outcome};

use super::Taps;

/// Artifacts of a graph at most.
const ARTIFACTS_MAX: usize = 14;

/// A collection that may know an order.
struct Ordered<'a> {
    collection: &'a Collection,
    naive: &'a naive_closure::Store,
}

impl ArtifactStore for Ordered<'_> {
    type Error = Infallible;

    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>, Infallible> {
        self.collection.load(id)
    }

    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>, Infallible> {
        self.collection.objections_to(id)
    }

    fn order(&self, id: &Identifier) -> Result<Option<u64>, Infallible> {
        Ok(self.naive.order.get(&id.to_string()).copied())
    }
}

/// What a report says, as the second implementation says it.
fn outcome(report: &ClosureReport) -> Outcome {
    let is_cycle = |class| class == ViolationClass::ReferenceCycle;
    let failures = report.failures.iter();
    let named = failures.clone().map(|it| (it.class.as_str(), it.artifact_id.to_string()));
    Outcome {
        failures: named.collect(),
        later: report.later_objections.iter().map(|it| it.artifact_id.to_string()).collect(),
        objections: report.objections.iter().map(|it| it.artifact_id.to_string()).collect(),
        artifact_count: report.artifact_count,
        depth: (!failures.clone().any(|it| is_cycle(it.class))).then_some(report.depth),
    }
}

/// Both implementations say the same of targets in a store, strictly and literally.
pub fn agree(collection: &Collection, naive: &naive_closure::Store, targets: &[String]) {
    let ids: Vec<Identifier> =
        targets.iter().map(|id| id.parse().expect("an identifier")).collect();
    let store = Ordered { collection, naive };
    for options in [VerifyOptions::STRICT, VerifyOptions::LITERAL] {
        let Ok(report) = closure::verify(&store, &ids, options);
        let again: Vec<Identifier> = ids.iter().rev().copied().collect();
        let Ok(again) = closure::verify(&store, &again, options);
        assert_eq!(report, again, "the order of targets changes nothing");
        assert_eq!(report.ok, report.failures.is_empty());
        let want = naive.verify(targets, options.strict);
        let got = outcome(&report);
        let shown = || {
            let texts = naive.artifacts.values().map(|it| String::from_utf8_lossy(it));
            texts.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(got, want, "{options:?} {targets:?} {:?}\n{}", naive.order, shown());
    }
}

/// An identifier that no honest artifact has.
fn invented(number: usize) -> String {
    naive::identifier(json!({"invented": number}).to_string().as_bytes()).expect("canonical")
}

/// Type, payload and usual relation of an artifact.
fn kind(choice: usize, number: usize) -> (&'static str, Value, &'static str) {
    let decision = |status: &str| {
        json!({"outcome": "o", "status": status, "objection_dispositions": [],
               "unresolved_issues": [], "n": number})
    };
    let objection = |blocking: bool| json!({"statement": "s", "blocking": blocking, "n": number});
    let evidence = || json!({"content": "c", "provenance_class": "HYPOTHESIS", "n": number});
    let states = ["completed", "deadlock", "exhausted", "suspended"];
    match choice {
        0 => ("CLAIM", json!({"statement": "s", "n": number}), "considers"),
        1..=3 => ("OBJECTION", objection(true), "objects-to"),
        4 => ("OBJECTION", objection(false), "objects-to"),
        5..=7 => ("DECISION", decision("final"), "decides"),
        8 => ("DECISION", decision("provisional"), "decides"),
        9 => ("REVISION", json!({"statement": "s", "n": number}), "revises"),
        10 => ("EVIDENCE", evidence(), "supports"),
        state => {
            let state = states[(state - 11) % 4];
            ("TERMINATION", json!({"state": state, "n": number}), "considers")
        }
    }
}

/// What a decision says of the objections drawn so far.
fn settle(payload: &mut Value, taps: &mut Taps<'_>, ids: &[String]) {
    if payload.get("outcome").is_none() || ids.is_empty() {
        return;
    }
    let words = ["resolved", "overruled", "withdrawn", "open", "Resolved"];
    for _ in 0..taps.below(4) {
        let id = &ids[taps.below(ids.len())];
        let name = if taps.below(4) == 0 { "objection" } else { "artifact_id" };
        let item = json!({ name: id, "disposition": words[taps.below(words.len())] });
        payload["objection_dispositions"].as_array_mut().expect("an array").push(item);
    }
    for _ in 0..taps.below(3) {
        let id = &ids[taps.below(ids.len())];
        let item = if taps.below(2) == 0 { json!(id) } else { json!({ "artifact_id": id }) };
        payload["unresolved_issues"].as_array_mut().expect("an array").push(item);
    }
}

/// The target.
pub fn run(bytes: &[u8]) {
    let mut taps = Taps(bytes);
    let count = 1 + taps.below(ARTIFACTS_MAX);
    let is_ordered = taps.below(2) == 1;
    let (mut ids, mut texts) = (Vec::<String>::new(), Vec::new());
    for number in 0..count {
        let flags = taps.next();
        let (artifact_type, mut payload, relation) = kind(taps.below(15), number);
        let mut references = Vec::new();
        for _ in 0..taps.below(5) {
            let other = taps.below(ARTIFACTS_MAX);
            // What is not drawn yet has its identifier only if it will be a dishonest one.
            let id = ids.get(other).cloned().unwrap_or_else(|| invented(other));
            let relation = match taps.below(8) {
                0 => "considers",
                1 => "objects-to",
                _ => relation,
            };
            references.push(json!({"artifact_id": id, "relation": relation}));
        }
        settle(&mut payload, &mut taps, &ids);
        let mut artifact = json!({
            "protocol_version": "0.1",
            "artifact_type": artifact_type,
            "payload": payload,
            "references": references,
        });
        let own = naive::identifier(artifact.to_string().as_bytes()).expect("canonical");
        let is_dishonest = flags & 0b111 == 0b111;
        let id = if is_dishonest { invented(number) } else { own };
        artifact["artifact_id"] = id.clone().into();
        ids.push(id);
        texts.push((flags, artifact.to_string().into_bytes()));
    }
    let (mut collection, mut store) = (Collection::default(), naive_closure::Store::default());
    for (number, (id, (flags, text))) in ids.iter().zip(&texts).enumerate() {
        if flags & 0b111_0000 == 0b111_0000 {
            continue;
        }
        collection.add(text).expect("canonical, with an identifier");
        store.artifacts.insert(id.clone(), text.clone());
        if is_ordered {
            let is_last = flags & 0b1000 != 0;
            store.order.insert(id.clone(), number as u64 + u64::from(is_last) * 1_000);
        }
    }
    let mut targets = vec![ids[count - 1].clone()];
    for _ in 0..taps.below(3) {
        targets.push(ids[taps.below(count)].clone());
    }
    agree(&collection, &store, &targets);
}
