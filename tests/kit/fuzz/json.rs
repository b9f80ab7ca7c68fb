//! The strict reader of JSON against the lenient one that everybody uses.

use parley_protocol::json::{self, JsonFault, JsonFaultKind, JsonValue, NESTING_CEILING};
use serde_json::Value as Other;

/// Whether any number is too large for a float, which the other reader refuses.
fn overflows(value: &JsonValue) -> bool {
    match value {
        JsonValue::Number(number) => number.text().parse().is_ok_and(f64::is_infinite),
        JsonValue::Array(items) => items.iter().any(overflows),
        JsonValue::Object(object) => object.iter().any(|(_, value)| overflows(value)),
        _ => false,
    }
}

/// The same value. Floats may differ in their last digits: the other reader rounds.
fn same(value: &JsonValue, other: &Other) -> bool {
    match (value, other) {
        (JsonValue::Null, Other::Null) => true,
        (JsonValue::Bool(one), Other::Bool(two)) => one == two,
        (JsonValue::String(one), Other::String(two)) => one == two,
        (JsonValue::Number(one), Other::Number(two)) => {
            let (close, text) = (two.as_f64().unwrap_or_default(), one.text());
            let exact: f64 = text.parse().expect("a number");
            let exactly = |text: String| text == one.text();
            if two.is_i64() || two.is_u64() {
                exactly(two.to_string())
            } else {
                (exact - close).abs() <= exact.abs() * 1e-12
            }
        }
        (JsonValue::Array(one), Other::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (JsonValue::Object(one), Other::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(name, value)| two.get(name).is_some_and(|it| same(value, it)))
        }
        _ => false,
    }
}

/// Where the text of a member is said to stand, there it stands.
fn spans(bytes: &[u8], value: &JsonValue) {
    let JsonValue::Object(object) = value else { return };
    for member in object.clone().into_members() {
        let again = json::parse_keeping_surrogates(&bytes[member.span], NESTING_CEILING);
        // Spans within it are counted from its own beginning.
        assert_eq!(again.as_ref().map(flat), Ok(flat(&member.value)));
    }
}

/// A value without spans.
fn flat(value: &JsonValue) -> Vec<String> {
    match value {
        JsonValue::Array(items) => items.iter().flat_map(flat).collect(),
        JsonValue::Object(object) => object
            .iter()
            .flat_map(|(name, value)| std::iter::once(name.to_owned()).chain(flat(value)))
            .collect(),
        other => vec![format!("{other:?}")],
    }
}

/// A pointer that RFC 6901 allows.
fn is_pointer(fault: &JsonFault) {
    let pointer = &fault.pointer;
    assert!(pointer.is_empty() || pointer.starts_with('/'), "{pointer}");
    let tildes = pointer.split('~').skip(1);
    assert!(tildes.into_iter().all(|rest| rest.starts_with(['0', '1'])), "{pointer}");
    assert_eq!(fault.field().is_none(), pointer.is_empty());
}

/// The target.
pub fn run(bytes: &[u8]) {
    let strict = json::parse(bytes, NESTING_CEILING);
    let other = serde_json::from_slice::<Other>(bytes);
    let lenient = json::parse_keeping_surrogates(bytes, NESTING_CEILING);
    match (&strict, &other) {
        (Ok(value), Ok(other)) => assert!(same(value, other), "{value:?} {other}"),
        (Ok(value), Err(error)) => assert!(overflows(value), "{value:?} {error}"),
        (Err(fault), Ok(other)) => {
            let stricter = matches!(fault.kind, JsonFaultKind::Duplicate | JsonFaultKind::TooDeep);
            assert!(stricter, "{fault:?} {other}");
        }
        (Err(_), Err(_)) => {}
    }
    if let Err(fault) = &strict {
        is_pointer(fault);
    }
    match (&strict, &lenient) {
        (Ok(one), two) => assert_eq!(Ok(one), two.as_ref()),
        (Err(fault), Ok(_)) => assert_eq!(fault.kind, JsonFaultKind::Surrogate),
        (Err(_), Err(fault)) => assert_ne!(fault.kind, JsonFaultKind::Surrogate),
    }
    if let Ok(value) = &lenient {
        spans(bytes, value);
    }
    let shallow = json::parse(bytes, 3);
    match (&strict, &shallow) {
        (Ok(value), Ok(shallow)) => assert_eq!(value, shallow),
        (Ok(_), Err(fault)) => assert_eq!(fault.kind, JsonFaultKind::TooDeep),
        (Err(_), Ok(value)) => panic!("{value:?}"),
        (Err(_), Err(_)) => {}
    }
}
