//! What came in place of a good value, for the detail of its refusal.

use super::raw::{RawArgument, ValueError};
use crate::json::JsonValue;

/// Characters of what came that a refusal quotes, at most.
const QUOTED_MAX: usize = 40;

/// Quotes a text, escaped and cut.
pub(super) fn quoted(text: &str) -> String {
    let mut characters = text.chars();
    let shown: String = characters.by_ref().take(QUOTED_MAX).collect();
    let cut = if characters.next().is_some() { "…" } else { "" };
    format!("\"{}{cut}\"", shown.escape_debug())
}

/// What came, of a short value the value.
pub(super) fn came(raw: RawArgument<'_>) -> String {
    match raw {
        RawArgument::Text(text) => quoted(text),
        RawArgument::Json(value) => match value {
            JsonValue::Null => "null".into(),
            JsonValue::Bool(truth) => truth.to_string(),
            JsonValue::Number(number) => number.text().chars().take(QUOTED_MAX).collect(),
            JsonValue::String(text) => quoted(text),
            JsonValue::Surrogate => "a string with an unpaired surrogate".into(),
            JsonValue::Array(_) => "an array".into(),
            JsonValue::Object(_) => "an object".into(),
        },
    }
}

/// A refusal of `raw`: what is wanted, and what came.
pub(super) fn instead(wanted: &str, raw: RawArgument<'_>) -> ValueError {
    ValueError::new(format!("{wanted}: {} came.", came(raw)))
}

/// A refusal of `raw`, where `kind` and not `raw` itself says what came, and what to do.
pub(super) fn mended(wanted: &str, kind: &str, remedy: &str) -> ValueError {
    ValueError::new(format!("{wanted}: {kind} came; {remedy}."))
}
