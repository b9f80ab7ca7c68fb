//! What fuzzing reaches of the binding: bodies and headers, as far as they are judged without the
//! forum.

use axum::http::HeaderMap;
use parley_protocol::arguments;
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Profiles;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;
use parley_protocol::wire::JsonBuffer;

use super::dispatch::{Dispatch, McpMethod, McpTask, MessageStep, decide};
use super::error::RpcError;
use super::headers::McpHeaders;
use super::resources::ResourceUri;
use super::rpc_id::RpcId;
use super::tools::ToolCall;

/// What one message of a body comes down to.
#[derive(Debug)]
pub enum MessageOutcome {
    /// Nothing is said to it.
    Silent,
    /// It fails: status, code, and the answer.
    Failed(u16, i32, Vec<u8>),
    /// A request that is carried out, and has no arguments of an operation.
    Other,
    /// A call of a tool, or the reading that a resource stands for, as the forum gets it.
    Call(Box<Result<Call>>),
}

/// Judges a body: one message, or those of a batch.
pub fn judged(
    headers: &HeaderMap,
    body: &[u8],
    limits: &Limits,
    now: Millis,
) -> Vec<MessageOutcome> {
    let judge = |step: &MessageStep<'_>| match step {
        MessageStep::Silent => MessageOutcome::Silent,
        MessageStep::Fail(id, failure) => failed(failure, id.as_ref()),
        MessageStep::Do(task) => carried_out(task, limits, now),
    };
    match decide(&McpHeaders::of(headers), body) {
        Dispatch::One(step) => vec![judge(&step)],
        Dispatch::Batch(steps) => steps.iter().map(judge).collect(),
    }
}

fn failed(failure: &RpcError, id: Option<&RpcId>) -> MessageOutcome {
    let mut out = JsonBuffer::new();
    failure.put(&mut out, id);
    MessageOutcome::Failed(failure.status, failure.code, out)
}

fn carried_out(task: &McpTask<'_>, limits: &Limits, now: Millis) -> MessageOutcome {
    let read = |operation, arguments: &str| {
        let read = arguments::read_mcp(operation, arguments.as_bytes(), limits, now);
        MessageOutcome::Call(Box::new(read.map(|(call, _)| call)))
    };
    match task.method {
        McpMethod::CallTool => match ToolCall::read(&task.params, Profiles::ALL) {
            Ok(call) => read(call.operation, call.arguments),
            Err(failure) => failed(&failure, Some(&task.id)),
        },
        McpMethod::ReadResource => {
            let uri = task.params.text("uri").unwrap_or_default();
            match ResourceUri::parse(&uri) {
                Some(address) => read(address.operation(), &address.arguments()),
                None => MessageOutcome::Other,
            }
        }
        _ => MessageOutcome::Other,
    }
}
