//! Closures, by table: each row draws a graph and says what its verification reports.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use parley_protocol::artifact::closure::{self, ArtifactStore, Candidate, VerifyOptions};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::{ClosureReport, Identifier};
use serde_json::{Value, json};

use super::{naive, unnamed};
use crate::notation;

const TABLE: &str = include_str!("closure.txt");

/// A store that has the order in which a row draws its artifacts, if it is to have one, and
/// counts how often it is asked for each.
#[derive(Default)]
struct Drawn {
    collection: Collection,
    order: BTreeMap<Identifier, u64>,
    loads: RefCell<BTreeMap<Identifier, u32>>,
}

impl ArtifactStore for Drawn {
    type Error = Infallible;

    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>, Infallible> {
        *self.loads.borrow_mut().entry(*id).or_default() += 1;
        self.collection.load(id)
    }

    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>, Infallible> {
        self.collection.objections_to(id)
    }

    fn order(&self, id: &Identifier) -> Result<Option<u64>, Infallible> {
        Ok(self.order.get(id).copied())
    }
}

/// An artifact as drawn: its bytes, and what the store shall do with it.
struct Artifact {
    name: String,
    bytes: Vec<u8>,
    is_stored: bool,
    is_last: bool,
}

/// A row's graph. Names stand for identifiers; one that is used and never drawn, or before it
/// is drawn, stands for an identifier that no honest artifact has.
#[derive(Default)]
struct Drawing {
    ids: BTreeMap<String, String>,
    artifacts: Vec<Artifact>,
}

impl Drawing {
    fn id(&mut self, name: &str) -> String {
        let invented = || naive::identifier(json!({"invented": name}).to_string().as_bytes());
        let id = || invented().expect("canonical");
        self.ids.entry(name.to_owned()).or_insert_with(id).clone()
    }

    /// `name=kind words…`; the words are `>x`, `~x` and `^x` (a reference, with the relation of
    /// the kind, `considers` or `objects-to`), `x:word` (a disposition), `?x` (an unresolved
    /// issue as a text), `!x` (one as an object). In front of the name, `-` leaves the
    /// artifact out of the store, `+` has it stored after all others, and `*` gives it an
    /// identifier that is not its own.
    fn draw(&mut self, text: &str) {
        let (head, rest) = text.split_once('=').expect("name=kind");
        let name = head.trim_start_matches(['-', '+', '*']).to_owned();
        let mut words = rest.split_whitespace();
        let (artifact_type, mut payload, relation) = kind(words.next().expect("a kind"));
        payload["drawn"] = name.clone().into();
        let mut references = Vec::new();
        for word in words {
            let (sign, other) = word.split_at(1);
            match sign {
                ">" => references.push((self.id(other), relation)),
                "~" => references.push((self.id(other), "considers")),
                "^" => references.push((self.id(other), "objects-to")),
                _ => self.settle(&mut payload, word),
            }
        }
        let mut artifact = unnamed(artifact_type, &payload, &references);
        let id = if head.contains('*') {
            self.id(&name)
        } else {
            let id = naive::identifier(artifact.to_string().as_bytes()).expect("canonical");
            let known = self.ids.insert(name.clone(), id.clone());
            assert!(known.is_none_or(|known| known == id), "{name} was used before: mark it *");
            id
        };
        artifact["artifact_id"] = id.into();
        let bytes = artifact.to_string().into_bytes();
        let [is_stored, is_last] = [!head.contains('-'), head.contains('+')];
        self.artifacts.push(Artifact { name, bytes, is_stored, is_last });
    }

    fn settle(&mut self, payload: &mut Value, word: &str) {
        let (list, item) = if let Some(other) = word.strip_prefix('?') {
            ("unresolved_issues", self.id(other).into())
        } else if let Some(other) = word.strip_prefix('!') {
            ("unresolved_issues", json!({"artifact_id": self.id(other)}))
        } else {
            let (other, word) = word.split_once(':').unwrap_or_else(|| panic!("no word: {word}"));
            let item = json!({"artifact_id": self.id(other), "disposition": word});
            ("objection_dispositions", item)
        };
        payload[list].as_array_mut().expect("a decision").push(item);
    }

    fn store(&self, is_ordered: bool, is_reversed: bool) -> Drawn {
        let mut drawn = Drawn::default();
        let mut stored: Vec<_> = self.artifacts.iter().enumerate().collect();
        stored.retain(|(_, artifact)| artifact.is_stored);
        if is_reversed {
            stored.reverse();
        }
        for (index, artifact) in stored {
            let id = drawn.collection.add(&artifact.bytes).expect(&artifact.name);
            if is_ordered {
                let index = index as u64 + u64::from(artifact.is_last) * 1_000;
                drawn.order.insert(id, index);
            }
        }
        drawn
    }

    fn name(&self, id: &str) -> String {
        let name = self.ids.iter().find(|(_, other)| *other == id).map(|(name, _)| name.clone());
        name.expect("an identifier of the row")
    }
}

/// Type, payload and usual relation of a kind.
fn kind(kind: &str) -> (&'static str, Value, &'static str) {
    let decision = |status| {
        json!({"outcome": "o", "status": status, "objection_dispositions": [],
            "unresolved_issues": []})
    };
    let evidence = |class| json!({"content": "c", "provenance_class": class});
    match kind {
        "claim" => ("CLAIM", json!({"statement": "s"}), "considers"),
        "mute" => ("CLAIM", json!({"statement": ""}), "considers"),
        "evidence" => ("EVIDENCE", evidence("HYPOTHESIS"), "supports"),
        "hearsay" => ("EVIDENCE", evidence("EXTERNAL_EVIDENCE"), "supports"),
        "block" => ("OBJECTION", json!({"statement": "s", "blocking": true}), "objects-to"),
        "doubt" => ("OBJECTION", json!({"statement": "s", "blocking": false}), "objects-to"),
        "revision" => ("REVISION", json!({"statement": "s"}), "revises"),
        "final" => ("DECISION", decision("final"), "decides"),
        "provisional" => ("DECISION", decision("provisional"), "decides"),
        "failure" => {
            let payload = json!({"code": "c", "description": "d", "retryable": true});
            ("FAILURE", payload, "considers")
        }
        "completed" | "suspended" | "cancelled" | "deadlock" | "exhausted" => {
            ("TERMINATION", json!({"state": kind}), "considers")
        }
        other => panic!("no kind {other}"),
    }
}

fn verify(
    drawing: &Drawing,
    mode: &str,
    is_reversed: bool,
    targets: &[Identifier],
) -> ClosureReport {
    let store = drawing.store(mode == "ordered", is_reversed);
    let options = if mode == "literal" { VerifyOptions::LITERAL } else { VerifyOptions::STRICT };
    let Ok(report) = closure::verify(&store, targets, options);
    assert!(store.loads.borrow().values().all(|loads| *loads == 1), "loaded more than once");
    report
}

/// The findings of a report in the words of the table, and in its sorted form.
fn findings(drawing: &Drawing, report: &Value) -> BTreeSet<String> {
    let list = |name: &str| report[name].as_array().expect("a list").clone();
    let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
    let finding = |item: &Value| {
        let name = drawing.name(&text(item, "artifact_id"));
        let pointer = item.get("pointer").and_then(Value::as_str).unwrap_or_default();
        format!("{}:{name}{pointer}", text(item, "class"))
    };
    let mut findings: BTreeSet<String> = ["failures", "later_objections", "warnings"]
        .into_iter()
        .flat_map(list)
        .map(|item| finding(&item))
        .collect();
    findings.extend(list("objections").iter().map(|item| {
        let name = drawing.name(&text(item, "artifact_id"));
        format!("[{name}={}]", item["disposition"].as_str().unwrap_or("null"))
    }));
    let keys = |name: &str| -> Vec<(String, String)> {
        let key = |item: &Value| (text(item, "class"), text(item, "artifact_id"));
        list(name).iter().map(key).collect()
    };
    for name in ["failures", "later_objections", "warnings"] {
        assert!(keys(name).is_sorted(), "{name} are sorted");
    }
    findings.insert(format!("count={}", report["artifact_count"]));
    findings.insert(format!("depth={}", report["depth"]));
    findings
}

fn check(line: usize, row: &str) {
    let (graph, expected) = row.split_once(" => ").expect("an expectation");
    let mut parts = graph.split(" | ");
    let head = parts.next().expect("mode and targets");
    let mut drawing = Drawing::default();
    parts.for_each(|part| drawing.draw(part.trim()));
    let (mode, targets) = head.split_once(' ').expect("a target");
    let targets: Vec<Identifier> = targets
        .split_whitespace()
        .map(|name| drawing.id(name.trim_start_matches('@')).parse().expect("an identifier"))
        .collect();
    let report = verify(&drawing, mode, false, &targets);
    let report = serde_json::to_string(&report).expect("JSON");
    let again = serde_json::to_string(&verify(&drawing, mode, true, &targets)).expect("JSON");
    assert_eq!(report, again, "line {line}: another order of adding, another report");

    let report: Value = serde_json::from_str(&report).expect("JSON");
    let found = findings(&drawing, &report);
    let mut expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
    let is_ok = expected.remove("ok");
    assert_eq!(report["ok"], is_ok, "line {line}: {row}\n{report:#}");
    // Objections, number and depth count where a row mentions them.
    let is_mentioned = |finding: &&String| {
        let kind =
            |text: &str| ["[", "count=", "depth="].iter().position(|it| text.starts_with(it));
        kind(finding).is_none_or(|it| expected.iter().any(|other| kind(other) == Some(it)))
    };
    let found: BTreeSet<String> = found.iter().filter(is_mentioned).cloned().collect();
    expected.remove("[]");
    assert_eq!(found, expected, "line {line}: {row}\n{report:#}");
}

/// Every row's graph has exactly the findings it lists, loads each artifact once, and gives
/// the same bytes in any order of filling the store.
#[test]
fn table_of_closures() {
    let mut count = 0;
    for (line, row) in notation::rows(TABLE) {
        count += 1;
        check(line, row);
    }
    assert!(count >= 60, "{count} rows");
}

/// The report has its members in the order of the specification: one text compared.
#[test]
fn report_as_text() {
    let mut drawing = Drawing::default();
    for text in ["c=claim", "o=block >c", "h=hearsay >c", "d=final >c ~h"] {
        drawing.draw(text);
    }
    let [o, h, d] = ["o", "h", "d"].map(|name| drawing.id(name));
    let report = verify(&drawing, "strict", false, &[d.parse().expect("an identifier")]);
    let expected = format!(
        concat!(
            r#"{{"ok":false,"targets":["{d}"],"strict":true,"artifact_count":3,"depth":2,"#,
            r#""failures":[{{"class":"hidden_objection","artifact_id":"{o}","pointer":"","#,
            r#""detail":"The final decision {d} does not account for it."}}],"#,
            r#""objections":[{{"artifact_id":"{o}","blocking":true,"disposition":null}}],"#,
            r#""later_objections":[],"warnings":[{{"class":"ungrounded_provenance","#,
            r#""artifact_id":"{h}","#,
            r#""detail":"The evidence claims to be observed and names no source."}}]}}"#,
        ),
        d = d,
        o = o,
        h = h,
    );
    assert_eq!(serde_json::to_string(&report).expect("JSON"), expected);
}

/// A decision is judged before it is stored as it would be after: over a store without it, as
/// a candidate, once hiding an objection and once naming it.
#[test]
fn candidates() {
    let mut drawing = Drawing::default();
    for text in ["c=claim", "o=block >c", "-d=final >c", "-e=final >c o:resolved"] {
        drawing.draw(text);
    }
    let store = drawing.store(true, false);
    let classes = |name: &str| {
        let artifact = drawing.artifacts.iter().find(|it| it.name == name).expect(name);
        let id: Identifier = drawing.ids[name].parse().expect("an identifier");
        let candidate = Candidate { store: &store, id, bytes: &artifact.bytes };
        let Ok(report) = closure::verify(&candidate, &[id], VerifyOptions::STRICT);
        report.failures.iter().map(|failure| failure.class.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(classes("d"), ["hidden_objection"]);
    assert_eq!(classes("e"), [""; 0]);
}
