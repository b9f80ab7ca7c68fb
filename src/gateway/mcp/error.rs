//! JSON-RPC errors and their HTTP statuses (mcp.md §2, §3).

use std::borrow::Cow;

use parley_protocol::refusal::{Reason, Refusal};
use parley_protocol::wire::{JsonBuffer, raw, text};
use serde_json::{Value, json};

use super::revision::served;
use super::rpc_id::RpcId;

/// The body is not JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The message is no request.
pub const INVALID_REQUEST: i32 = -32_600;
/// The family has no such method.
pub const METHOD_NOT_FOUND: i32 = -32_601;
/// `params` are malformed or name something unknown.
pub const INVALID_PARAMS: i32 = -32_602;
/// A header is missing or differs from the body.
pub const HEADER_MISMATCH: i32 = -32_020;
/// The protocol version is not served.
pub const VERSION_NOT_SERVED: i32 = -32_022;
/// There is no such resource (legacy revisions).
pub const RESOURCE_NOT_FOUND: i32 = -32_002;

/// Characters of an unknown method's name that an error repeats, at most.
const METHOD_SHOWN_MAX: usize = 64;

/// The error response to a message.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC code.
    pub code: i32,
    /// The fault and what to do; of a refusal its reason.
    pub message: Cow<'static, str>,
    /// Additional data for clients.
    pub data: Option<Value>,
    /// The refusal behind the error, whose headers the answer has too.
    pub refusal: Option<Box<Refusal>>,
}

impl RpcError {
    /// An error without data.
    pub fn new(status: u16, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), data: None, refusal: None }
    }

    /// 400, -32600.
    pub fn no_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, INVALID_REQUEST, message)
    }

    /// 200, -32602.
    pub fn params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(200, INVALID_PARAMS, message)
    }

    /// 400, -32602: a fault in `_meta`.
    pub fn meta(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, INVALID_PARAMS, message)
    }

    /// 400, -32020.
    pub fn header(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, HEADER_MISMATCH, message)
    }

    /// -32601: 404 in modern revisions, 200 in legacy ones.
    pub fn no_method(status: u16, method: &str) -> Self {
        let shown: String = method.chars().take(METHOD_SHOWN_MAX).collect();
        Self::new(status, METHOD_NOT_FOUND, format!("Method not found: {shown}"))
    }

    /// 400, -32022, naming the served revisions.
    pub fn version(requested: &str) -> Self {
        let data = json!({ "supported": served(), "requested": requested });
        let message = "Unsupported protocol version. `data.supported` names those served.";
        Self { data: Some(data), ..Self::new(400, VERSION_NOT_SERVED, message) }
    }

    /// Appends the error response to the request `id`, if one could be read.
    pub fn put(&self, out: &mut JsonBuffer, id: Option<&RpcId>) {
        raw(out, "{\"jsonrpc\":\"2.0\"");
        if let Some(id) = id {
            raw(out, ",\"id\":");
            raw(out, id.text());
        }
        raw(out, ",\"error\":{\"code\":");
        raw(out, &self.code.to_string());
        raw(out, ",\"message\":");
        text(out, &self.message);
        if let Some(data) = &self.data {
            raw(out, ",\"data\":");
            serde_json::to_writer(&mut *out, data).expect("a value is written into memory");
        } else if let Some(refusal) = &self.refusal {
            raw(out, ",\"data\":");
            out.extend_from_slice(&refusal.to_json());
        }
        raw(out, "}}");
    }

    /// The reason under which the outcome is counted.
    pub fn reason(&self) -> Reason {
        match (&self.refusal, self.code) {
            (Some(refusal), _) => refusal.reason,
            (None, METHOD_NOT_FOUND | RESOURCE_NOT_FOUND) => Reason::NotFound,
            (None, INVALID_PARAMS | HEADER_MISMATCH | VERSION_NOT_SERVED) => {
                Reason::InvalidParameter
            }
            (None, _) => Reason::InvalidBody,
        }
    }
}

impl From<Refusal> for RpcError {
    /// Code and status are the status of the reason; `data` is the problem object.
    fn from(refusal: Refusal) -> Self {
        let status = refusal.reason.status();
        let failure = Self::new(status, status.into(), refusal.reason.as_str());
        Self { refusal: Some(Box::new(refusal)), ..failure }
    }
}
