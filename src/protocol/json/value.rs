//! The values that the reader returns.

use std::ops::Range;

/// A JSON value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    /// `null`, which is a value and not an absence.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, by its text.
    Number(JsonNumber),
    /// A string, unescaped.
    String(String),
    /// A string that holds an unpaired surrogate and thus is no Unicode text; only
    /// [`parse_keeping_surrogates`](super::parse_keeping_surrogates) returns it.
    Surrogate,
    /// An array.
    Array(Vec<JsonValue>),
    /// An object.
    Object(JsonObject),
}

impl JsonValue {
    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&JsonObject> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// A number, kept as its text: readers interpret it differently, and a float would
/// round it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonNumber(Box<str>);

impl JsonNumber {
    /// Wraps a text that follows the grammar of JSON numbers.
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value of an integer written without sign, fraction and exponent; `None` for any
    /// other text and beyond 64 bits.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The value of an integer written without fraction and exponent, `-0` being 0; `None`
    /// for any other text and beyond 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonMember {
    /// The name, unescaped.
    pub name: String,
    /// The value.
    pub value: JsonValue,
    /// The range of the value's text in the input, in bytes, without white space around it.
    /// Some members are judged by their own text (an artifact handed over as an argument),
    /// and reading it a second time from a re-serialized value would lose its faults.
    pub span: Range<usize>,
}

/// An object: its members in the order they were written, no name twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonObject {
    members: Vec<JsonMember>,
}

impl JsonObject {
    /// Wraps members whose names are known to differ.
    pub(crate) fn from_members(members: Vec<JsonMember>) -> Self {
        Self { members }
    }

    /// The value of the member of that name. Linear in the number of members: callers ask
    /// for a fixed list of names.
    pub fn get(&self, name: &str) -> Option<&JsonValue> {
        self.member(name).map(|member| &member.value)
    }

    /// The member of that name, with its place in the input.
    pub fn member(&self, name: &str) -> Option<&JsonMember> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Names and values in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &JsonValue)> {
        self.members.iter().map(|member| (member.name.as_str(), &member.value))
    }

    /// The members in the order they were written.
    pub fn members(&self) -> &[JsonMember] {
        &self.members
    }

    /// Consumes the object; its members in the order they were written.
    pub fn into_members(self) -> Vec<JsonMember> {
        self.members
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
