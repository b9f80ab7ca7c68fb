//! Members of the objects within a field, and the items of its arrays.

use super::raw::{ParseResult, RawArgument, ValueError};
use crate::json::{JsonObject, JsonValue};

/// The object, if the value is one.
pub(super) fn object(raw: RawArgument<'_>) -> ParseResult<&JsonObject> {
    match raw {
        RawArgument::Json(JsonValue::Object(object)) => Ok(object),
        _ => Err(ValueError::new("This must be an object.")),
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
        RawArgument::Json(JsonValue::Array(_)) => {
            Err(ValueError::new(format!("At most {max} {what} are taken.")))
        }
        _ => Err(ValueError::new("This must be an array.")),
    }
}

/// Refuses members that are neither `known` nor `ignored`, null ones too.
pub(super) fn known(object: &JsonObject, known: &[&str], ignored: &[&str]) -> ParseResult<()> {
    for (name, _) in object.iter() {
        if !known.contains(&name) && !ignored.contains(&name) {
            let detail = format!("There is no such member. It takes: {}.", known.join(", "));
            return Err(ValueError::at(detail, name));
        }
    }
    Ok(())
}

/// Reads the member `name`; null is absent.
pub(super) fn optional<'a, T>(
    object: &'a JsonObject,
    name: &str,
    read: impl FnOnce(RawArgument<'a>) -> ParseResult<T>,
) -> ParseResult<Option<T>> {
    match object.get(name).map(RawArgument::Json) {
        Some(raw) if !raw.is_null() => read(raw)
            .map(Some)
            .map_err(|wrong| ValueError { pointer: format!("/{name}{}", wrong.pointer), ..wrong }),
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
