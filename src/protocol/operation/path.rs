//! From method and path to an operation.

use std::borrow::Cow;

use super::{HttpMethod, Operation, Profiles};
use crate::url::percent_decode;

/// The match of a method and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathMatch<'p> {
    /// An operation, and the name and value of the field in its path, percent-decoded.
    Operation(Operation, Option<(&'static str, Cow<'p, str>)>),
    /// Something, but not for this method: 405, with these in `Allow`.
    OtherMethod(Vec<&'static str>),
    /// None of the table's paths.
    Nothing,
}

/// The operation at `path` (without the query), `HEAD` being taken for `GET`. Operations of
/// profiles that are not in force are not there.
pub fn find<'p>(method: &str, path: &'p str, profiles: Profiles) -> PathMatch<'p> {
    let mut allowed = Vec::new();
    for operation in profiles.operations() {
        let spec = operation.spec();
        let Some(value) = matched(spec.route.path, path) else { continue };
        if method == spec.route.method.as_str()
            || (method == "HEAD" && spec.route.method == HttpMethod::Get)
        {
            return PathMatch::Operation(operation, value);
        }
        allowed.push(spec.route.method.as_str());
        if spec.route.method == HttpMethod::Get {
            allowed.push("HEAD");
        }
    }
    if allowed.is_empty() { PathMatch::Nothing } else { PathMatch::OtherMethod(allowed) }
}

/// Whether `path` fits `template`, and the value of the field in it. A value that is no
/// UTF-8 once decoded stays encoded: no identifier has this form.
#[expect(clippy::option_option, reason = "fits or not, with or without a field")]
fn matched<'p>(
    template: &'static str,
    path: &'p str,
) -> Option<Option<(&'static str, Cow<'p, str>)>> {
    let (mut parts, mut segments) = (template.split('/'), path.split('/'));
    let mut value = None;
    loop {
        match (parts.next(), segments.next()) {
            (None, None) => return Some(value),
            (Some(part), Some(segment)) => {
                let field = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
                match field {
                    Some(_) if segment.is_empty() => return None,
                    Some(name) => {
                        let decoded = percent_decode(segment, false);
                        value = Some((name, decoded.unwrap_or(Cow::Borrowed(segment))));
                    }
                    None if part == segment => {}
                    None => return None,
                }
            }
            _ => return None,
        }
    }
}
