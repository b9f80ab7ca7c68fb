//! The canonical form, by table.

use parley_protocol::artifact::{ArtifactFault, canonicalize, identity};

use super::naive;
use crate::notation;

const TABLE: &str = include_str!("canonical.txt");

/// What a row expects, and what was found, in one form.
type Outcome = Result<String, (String, String)>;

fn outcome<T>(result: Result<T, ArtifactFault>, text: impl Fn(T) -> String) -> Outcome {
    result.map(text).map_err(|fault| (fault.class.to_string(), fault.pointer))
}

fn expected(row: &str) -> (&str, Outcome) {
    let text = |notation| String::from_utf8(notation::bytes(notation)).expect("text");
    if let Some((input, canonical)) = row.split_once(" => ") {
        return (input, Ok(text(canonical)));
    }
    let (input, fault) = row.split_once("!! ").expect("an expectation");
    let (class, pointer) = fault.split_once(' ').unwrap_or((fault, ""));
    // An empty input leaves no character in front of the space.
    (input.strip_suffix(' ').unwrap_or(input), Err((class.to_owned(), text(pointer))))
}

fn verified(input: &str) -> Outcome {
    // The right identifier comes from the second implementation, over the same text with any
    // identifier in place.
    let bytes = |text: &str| notation::bytes(text);
    let id = naive::identifier(&bytes(&input.replace("@ID", "").replace("@HEX", "")));
    let id = id.expect("admissible apart from its identifier");
    let input = input.replace("@ID", &id).replace("@HEX", &id["sha256:".len()..]);
    let canonical = canonicalize(&bytes(&input)).expect("admissible");
    outcome(identity::verify(&canonical), |_| "ok".to_owned())
}

/// Every row of the canonical profile gives its text, or its class and place: a table, read
/// row by row.
#[test]
fn table_of_canonical_forms() {
    let mut count = 0;
    for (line, row) in notation::rows(TABLE) {
        count += 1;
        let (input, expected) = expected(row);
        let found = match input.strip_prefix("verify ") {
            Some(input) => verified(input),
            None => outcome(canonicalize(&notation::bytes(input)), |canonical| {
                String::from_utf8(canonical.bytes()).expect("UTF-8")
            }),
        };
        assert_eq!(found, expected, "line {line}: {row}");
    }
    assert!(count >= 120, "{count} rows");
}

/// The second implementation, written apart, agrees on every row that is not about
/// identifiers: on the text, or on the class.
#[test]
fn table_of_canonical_forms_by_the_second_implementation() {
    for (line, row) in notation::rows(TABLE).filter(|(_, row)| !row.starts_with("verify ")) {
        let (input, expected) = expected(row);
        let found = naive::canonicalize(&notation::bytes(input));
        let expected = expected.map(String::into_bytes).map_err(|(class, _)| class);
        assert_eq!(found.map_err(str::to_owned), expected, "line {line}: {row}");
    }
}

/// The longest texts of the worst kinds are read and written, and twice give the same: runs of
/// marks that normalization has to sort and to compose, and of names that begin alike.
#[test]
fn texts_that_cost_most() {
    let marks: String = "\u{301}\u{316}".repeat(16_000);
    let members: Vec<String> = (0..600).map(|n| format!("\"{}{n}\":0", "x".repeat(96))).collect();
    for text in [
        format!(r#"{{"a":"e{marks}"}}"#),
        format!(r#"{{"a":"{}"}}"#, "\u{1100}\u{1161}\u{11a8}".repeat(7_000)),
        format!("{{{}}}", members.join(",")),
        format!(r#"{{"a":[{}0]}}"#, "0,".repeat(32_000)),
    ] {
        let once = canonicalize(text.as_bytes()).expect("admissible").bytes();
        let twice = canonicalize(&once).expect("admissible").bytes();
        assert_eq!(once, twice);
    }
}
