//! Members of the objects within a field, and the items of its arrays.

use super::given::{Raw, Read, Wrong};
use crate::json::{Object, Value};

/// The object, if the value is one.
pub(super) fn object(raw: Raw<'_>) -> Read<&Object> {
    match raw {
        Raw::Json(Value::Object(object)) => Ok(object),
        _ => Err(Wrong::new("This must be an object.")),
    }
}

/// The items, if the value is an array of at most `max`.
pub(super) fn array<'a>(raw: Raw<'a>, max: usize, what: &str) -> Read<&'a [Value]> {
    match raw {
        Raw::Json(Value::Array(items)) if items.len() <= max => Ok(items),
        Raw::Json(Value::Array(_)) => Err(Wrong::new(format!("At most {max} {what} are taken."))),
        _ => Err(Wrong::new("This must be an array.")),
    }
}

/// Refuses members that are neither `known` nor `ignored`, null ones too.
pub(super) fn known(object: &Object, known: &[&str], ignored: &[&str]) -> Read<()> {
    for (name, _) in object.iter() {
        if !known.contains(&name) && !ignored.contains(&name) {
            let detail = format!("There is no such member. It takes: {}.", known.join(", "));
            return Err(Wrong::at(detail, name));
        }
    }
    Ok(())
}

/// Reads the member `name`; null is absent.
pub(super) fn optional<'a, T>(
    object: &'a Object,
    name: &str,
    read: impl FnOnce(Raw<'a>) -> Read<T>,
) -> Read<Option<T>> {
    match object.get(name).map(Raw::Json) {
        Some(raw) if !raw.is_null() => read(raw)
            .map(Some)
            .map_err(|wrong| Wrong { pointer: format!("/{name}{}", wrong.pointer), ..wrong }),
        _ => Ok(None),
    }
}

/// Reads the member `name`, which must be there.
pub(super) fn required<'a, T>(
    object: &'a Object,
    name: &str,
    read: impl FnOnce(Raw<'a>) -> Read<T>,
) -> Read<T> {
    let value = optional(object, name, read)?;
    value.ok_or_else(|| Wrong::at(format!("`{name}` is required."), name))
}
