//! The canonical form (`artifacts.md` §1).

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{ARTIFACT_BYTES_MAX, ArtifactFault, NESTING_MAX, ViolationClass};
use crate::json::{self, JsonFaultKind, JsonMember, JsonNumber, JsonObject, JsonValue};

/// The largest magnitude an integer may have: 2^53 − 1.
const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// An artifact in canonical form: all strings and names in NFC, members sorted, integers in
/// range. Only [`canonicalize`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Canonical {
    body: JsonObject,
}

impl Canonical {
    /// The normalized top-level object. Its members' spans mean nothing: they are empty.
    pub fn body(&self) -> &JsonObject {
        &self.body
    }

    /// The canonical bytes, a given `artifact_id` kept.
    pub fn bytes(&self) -> Vec<u8> {
        let mut output = Vec::new();
        write_object(&self.body, None, &mut output);
        output
    }

    /// The canonical bytes without the top-level member `artifact_id`, of which the identifier
    /// is computed. A nested `artifact_id` stays.
    pub fn bytes_without_identifier(&self) -> Vec<u8> {
        let mut output = Vec::new();
        write_object(&self.body, Some("artifact_id"), &mut output);
        output
    }
}

/// Reads an artifact and brings it into canonical form.
///
/// Errors are those of `artifacts.md` §1: `malformed_input`, `unsupported_value`,
/// `normalization_collision`, and `limit_exceeded` for size and nesting. With several faults
/// one of them is returned.
pub fn canonicalize(bytes: &[u8]) -> Result<Canonical, ArtifactFault> {
    if bytes.len() > ARTIFACT_BYTES_MAX {
        return Err(ArtifactFault::at_top(
            ViolationClass::LimitExceeded,
            numbered!("The artifact has over " {ARTIFACT_BYTES_MAX} " bytes."),
        ));
    }
    match json::parse(bytes, NESTING_MAX).map_err(|fault| refused(fault, bytes))? {
        JsonValue::Object(object) => Ok(Canonical { body: normalize_object(object)? }),
        _ => Err(ArtifactFault::at_top(
            ViolationClass::UnsupportedValue,
            "The top level is no object.",
        )),
    }
}

/// Brings an object that was made here, not read, into canonical form. Errors are those of
/// [`canonicalize`] that concern numbers and names.
pub(super) fn of_object(body: JsonObject) -> Result<Canonical, ArtifactFault> {
    Ok(Canonical { body: normalize_object(body)? })
}

/// The fault of an artifact whose text is no JSON that is admitted.
fn refused(fault: json::JsonFault, text: &[u8]) -> ArtifactFault {
    use ViolationClass::{LimitExceeded, MalformedInput, UnsupportedValue};
    let (class, detail) = match fault.kind {
        JsonFaultKind::Malformed | JsonFaultKind::Duplicate => {
            (MalformedInput, fault.told(text).into())
        }
        JsonFaultKind::Surrogate => {
            (UnsupportedValue, "A string or a name holds an unpaired surrogate.".into())
        }
        JsonFaultKind::Number => (UnsupportedValue, "A number is not finite.".into()),
        JsonFaultKind::TooDeep => {
            (LimitExceeded, numbered!("The nesting is deeper than " {NESTING_MAX} ".").into())
        }
    };
    ArtifactFault { class, pointer: fault.pointer, detail }
}

fn normalize(value: JsonValue) -> Result<JsonValue, ArtifactFault> {
    Ok(match value {
        JsonValue::Null | JsonValue::Bool(_) => value,
        JsonValue::Number(number) => JsonValue::Number(integer(&number)?),
        JsonValue::String(text) => JsonValue::String(nfc(text)),
        // The strict reader returns none; refused all the same, so that no later change of
        // the reader lets one in.
        JsonValue::Surrogate => {
            let detail = "A string or a name holds an unpaired surrogate.";
            return Err(ArtifactFault::at_top(ViolationClass::UnsupportedValue, detail));
        }
        JsonValue::Array(items) => {
            let items = items.into_iter().enumerate().map(|(index, item)| {
                normalize(item).map_err(|fault| under(&index.to_string(), fault))
            });
            JsonValue::Array(items.collect::<Result<_, _>>()?)
        }
        JsonValue::Object(object) => JsonValue::Object(normalize_object(object)?),
    })
}

fn normalize_object(object: JsonObject) -> Result<JsonObject, ArtifactFault> {
    let mut members = Vec::with_capacity(object.len());
    for JsonMember { name, value, .. } in object.into_members() {
        let value = normalize(value).map_err(|fault| under(&name, fault))?;
        members.push(JsonMember { name: nfc(name), value, span: 0..0 });
    }
    // Strings compare by the unsigned bytes of their UTF-8, which is the order asked for.
    members.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    // The reader has refused names that were equal as written: these became equal here.
    if let Some(pair) = members.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let detail = "Two names become one under NFC.";
        return Err(under(
            &pair[0].name,
            ArtifactFault::at_top(ViolationClass::NormalizationCollision, detail),
        ));
    }
    Ok(JsonObject::from_members(members))
}

/// Moves a fault's place one level down, while the recursion unwinds.
fn under(name: &str, mut fault: ArtifactFault) -> ArtifactFault {
    fault.pointer.insert_str(0, &format!("/{}", json::token(name)));
    fault
}

fn nfc(text: String) -> String {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return text;
    }
    text.nfc().collect()
}

/// Judges a number by its text: a float would round numbers that must be refused.
fn integer(number: &JsonNumber) -> Result<JsonNumber, ArtifactFault> {
    if number.text().contains(['.', 'e', 'E']) {
        let detail = "A number has a fraction or an exponent.";
        return Err(ArtifactFault::at_top(ViolationClass::UnsupportedValue, detail));
    }
    match number.as_i64() {
        Some(value) if (-INTEGER_MAX..=INTEGER_MAX).contains(&value) => {
            Ok(JsonNumber::from_text(&value.to_string()))
        }
        _ => {
            let detail = numbered!("An integer is beyond " {INTEGER_MAX} " in magnitude.");
            Err(ArtifactFault::at_top(ViolationClass::UnsupportedValue, detail))
        }
    }
}

fn write(value: &JsonValue, output: &mut Vec<u8>) {
    match value {
        // No surrogate gets here, see `normalize`.
        JsonValue::Null | JsonValue::Surrogate => output.extend_from_slice(b"null"),
        JsonValue::Bool(truth) => output.extend_from_slice(if *truth { b"true" } else { b"false" }),
        JsonValue::Number(number) => output.extend_from_slice(number.text().as_bytes()),
        JsonValue::String(text) => write_string(text, output),
        JsonValue::Array(items) => {
            output.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    output.push(b',');
                }
                write(item, output);
            }
            output.push(b']');
        }
        JsonValue::Object(object) => write_object(object, None, output),
    }
}

fn write_object(object: &JsonObject, left_out: Option<&str>, output: &mut Vec<u8>) {
    output.push(b'{');
    let members = object.iter().filter(|(name, _)| Some(*name) != left_out);
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            output.push(b',');
        }
        write_string(name, output);
        output.push(b':');
        write(value, output);
    }
    output.push(b'}');
}

/// Escapes as the canonical form asks: in two characters where JSON has such, else `\u00` with
/// lowercase digits, and only what must be.
fn write_string(text: &str, output: &mut Vec<u8>) {
    serde_json::to_writer(output, text).expect("a string is written into memory");
}
