//! What clients and models make of arguments, taken over MCP only (mcp.md §4): numbers and truth
//! values as their text, whole numbers with a zero fraction, objects and arrays as their JSON text,
//! an empty string for a member that may be left out.

use crate::json::{JsonMember, JsonNumber, JsonObject, JsonValue, parse_keeping_surrogates};
use crate::limits::NESTING_MAX;
use crate::operation::{FieldSpec, FieldType};

/// Members that clients add to the arguments of any tool; they are ignored.
pub(super) const IGNORED: [&str; 3] = ["toolCallId", "sessionId", "_meta"];

/// Digits of an integer within 64 bits, at most.
const DIGITS_MAX: usize = 20;

/// The value of a field as it is meant; any other stays as it came and is judged as over HTTP.
pub(super) fn value(field: &FieldSpec, value: JsonValue) -> JsonValue {
    if !field.required && is_empty(&value) {
        return JsonValue::Null;
    }
    match field.field_type {
        FieldType::Integer { .. } => integer(value),
        FieldType::Bool => truth(value),
        FieldType::From => object(value, &["extension"]),
        FieldType::Provenance => object(value, &["model", "client"]),
        FieldType::Evidence => match unquoted(value, '[') {
            JsonValue::Array(pieces) => {
                let pieces = pieces.into_iter().map(|piece| object(piece, &["note"]));
                JsonValue::Array(pieces.collect())
            }
            other => other,
        },
        FieldType::Claims => unquoted(value, '['),
        FieldType::Thread
        | FieldType::Message
        | FieldType::Claim
        | FieldType::ArtifactId
        | FieldType::Text { .. }
        | FieldType::Extension
        | FieldType::Identity
        | FieldType::Word(_)
        | FieldType::Cursor
        | FieldType::Future
        | FieldType::Artifact
        | FieldType::Ignored => value,
    }
}

/// The JSON text of an object within a JSON string; `None` for any other value.
pub(super) fn text_of_object(value: &str) -> Option<String> {
    let text: String = serde_json::from_str(value).ok()?;
    text.trim_start().starts_with('{').then_some(text)
}

fn is_empty(value: &JsonValue) -> bool {
    value.as_str().is_some_and(str::is_empty)
}

fn integer(value: JsonValue) -> JsonValue {
    let whole = match &value {
        JsonValue::String(text) => is_integer(text).then(|| text.clone()),
        JsonValue::Number(number) => whole(number.text()),
        _ => None,
    };
    whole.map_or(value, |text| JsonValue::Number(JsonNumber::from_text(&text)))
}

/// Whether the text is that of a JSON integer without a sign.
pub(super) fn is_integer(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (text == "0" || !text.starts_with('0'))
}

/// The digits of a JSON number without a sign whose fraction is zero.
pub(super) fn whole(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if before.starts_with('-') {
        return None;
    }
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    let digits = format!("{before}{after}");
    let significant = digits.trim_end_matches('0');
    let leading = significant.len() - significant.trim_start_matches('0').len();
    let significant = &significant[leading..];
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    // The digits before the point, the first of them significant.
    let before = i64::try_from(before.len()).ok()?.checked_add(exponent)?;
    let length = usize::try_from(before).ok()?.checked_sub(leading)?;
    let zeros = length.checked_sub(significant.len())?;
    (length <= DIGITS_MAX).then(|| format!("{significant}{}", "0".repeat(zeros)))
}

fn truth(value: JsonValue) -> JsonValue {
    match value.as_str() {
        Some("true") => JsonValue::Bool(true),
        Some("false") => JsonValue::Bool(false),
        _ => value,
    }
}

/// An object, perhaps as its text, without those of its `optional` members that are empty.
fn object(value: JsonValue, optional: &[&str]) -> JsonValue {
    let object = match unquoted(value, '{') {
        JsonValue::Object(object) => object,
        other => return other,
    };
    let members = object.into_members().into_iter().map(|member| {
        let absent = optional.contains(&&*member.name) && is_empty(&member.value);
        if absent { JsonMember { value: JsonValue::Null, ..member } } else { member }
    });
    JsonValue::Object(JsonObject::from_members(members.collect()))
}

/// The value that a string is the JSON text of, if that begins with `opening`.
fn unquoted(value: JsonValue, opening: char) -> JsonValue {
    let text = value.as_str().filter(|text| text.trim_start().starts_with(opening));
    let read = text.map(|text| parse_keeping_surrogates(text.as_bytes(), NESTING_MAX - 1));
    match read {
        Some(Ok(read)) => read,
        Some(Err(_)) | None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a number whose fraction is zero is a whole one, and no other is. Method: a row a
    /// number, exponents beyond any memory among them.
    #[test]
    fn whole_numbers() {
        for (text, want) in [
            ("10", Some("10")),
            ("10.0", Some("10")),
            ("1e1", Some("10")),
            ("1E+1", Some("10")),
            ("1.5e1", Some("15")),
            ("100e-1", Some("10")),
            ("0.0", Some("0")),
            ("0e999999999", Some("0")),
            ("0.001e3", Some("1")),
            ("1e19", Some("10000000000000000000")),
            ("10.5", None),
            ("1e-1", None),
            ("-1.0", None),
            ("1e20", None),
            ("1e999999999999", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(whole(text).as_deref(), want, "{text}");
        }
    }
}
