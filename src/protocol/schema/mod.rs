//! Schemas from the table of operations: for MCP tools in the portable form that every client
//! takes (mcp.md §4), and an OpenAPI 3.1 document in full JSON Schema.
//!
//! Both come from the same fields and the same types of answers.

mod field;
mod openapi;
mod output;
mod output_value;
mod paths;
mod strings;
mod tool;

pub use openapi::{BEYOND_SCHEMA, OpenApiFacts, openapi};
pub use tool::{annotations, input_schema, output_schema, tool};

use serde_json::{Value, json};

/// Adds a member to an object; anything else stays as it is.
fn with(mut object: Value, name: &str, value: impl Into<Value>) -> Value {
    if let Value::Object(members) = &mut object {
        members.insert(name.to_owned(), value.into());
    }
    object
}

/// An object out of named values.
fn members<K: Into<String>>(members: impl IntoIterator<Item = (K, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// The schema of an object of these properties and no others.
fn closed<K: Into<String>>(
    properties: impl IntoIterator<Item = (K, Value)>,
    required: &[&str],
) -> Value {
    json!({
        "type": "object",
        "properties": members(properties),
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests;
