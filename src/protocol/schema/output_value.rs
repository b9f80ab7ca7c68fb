//! The types of answers, rendered twice: portably for MCP, fully for OpenAPI.

use serde_json::{Value, json};

use super::members;

/// The type of a value in an answer.
#[derive(Clone, Debug)]
pub(super) enum OutputValue {
    /// A string.
    Text,
    /// An RFC 3339 time.
    Time,
    /// One of these strings.
    Words(Vec<&'static str>),
    /// A whole number, 0 or more.
    Count,
    /// `true` or `false`.
    Truth,
    /// An object of these members, and perhaps more.
    Object(Vec<OutputMember>),
    /// An object of any members.
    AnyObject,
    /// A list.
    List(Box<OutputValue>),
    /// The value or null.
    Maybe(Box<OutputValue>),
    /// One of two types.
    Either(Box<OutputValue>, Box<OutputValue>),
    /// An object that has a name.
    Named(OutputObject),
    /// An object that has a name and holds itself.
    Within(OutputObject),
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(super) struct OutputMember {
    name: &'static str,
    of: OutputValue,
    required: bool,
}

/// A member that is always there.
pub(super) fn always(name: &'static str, of: OutputValue) -> OutputMember {
    OutputMember { name, of, required: true }
}

/// A member that may be missing.
pub(super) fn sometimes(name: &'static str, of: OutputValue) -> OutputMember {
    OutputMember { name, of, required: false }
}

/// A list of `of`.
pub(super) fn list(of: OutputValue) -> OutputValue {
    OutputValue::List(Box::new(of))
}

/// `of` or null.
pub(super) fn maybe(of: OutputValue) -> OutputValue {
    OutputValue::Maybe(Box::new(of))
}

names! {
    /// The objects that have a name, that of OpenAPI's components.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OutputObject {
        /// (identity, extension).
        Participant = "Participant",
        /// The open turn.
        Awaiting = "Awaiting",
        /// A message.
        Message = "Message",
        /// A message as a reading shows it: in a tree with its replies.
        ShownMessage = "ShownMessage",
        /// A thread.
        Thread = "Thread",
        /// A change of state.
        Event = "Event",
        /// A piece of evidence.
        Evidence = "Evidence",
        /// A claim.
        Claim = "Claim",
        /// An artifact.
        Artifact = "Artifact",
        /// The report on a closure.
        Report = "Report",
        /// A token, never its secret.
        Token = "Token",
        /// A refusal.
        Problem = "Problem",
    }
}

impl OutputValue {
    /// The schema that every MCP client takes: one `type` a property, nothing by reference. `None`
    /// for a value that has two types or may be null: it stays undeclared.
    pub(super) fn portable(&self) -> Option<Value> {
        Some(match self {
            Self::Text | Self::Time => json!({ "type": "string" }),
            Self::Words(words) => json!({ "type": "string", "enum": words }),
            Self::Count => json!({ "type": "integer", "minimum": 0 }),
            Self::Truth => json!({ "type": "boolean" }),
            Self::AnyObject | Self::Within(_) => json!({ "type": "object" }),
            Self::Object(parts) => object(parts, Self::portable),
            Self::List(of) => json!({ "type": "array", "items": of.portable()? }),
            Self::Named(named) => named.of().portable()?,
            Self::Maybe(_) | Self::Either(..) => return None,
        })
    }

    /// The full schema: null where it is admitted, objects by reference.
    pub(super) fn full(&self) -> Value {
        match self {
            Self::Time => json!({ "type": "string", "format": "date-time" }),
            Self::Object(parts) => object(parts, |of| Some(of.full())),
            Self::List(of) => json!({ "type": "array", "items": of.full() }),
            Self::Maybe(of) => json!({ "anyOf": [of.full(), { "type": "null" }] }),
            Self::Either(one, other) => json!({ "anyOf": [one.full(), other.full()] }),
            Self::Named(named) | Self::Within(named) => {
                json!({ "$ref": format!("#/components/schemas/{}", named.as_str()) })
            }
            plain => plain.portable().unwrap_or_default(),
        }
    }
}

fn object(parts: &[OutputMember], render: impl Fn(&OutputValue) -> Option<Value>) -> Value {
    let declared: Vec<_> =
        parts.iter().filter_map(|part| Some((part, render(&part.of)?))).collect();
    let required: Vec<_> =
        declared.iter().filter(|(part, _)| part.required).map(|(part, _)| part.name).collect();
    json!({
        "type": "object",
        "properties": members(declared.into_iter().map(|(part, schema)| (part.name, schema))),
        "required": required,
    })
}
