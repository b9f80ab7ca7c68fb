//! The id of a JSON-RPC request (mcp.md §2).

use parley_protocol::json::{self, JsonValue};
use serde_json::value::RawValue;

/// The text of a request's `id`: a string, or an integer within 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcId(Box<str>);

impl RpcId {
    /// The JSON text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Parses an id; `None` for other values.
    pub fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        // Most ids are small numbers, which need no parser.
        let is_small = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let good = is_small
            || match json::parse(text.as_bytes(), 1) {
                Ok(JsonValue::String(_)) => true,
                Ok(JsonValue::Number(number)) => number.as_i64().is_some(),
                _ => false,
            };
        good.then(|| Self(text.into()))
    }
}
