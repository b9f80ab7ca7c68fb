//! Parses headers and body of a POST into the steps to perform (mcp.md §1 to §3). Pure: no server
//! state.

use serde_json::value::RawValue;

use super::envelope::{self, Params, RpcBody, RpcMessage, RpcRequest};
use super::error::RpcError;
use super::family;
use super::headers::{self, McpHeaders};
use super::method::McpMethod;
use super::revision::{ProtocolFamily, Revision, VERSION};
use super::rpc_id::RpcId;

/// Entries of a batch, at most.
pub const BATCH_MAX: usize = 50;

/// The steps of a body.
#[derive(Debug)]
pub enum Dispatch<'b> {
    /// One message.
    One(MessageStep<'b>),
    /// A batch, whose entries are performed one by one and answered together.
    Batch(Vec<MessageStep<'b>>),
}

/// The step of one message.
#[derive(Debug)]
pub enum MessageStep<'b> {
    /// It gets no answer.
    NoReply,
    /// It fails; the answer names the id, if the message had one.
    Fail(Option<RpcId>, RpcError),
    /// It is performed.
    Perform(McpTask<'b>),
}

/// A request to perform.
#[derive(Debug)]
pub struct McpTask<'b> {
    /// The id of the answer.
    pub id: RpcId,
    /// The protocol family, which determines the form of the answer.
    pub family: ProtocolFamily,
    /// The method.
    pub method: McpMethod,
    /// Its parameters.
    pub params: Params<'b>,
}

/// Parses a body into steps.
pub fn dispatch<'b>(headers: &McpHeaders<'_>, bytes: &'b [u8]) -> Dispatch<'b> {
    match RpcBody::read(bytes) {
        Err(failure) => Dispatch::One(MessageStep::Fail(None, failure)),
        Ok(RpcBody::One(text)) => Dispatch::One(step(headers, text, false)),
        Ok(RpcBody::Batch(entries)) => batch(headers, &entries),
    }
}

fn step<'b>(headers: &McpHeaders<'_>, text: &'b str, is_of_batch: bool) -> MessageStep<'b> {
    let request = match envelope::read(text) {
        Ok(RpcMessage::NoReply) => return MessageStep::NoReply,
        Ok(RpcMessage::Request(request)) => request,
        Err((id, failure)) => return MessageStep::Fail(id, failure),
    };
    let id = request.id.clone();
    let modern = request.params.as_ref().is_ok_and(|params| params.meta(VERSION).is_some());
    if is_of_batch && (modern || request.method == "initialize") {
        let message = "This cannot stand in a batch. Send it alone.";
        return MessageStep::Fail(Some(id), RpcError::no_request(message));
    }
    task(headers, request)
        .map_or_else(|failure| MessageStep::Fail(Some(id), failure), MessageStep::Perform)
}

fn task<'b>(headers: &McpHeaders<'_>, request: RpcRequest<'b>) -> Result<McpTask<'b>, RpcError> {
    let family = family::of_request(&request, headers)?;
    if family == ProtocolFamily::Modern
        && let Ok(params) = &request.params
    {
        headers::check(&request, params, headers)?;
    }
    let RpcRequest { id, method: name, params } = request;
    let params = params.map_err(RpcError::params)?;
    let status = if family == ProtocolFamily::Modern { 404 } else { 200 };
    match McpMethod::parse(&name, family) {
        Some(method) => Ok(McpTask { id, family, method, params }),
        None => Err(RpcError::no_method(status, &name)),
    }
}

/// The steps of a batch, which only the first revisions have.
fn batch<'b>(headers: &McpHeaders<'_>, entries: &[&'b RawValue]) -> Dispatch<'b> {
    let refuse =
        |message: String| Dispatch::One(MessageStep::Fail(None, RpcError::no_request(message)));
    if !family::legacy_of(headers.version).is_ok_and(Revision::has_batches) {
        let first = Revision::March2025.as_str();
        return refuse(format!(
            "Batches exist in revision {first} only. Send one message at a time."
        ));
    }
    if entries.is_empty() || entries.len() > BATCH_MAX {
        return refuse(format!("A batch has 1 to {BATCH_MAX} entries."));
    }
    Dispatch::Batch(entries.iter().map(|entry| step(headers, entry.get(), true)).collect())
}
