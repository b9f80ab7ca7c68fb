//! What an artifact must say, by table.

use parley_protocol::artifact::{ArtifactVerdict, ViolationClass, validate};
use serde_json::{Value, json};

use super::fuzzed::publish;
use super::{naive, named, unnamed};
use crate::notation;

const TABLE: &str = include_str!("semantics.txt");

/// A valid artifact of the type, without warnings.
fn valid(artifact_type: &str) -> Value {
    let (payload, relation) = match artifact_type {
        "CLAIM" => (json!({"statement": "s"}), None),
        "EVIDENCE" => {
            let class = "MODEL_GENERATED_ANALYSIS";
            (json!({"content": "c", "provenance_class": class}), Some("supports"))
        }
        "OBJECTION" => (json!({"statement": "s", "blocking": true}), Some("objects-to")),
        "REVISION" => (json!({"statement": "s"}), Some("revises")),
        "DECISION" => (
            json!({"outcome": "o", "status": "final", "objection_dispositions": [],
                "unresolved_issues": []}),
            Some("decides"),
        ),
        "FAILURE" => (json!({"code": "c", "description": "d", "retryable": false}), None),
        "TERMINATION" => (json!({"state": "completed"}), Some("considers")),
        other => panic!("no type {other}"),
    };
    unnamed(artifact_type, &payload, relation.map(|relation| (id('a'), relation)).as_slice())
}

fn id(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// Sets, or without a value removes, the member that a pointer names.
fn patch(artifact: &mut Value, pointer: &str, value: Option<Value>) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let name = name.replace("~1", "/").replace("~0", "~");
    match (artifact.pointer_mut(parent).expect(pointer), value) {
        (Value::Object(object), Some(value)) => drop(object.insert(name, value)),
        (Value::Object(object), None) => drop(object.remove(&name).expect(pointer)),
        (Value::Array(items), Some(value)) => items.push(value),
        (other, _) => panic!("{pointer}: {other}"),
    }
}

/// The artifact of a row: its type, then patches `pointer=value` or `pointer` apart by ` ; `.
fn artifact(row: &str) -> Vec<u8> {
    let mut parts = row.split(" ; ");
    let mut artifact = valid(parts.next().expect("a type"));
    for part in parts {
        let (pointer, value) = part.split_once('=').unwrap_or((part, ""));
        let text = String::from_utf8(notation::bytes(value)).expect("text");
        let text = ['a', 'b', 'c'].iter().fold(text, |text, digit| {
            text.replace(&format!("\"@{digit}\""), &format!("\"{}\"", id(*digit)))
        });
        let value = (!text.is_empty()).then(|| serde_json::from_str(&text).expect(part));
        patch(&mut artifact, pointer, value);
    }
    named(&artifact)
}

/// What was found, in the form of the table.
fn found(bytes: &[u8]) -> String {
    match validate(bytes) {
        Err(violations) => {
            let first = violations[0].class;
            let pointers = violations.iter().map(|violation| violation.pointer.as_str());
            let pointers: Vec<&str> = pointers.collect();
            match first.as_str() {
                "semantic_violation" => pointers.join(" "),
                other => format!("{other} {}", pointers.join(" ")),
            }
        }
        Ok(valid) if valid.warnings.is_empty() => "ok".to_owned(),
        Ok(valid) => format!("warning {}", valid.warnings[0]),
    }
}

/// Every row has exactly the violations it lists, in that order: each patches a valid
/// artifact, gives it its right identifier and validates it.
#[test]
fn table_of_semantics() {
    let mut count = 0;
    for (line, row) in notation::rows(TABLE) {
        count += 1;
        let (patches, expected) = row.split_once(" => ").expect("an expectation");
        assert_eq!(found(&artifact(patches)), expected, "line {line}: {row}");
    }
    assert!(count >= 120, "{count} rows");
}

/// The second implementation, written apart, finds the same violations in every row, in the same
/// order.
#[test]
fn table_of_semantics_by_the_second_implementation() {
    for (_, row) in notation::rows(TABLE) {
        let (patches, _) = row.split_once(" => ").expect("an expectation");
        publish::run(&artifact(patches));
    }
}

/// The verdict on one artifact has its members in the order of the specification, and class,
/// pointer and detail are those of the first violation: three texts compared.
#[test]
fn verdicts() {
    let verdict =
        |bytes: &[u8]| serde_json::to_string(&ArtifactVerdict::validate(bytes)).expect("JSON");
    let bytes = artifact("CLAIM");
    let id = naive::identifier(&bytes).expect("canonical");
    let expected =
        format!(r#"{{"ok":true,"artifact_id":"{id}","class":null,"pointer":null,"detail":null,"#);
    assert_eq!(verdict(&bytes), expected + r#""violations":[],"warnings":[]}"#);

    let bytes = artifact("FAILURE ; /payload/code ; /payload/retryable=1");
    let id = naive::identifier(&bytes).expect("canonical");
    let detail = "A text is missing, no string, or shows nothing.";
    let other = "A truth value is missing or is none.";
    let first = format!(r#""pointer":"/payload/code","detail":"{detail}""#);
    let expected = format!(
        r#"{{"ok":false,"artifact_id":"{id}","class":"semantic_violation",{first},"violations":"#
    ) + &format!(
        r#"[{{{first}}},{{"pointer":"/payload/retryable","detail":"{other}"}}],"warnings":[]}}"#
    );
    assert_eq!(verdict(&bytes), expected);

    let found = ArtifactVerdict::validate(b"[");
    assert_eq!((found.ok, found.artifact_id, found.violations.len()), (false, None, 1));
    assert_eq!(found.class.map(ViolationClass::as_str), Some("malformed_input"));
}

/// The identifier is verified before anything else: an artifact with both faults shows the
/// identifier's alone.
#[test]
fn identifiers_come_first() {
    for (text, class) in [
        (r#"{"artifact_type":"NONE"}"#.to_owned(), "invalid_artifact_identifier_syntax"),
        (format!(r#"{{"artifact_id":"{}"}}"#, id('0')), "artifact_identifier_mismatch"),
    ] {
        let violations = validate(text.as_bytes()).expect_err("refused");
        let found: Vec<_> =
            violations.iter().map(|it| (it.class.as_str(), it.pointer.as_str())).collect();
        assert_eq!(found, [(class, "/artifact_id")]);
    }
}
