//! Profile `artifacts`: canonical form, semantics and closure, from tables of cases, the
//! public vectors, and comparison with a second implementation.

mod canonical;
mod closure;
mod closure_large;
mod export;
mod export_rules;
mod fuzz;
mod properties;
mod semantics;
mod vectors;

use parley_naive::{self as fuzzed, naive};
use serde::Serialize;
use serde_json::{Value, json};

/// An artifact without identifier; its references are pairs of identifier and relation.
fn unnamed(kind: &str, payload: &Value, references: &[(impl Serialize, &str)]) -> Value {
    let references = references.iter();
    let references = references.map(|(id, why)| json!({"artifact_id": id, "relation": why}));
    json!({
        "protocol_version": "0.1",
        "artifact_type": kind,
        "payload": payload,
        "references": references.collect::<Vec<_>>(),
    })
}

/// The bytes of an artifact under the identifier that it must have.
fn named(artifact: &Value) -> Vec<u8> {
    fuzzed::publish::renamed(artifact.to_string().as_bytes()).expect("canonical")
}
