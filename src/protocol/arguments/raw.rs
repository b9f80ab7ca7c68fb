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

/// The fault of a value, and its place within it.
#[derive(Debug)]
pub(super) struct ValueError {
    /// A JSON Pointer from the value on; empty for the value itself.
    pub(super) pointer: String,
    /// The correction, in a sentence.
    pub(super) detail: Cow<'static, str>,
}

impl ValueError {
    pub(super) fn new(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { pointer: String::new(), detail: detail.into() }
    }

    pub(super) fn at(detail: impl Into<Cow<'static, str>>, name: &str) -> Self {
        Self::new(detail).under(&token(name))
    }

    /// The same, seen from one level further out.
    pub(super) fn under(self, name: &str) -> Self {
        Self { pointer: format!("/{name}{}", self.pointer), ..self }
    }
}

pub(super) type ParseResult<T> = Result<T, ValueError>;
