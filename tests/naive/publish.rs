//! What publishing asks of an artifact, against the second implementation: the input is given the
//! identifier that it must have, so that what it says is looked at.

use parley_protocol::artifact::{examine, validate};
use serde_json::Value;

use super::canonical::{Reached, agree};
use super::{naive, naive_semantics};

/// The same artifact under its own name, if it is canonical.
pub fn renamed(input: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(&naive::canonicalize(input).ok()?).ok()?;
    value["artifact_id"] = naive::identifier(input).ok()?.into();
    Some(value.to_string().into_bytes())
}

/// The target.
pub fn run(bytes: &[u8]) {
    let Some(named) = renamed(bytes) else {
        agree(bytes);
        return;
    };
    let reached = agree(&named);
    if named.len() > 65_536 {
        return;
    }
    assert!(reached >= Reached::Named, "{}", String::from_utf8_lossy(&named));
    let value: Value = serde_json::from_slice(&named).expect("JSON");
    let (want, warnings) = naive_semantics::examine(&value);
    match validate(&named) {
        Ok(valid) => {
            assert!(want.is_empty(), "{want:?} of {value}");
            let said: Vec<_> = valid.warnings.iter().map(|class| class.as_str()).collect();
            assert_eq!(said, warnings, "{value}");
            assert_eq!(valid.content, examine(&valid.canonical).content, "{value}");
        }
        Err(violations) => {
            let got = violations.iter().map(|it| (it.class.as_str(), it.pointer.clone()));
            let got: Vec<_> = got.collect();
            assert!(got.iter().all(|(class, _)| *class != "malformed_input"), "{value}");
            assert_eq!(got, want, "{value}");
        }
    }
}
