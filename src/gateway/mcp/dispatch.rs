//! From headers and bytes to what is to be done, before anything is done (mcp.md §1 to §3).

use serde_json::value::RawValue;

use super::envelope::{self, Params, RpcBody, RpcMessage, RpcRequest};
use super::error::RpcError;
use super::family::{self, ProtocolFamily};
use super::headers::{self, McpHeaders};
use super::revision::{Revision, VERSION};
use super::rpc_id::RpcId;

/// Entries of a batch at most.
pub const BATCH_MAX: usize = 50;

/// What a body comes down to.
#[derive(Debug)]
pub enum Dispatch<'b> {
    /// One message.
    One(MessageStep<'b>),
    /// Several, to be judged one by one and answered together.
    Batch(Vec<MessageStep<'b>>),
}

/// What one message comes down to.
#[derive(Debug)]
pub enum MessageStep<'b> {
    /// Nothing is said to it.
    NoReply,
    /// It fails, answered to the id if it had one.
    Fail(Option<RpcId>, RpcError),
    /// It is to be carried out.
    Perform(McpTask<'b>),
}

/// A request that may be carried out.
#[derive(Debug)]
pub struct McpTask<'b> {
    /// What the answer names.
    pub id: RpcId,
    /// The family, which forms the answer.
    pub family: ProtocolFamily,
    /// What is asked for.
    pub method: McpMethod,
    /// With what.
    pub params: Params<'b>,
}

/// The methods served, in one family or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpMethod {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `ping`.
    Ping,
    /// `logging/setLevel`.
    SetLevel,
    /// `tools/list`.
    ListTools,
    /// `tools/call`.
    CallTool,
    /// `resources/list`.
    ListResources,
    /// `resources/templates/list`.
    ListTemplates,
    /// `resources/read`.
    ReadResource,
    /// `prompts/list`.
    ListPrompts,
    /// `prompts/get`.
    GetPrompt,
    /// `subscriptions/listen`.
    Listen,
}

const METHODS: [(&str, McpMethod, bool, bool); 12] = [
    // Name, method, in legacy revisions, in modern ones.
    ("initialize", McpMethod::Initialize, true, false),
    ("server/discover", McpMethod::Discover, false, true),
    ("ping", McpMethod::Ping, true, false),
    ("logging/setLevel", McpMethod::SetLevel, true, false),
    ("tools/list", McpMethod::ListTools, true, true),
    ("tools/call", McpMethod::CallTool, true, true),
    ("resources/list", McpMethod::ListResources, true, true),
    ("resources/templates/list", McpMethod::ListTemplates, true, true),
    ("resources/read", McpMethod::ReadResource, true, true),
    ("prompts/list", McpMethod::ListPrompts, true, true),
    ("prompts/get", McpMethod::GetPrompt, true, true),
    ("subscriptions/listen", McpMethod::Listen, false, true),
];

impl McpMethod {
    /// The method of a name, if the family has it.
    pub fn parse(name: &str, family: ProtocolFamily) -> Option<Self> {
        let (_, method, legacy, modern) = METHODS.into_iter().find(|(known, ..)| *known == name)?;
        let there = if family == ProtocolFamily::Modern { modern } else { legacy };
        there.then_some(method)
    }
}

/// Decides about a body.
pub fn dispatch<'b>(headers: &McpHeaders<'_>, bytes: &'b [u8]) -> Dispatch<'b> {
    match RpcBody::read(bytes) {
        Err(failure) => Dispatch::One(MessageStep::Fail(None, failure)),
        Ok(RpcBody::One(text)) => Dispatch::One(step(headers, text)),
        Ok(RpcBody::Batch(entries)) => batch(headers, &entries),
    }
}

fn step<'b>(headers: &McpHeaders<'_>, text: &'b str) -> MessageStep<'b> {
    match envelope::read(text) {
        Ok(RpcMessage::NoReply) => MessageStep::NoReply,
        Ok(RpcMessage::Request(request)) => {
            let id = request.id.clone();
            task(headers, request)
                .map_or_else(|failure| MessageStep::Fail(Some(id), failure), MessageStep::Perform)
        }
        Err((id, failure)) => MessageStep::Fail(id, failure),
    }
}

fn task<'b>(headers: &McpHeaders<'_>, request: RpcRequest<'b>) -> Result<McpTask<'b>, RpcError> {
    let family = family::judge(&request, headers)?;
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

/// A batch exists in the first revision only.
fn batch<'b>(headers: &McpHeaders<'_>, entries: &[&'b RawValue]) -> Dispatch<'b> {
    let whole = |message: &'static str| {
        Dispatch::One(MessageStep::Fail(None, RpcError::no_request(message)))
    };
    if family::legacy_of(headers.version) != Ok(Revision::March2025) {
        return whole("Batches exist in revision 2025-03-26 only. Send one message at a time.");
    }
    if entries.is_empty() || entries.len() > BATCH_MAX {
        return whole("A batch has 1 to 50 entries.");
    }
    Dispatch::Batch(entries.iter().map(|entry| entry_of_batch(headers, entry.get())).collect())
}

fn entry_of_batch<'b>(headers: &McpHeaders<'_>, text: &'b str) -> MessageStep<'b> {
    let request = match envelope::read(text) {
        Ok(RpcMessage::NoReply) => return MessageStep::NoReply,
        Ok(RpcMessage::Request(request)) => request,
        Err((id, failure)) => return MessageStep::Fail(id, failure),
    };
    let id = request.id.clone();
    let modern = request.params.as_ref().is_ok_and(|params| params.meta(VERSION).is_some());
    if modern || request.method == "initialize" {
        let message = "This cannot stand in a batch. Send it alone.";
        return MessageStep::Fail(Some(id), RpcError::no_request(message));
    }
    task(headers, request)
        .map_or_else(|failure| MessageStep::Fail(Some(id), failure), MessageStep::Perform)
}
