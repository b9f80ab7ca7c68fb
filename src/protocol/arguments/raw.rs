//! A value as it came, and its fault.

use std::borrow::Cow;

use crate::json::{JsonValue, token};

/// A value as it came.
#[derive(Clone, Copy, Debug)]
pub(super) enum RawArgument<'a> {
    /// Out of a path or a query.
    Text(&'a str),
    /// A member of a body or an argument.
    Json(&'a JsonValue),
}

impl<'a> RawArgument<'a> {
    pub(super) fn is_null(self) -> bool {
        matches!(self, Self::Json(JsonValue::Null))
    }

    /// The text, if it is one.
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(value) => value.as_str(),
        }
    }

    /// The text, or that of an integer, which is taken for identifiers and cursors.
    pub(super) fn text_or_integer(self) -> Option<&'a str> {
        match self {
            Self::Json(JsonValue::Number(number)) => {
                let text = number.text();
                (!text.contains(['.', 'e', 'E'])).then_some(text)
            }
            _ => self.text(),
        }
    }
}

/// A fault, and its place within the value.
#[derive(Debug)]
pub(super) struct ValueFault {
    /// A JSON Pointer from the value on; empty for the value itself.
    pub(super) pointer: String,
    /// The correction, in a sentence.
    pub(super) detail: Cow<'static, str>,
}

/// The faults of a value, one at least.
#[derive(Debug)]
pub(super) struct ValueError(pub(super) Vec<ValueFault>);

impl ValueError {
    pub(super) fn new(detail: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![ValueFault { pointer: String::new(), detail: detail.into() }])
    }

    pub(super) fn at(detail: impl Into<Cow<'static, str>>, name: &str) -> Self {
        Self::new(detail).under(&token(name))
    }

    /// The same, seen from one level further out.
    pub(super) fn under(mut self, name: &str) -> Self {
        for fault in &mut self.0 {
            fault.pointer.insert_str(0, &format!("/{name}"));
        }
        self
    }
}

pub(super) type ParseResult<T> = Result<T, ValueError>;

/// Both values, or the faults of both.
pub(super) fn both<A, B>(one: ParseResult<A>, other: ParseResult<B>) -> ParseResult<(A, B)> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(wrong), Ok(_)) | (Ok(_), Err(wrong)) => Err(wrong),
        (Err(mut wrong), Err(more)) => {
            wrong.0.extend(more.0);
            Err(wrong)
        }
    }
}

/// All values, or the faults of all.
pub(super) fn all<T>(values: impl Iterator<Item = ParseResult<T>>) -> ParseResult<Vec<T>> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for value in values {
        match value {
            Ok(value) => good.push(value),
            Err(more) => wrong.extend(more.0),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(ValueError(wrong)) }
}
