//! Artifacts as they come out of files, one on a line: whatever the lines hold, they make a store
//! that does not depend on their order, and closures of it are what the second implementation says.

use std::collections::BTreeMap;

use parley_protocol::artifact::collection::Collection;
use serde_json::Value;

use parley_naive::{naive, naive_closure, naive_semantics};

use super::closure;

/// Lines looked at: the second implementation takes time that grows fast with them.
const LINES_MAX: usize = 24;

/// The identifier that a line states, if it is an artifact that states one.
fn stated(line: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(&naive::canonicalize(line).ok()?).ok()?;
    let id = value["artifact_id"].as_str().filter(|id| naive_semantics::is_identifier(id))?;
    Some(id.to_owned())
}

/// The target.
pub fn run(bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').take(LINES_MAX).collect();
    let text = lines.join(&b'\n');
    let mut collection = Collection::default();
    let added = collection.add_lines(&text);
    let lines = lines.iter().filter(|line| !line.iter().all(u8::is_ascii_whitespace));
    let mut artifacts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for line in lines.clone() {
        let Some(id) = stated(line) else { break };
        // Of two under one identifier the right one stays, else the smaller one.
        let rank = |line: &[u8]| (naive::identifier(line).as_ref() != Ok(&id), line.to_vec());
        if artifacts.get(&id).is_none_or(|held| rank(line) < rank(held)) {
            artifacts.insert(id, line.to_vec());
        }
    }
    let is_whole = lines.clone().all(|line| stated(line).is_some());
    assert_eq!(added.is_ok(), is_whole, "{added:?}");
    assert_eq!(collection.len(), artifacts.len());
    let mut reversed = Collection::default();
    for line in lines.rev().filter(|_| is_whole) {
        reversed.add(line).expect("as before");
    }
    if is_whole {
        assert_eq!(reversed.identifiers(), collection.identifiers());
    }
    let ids: Vec<String> = artifacts.keys().cloned().collect();
    let store = naive_closure::Store { artifacts, order: BTreeMap::new() };
    for id in &ids {
        closure::agree(&collection, &store, std::slice::from_ref(id));
    }
    closure::agree(&collection, &store, &ids);
}
