//! What fuzzing reaches of the binding: bodies and headers, as far as they are judged without the
//! forum.

use axum::http::HeaderMap;
use parley_protocol::arguments;
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Profiles;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;
use parley_protocol::wire::Out;

use super::decide::{Decision, Method, Step, Task, decide};
use super::envelope::Id;
use super::failure::Failure;
use super::headers::Headers;
use super::resources::Address;
use super::tools::ToolCall;

/// What one message of a body comes down to.
#[derive(Debug)]
pub enum Judged {
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
pub fn judged(headers: &HeaderMap, body: &[u8], limits: &Limits, now: Millis) -> Vec<Judged> {
    let judge = |step: &Step<'_>| match step {
        Step::Silent => Judged::Silent,
        Step::Fail(id, failure) => failed(failure, id.as_ref()),
        Step::Do(task) => carried_out(task, limits, now),
    };
    match decide(&Headers::of(headers), body) {
        Decision::One(step) => vec![judge(&step)],
        Decision::Batch(steps) => steps.iter().map(judge).collect(),
    }
}

fn failed(failure: &Failure, id: Option<&Id>) -> Judged {
    let mut out = Out::new();
    failure.put(&mut out, id);
    Judged::Failed(failure.status, failure.code, out)
}

fn carried_out(task: &Task<'_>, limits: &Limits, now: Millis) -> Judged {
    let read = |operation, arguments: &str| {
        let read = arguments::read_mcp(operation, arguments.as_bytes(), limits, now);
        Judged::Call(Box::new(read.map(|(call, _)| call)))
    };
    match task.method {
        Method::CallTool => match ToolCall::read(&task.params, Profiles::ALL) {
            Ok(call) => read(call.operation, call.arguments),
            Err(failure) => failed(&failure, Some(&task.id)),
        },
        Method::ReadResource => {
            let uri = task.params.text("uri").unwrap_or_default();
            match Address::parse(&uri) {
                Some(address) => read(address.operation(), &address.arguments()),
                None => Judged::Other,
            }
        }
        _ => Judged::Other,
    }
}
