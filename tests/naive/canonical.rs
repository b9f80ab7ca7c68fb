//! The canonical form and the identifier, against the second implementation.

use parley_protocol::artifact::{ViolationClass, canonicalize, identity, validate};

use super::naive;
use super::naive_semantics::is_identifier;

/// How far an input comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// It is refused.
    Refused,
    /// It has a canonical form.
    Canonical,
    /// It states its own identifier.
    Named,
    /// It is valid.
    Valid,
}

/// The target: both implementations say the same of the input, and of what they make of it.
pub fn agree(input: &[u8]) -> Reached {
    let shown = || String::from_utf8_lossy(input).into_owned();
    let want = naive::canonicalize(input);
    let canonical = match (canonicalize(input), &want) {
        (Ok(got), Ok(want)) => {
            let bytes = got.bytes();
            assert_eq!(&bytes, want, "{}", shown());
            let again = canonicalize(&bytes).expect("canonical bytes are admitted");
            assert_eq!(again.bytes(), bytes, "twice is once: {}", shown());
            got
        }
        (Err(fault), Err(_)) => {
            // With several faults any of their classes is right.
            let classes = naive::faults(input);
            assert!(classes.contains(fault.class.as_str()), "{fault:?} {classes:?} {}", shown());
            let violations = validate(input).expect_err("refused");
            assert_eq!(violations.len(), 1);
            assert_eq!(violations[0].class, fault.class, "{}", shown());
            return Reached::Refused;
        }
        (got, want) => panic!("{got:?} and {want:?} of {}", shown()),
    };
    let named = naive::identifier(input).expect("canonical");
    assert_eq!(identity::compute(&canonical).to_string(), named, "{}", shown());
    let stated: serde_json::Value =
        serde_json::from_slice(&canonical.bytes()).expect("canonical bytes are JSON");
    let is_named = stated.get("artifact_id").and_then(|id| id.as_str()) == Some(&named);
    match identity::verify(&canonical) {
        Ok(id) => assert_eq!((id.to_string(), is_named), (named, true), "{}", shown()),
        Err(fault) => {
            let well_formed = stated["artifact_id"].as_str().is_some_and(is_identifier);
            let class = if well_formed {
                ViolationClass::ArtifactIdentifierMismatch
            } else {
                ViolationClass::InvalidArtifactIdentifierSyntax
            };
            assert_eq!((fault.class, is_named), (class, false), "{}", shown());
            return Reached::Canonical;
        }
    }
    match validate(input) {
        Ok(valid) => {
            assert_eq!(valid.canonical.bytes(), want.expect("canonical"), "{}", shown());
            Reached::Valid
        }
        Err(_) => Reached::Named,
    }
}
