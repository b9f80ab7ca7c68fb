//! Members of the objects within a field, and the items of its arrays.

use super::came::{instead, mended};
use super::faults::NAMED_MAX;
use super::raw::{ParseResult, RawArgument, ValueError, all};
use crate::json::{JsonObject, JsonValue};

const OBJECT: &str = "This must be an object";
const ARRAY: &str = "This must be an array";

/// The object, if the value is one.
pub(super) fn object(raw: RawArgument<'_>) -> ParseResult<&JsonObject> {
    match raw {
        RawArgument::Json(JsonValue::Object(object)) => Ok(object),
        _ if raw.text().is_some() => Err(mended(OBJECT, "a string", "send the object itself")),
        _ => Err(instead(OBJECT, raw)),
    }
}

/// The items, if the value is an array of at most `max`.
pub(super) fn array<'a>(
    raw: RawArgument<'a>,
    max: usize,
    what: &str,
) -> ParseResult<&'a [JsonValue]> {
    match raw {
        RawArgument::Json(JsonValue::Array(items)) if items.len() <= max => Ok(items),
        RawArgument::Json(JsonValue::Array(items)) => {
            Err(ValueError::new(format!("At most {max} {what} are taken: {} came.", items.len())))
        }
        _ if raw.text().is_some() => Err(mended(ARRAY, "a string", "send the array itself")),
        _ => Err(instead(ARRAY, raw)),
    }
}

/// Refuses members that are neither `known` nor `ignored`, null ones too.
pub(super) fn known(object: &JsonObject, known: &[&str], ignored: &[&str]) -> ParseResult<()> {
    let names = object.iter().map(|(name, _)| name);
    let unknown = names.filter(|name| !known.contains(name) && !ignored.contains(name));
    let fault = |name| {
        let detail = format!("There is no such member. It takes: {}.", known.join(", "));
        Err(ValueError::at(detail, name))
    };
    all(unknown.take(NAMED_MAX).map(fault)).map(|_: Vec<()>| ())
}

/// Reads the member `name`; null is absent.
pub(super) fn optional<'a, T>(
    object: &'a JsonObject,
    name: &str,
    read: impl FnOnce(RawArgument<'a>) -> ParseResult<T>,
) -> ParseResult<Option<T>> {
    match object.get(name).map(RawArgument::Json) {
        Some(raw) if !raw.is_null() => read(raw).map(Some).map_err(|wrong| wrong.under(name)),
        _ => Ok(None),
    }
}

/// Reads the member `name`, which must be there.
pub(super) fn required<'a, T>(
    object: &'a JsonObject,
    name: &str,
    read: impl FnOnce(RawArgument<'a>) -> ParseResult<T>,
) -> ParseResult<T> {
    let value = optional(object, name, read)?;
    value.ok_or_else(|| ValueError::at(format!("`{name}` is required."), name))
}
