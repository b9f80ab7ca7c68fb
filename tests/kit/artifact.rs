//! Artifacts under the identifier that they must have.

use parley_protocol::artifact::{canonicalize, identity};
use serde_json::{Value, json};

/// `value` with its identifier.
pub fn named(mut value: Value) -> Value {
    let canonical = canonicalize(value.to_string().as_bytes()).expect("it is canonical");
    value["artifact_id"] = identity::compute(&canonical).to_string().into();
    value
}

/// An artifact of the type `kind`, whose references are pairs of identifier and relation.
pub fn artifact(kind: &str, payload: &Value, references: &[(&str, &str)]) -> Value {
    let references = references.iter();
    let references = references.map(|(id, why)| json!({ "artifact_id": id, "relation": why }));
    named(json!({
        "protocol_version": "0.1",
        "artifact_type": kind,
        "payload": payload,
        "references": references.collect::<Vec<_>>(),
    }))
}

/// An artifact that claims `text`.
pub fn claim(text: &str) -> Value {
    artifact("CLAIM", &json!({ "statement": text }), &[])
}
