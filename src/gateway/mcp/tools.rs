//! Tools (mcp.md §4): the operations of the table. Each answer is sent as text and as an object.

use std::sync::OnceLock;

use bytes::Bytes;
use parley_protocol::command::{Language, ManifestPart};
use parley_protocol::operation::{Operation, Profiles};
use parley_protocol::refusal::Reason;
use parley_protocol::wire::{JsonBuffer, raw};

use super::envelope::Params;
use super::error::RpcError;
use super::result::{ResultMembers, quoted};

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'b> {
    /// The operation.
    pub operation: Operation,
    /// The text of its arguments, an object.
    pub arguments: &'b str,
}

impl<'b> ToolCall<'b> {
    /// Parses the parameters of `tools/call`.
    ///
    /// # Errors
    /// -32602: an unknown tool, or malformed parameters.
    pub fn read(params: &Params<'b>, profiles: Profiles) -> Result<Self, RpcError> {
        let Some(name) = params.text("name") else {
            return Err(RpcError::params("`name` must be the name of a tool."));
        };
        let named = profiles.operations().find(|operation| operation.as_str() == name);
        let Some(operation) = named else {
            return Err(RpcError::params("Unknown tool. `tools/list` names those there are."));
        };
        let arguments = params.get("arguments").map_or("{}", |raw| raw.get());
        if !arguments.starts_with('{') {
            return Err(RpcError::params("`arguments` must be an object."));
        }
        Ok(Self { operation, arguments })
    }
}

/// The results of `get_manifest`, the largest and most frequent ones, one per part and
/// language, found by the address of the answer's bytes.
#[derive(Debug, Default)]
pub struct ManifestResults([OnceLock<(Bytes, ResultMembers)>; MANIFESTS]);

/// The documents of the manifest.
const MANIFESTS: usize = Language::ALL.len() * ManifestPart::ALL.len();

impl ManifestResults {
    /// The result for an answer of `get_manifest`.
    pub fn answered(&self, body: Bytes) -> ResultMembers {
        for one in &self.0 {
            let (known, done) = one.get_or_init(|| (body.clone(), answered(body.clone())));
            if (known.as_ptr(), known.len()) == (body.as_ptr(), body.len()) {
                return done.clone();
            }
        }
        answered(body)
    }
}

/// The result for a successful answer, a JSON object.
pub fn answered(json: Bytes) -> ResultMembers {
    let mut out = JsonBuffer::with_capacity(json.len() + json.len() / 4 + 128);
    content(&mut out, &json);
    raw(&mut out, ",\"structuredContent\":");
    ResultMembers::of([out.into(), json, Bytes::from_static(b",\"isError\":false")])
}

/// The result for a problem object.
pub fn problem(json: &[u8], reason: Option<Reason>) -> ResultMembers {
    let mut out = JsonBuffer::with_capacity(json.len() + json.len() / 4 + 64);
    content(&mut out, json);
    raw(&mut out, ",\"isError\":true");
    ResultMembers { reason, ..ResultMembers::new(out) }
}

fn content(out: &mut JsonBuffer, json: &[u8]) {
    raw(out, "\"content\":[{\"type\":\"text\",\"text\":");
    quoted(out, json);
    raw(out, "}]");
}
