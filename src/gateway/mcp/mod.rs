//! The MCP binding (mcp.md): JSON-RPC over POST, stateless, in legacy revisions and the modern one.
//!
//! [`dispatch::dispatch`] parses a body into steps from headers and bytes alone; this module
//! performs them with the same operations, rights and forum as over HTTP. Failures become JSON-RPC
//! errors.

pub(crate) mod dispatch;
mod documents;
mod envelope;
pub(crate) mod error;
mod family;
pub(crate) mod headers;
mod listen;
pub(crate) mod method;
mod progress;
pub(crate) mod resources;
pub(crate) mod result;
mod revision;
pub(crate) mod rpc_id;
mod texts;
pub(crate) mod tools;

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use parley_protocol::arguments;
use parley_protocol::command::Call;
use parley_protocol::identity::Principal;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Operation;
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::wire::{JsonBuffer, raw};

pub(super) use documents::Documents;

use dispatch::{Dispatch, McpTask, MessageStep, dispatch};
use documents::only_page;
use error::RpcError;
use headers::McpHeaders;
use method::McpMethod;
use resources::ResourceUri;
use result::ResultMembers;
use revision::ProtocolFamily;
use rpc_id::RpcId;
use tools::ToolCall;

use super::accept::MediaTypes;
use super::answer::{self, HttpResponse, JSON, reasoned};
use super::{Gateway, RequestContext, check_rights};
use crate::budget::{Budget, Holder};
use crate::forum::{Answer, Forum};
use crate::telemetry::RequestLabel;

/// Bytes of a message beyond the limit of an HTTP body, at most (mcp.md §2).
const MESSAGE_BYTES_EXTRA: u64 = 16_384;
/// The media types of a message; those of its answer depend on what it asks.
const BODY: MediaTypes = MediaTypes { body: &["application/json"], answer: &[] };

/// Bytes of an answer from which on its result is made off the runtime, and counted in the budget
/// of answers.
const RESULT_BYTES_ASIDE: usize = 16 << 10;

/// The outcome of a task.
enum TaskOutcome {
    Done(ResultMembers),
    /// A streamed response.
    Stream(HttpResponse),
}

/// A refusal before a message was read.
pub(super) fn refused(refusal: &Refusal) -> HttpResponse {
    failed(&RpcError::from(refusal.clone()), None)
}

fn failed(failure: &RpcError, id: Option<&RpcId>) -> HttpResponse {
    let mut out = JsonBuffer::new();
    failure.put(&mut out, id);
    let mut reply = match &failure.refusal {
        // A refusal has the same headers as over HTTP.
        Some(refusal) => answer::refused(refusal).map(|_| out.into()),
        None => answer::bytes(status(failure.status), JSON, out.into()),
    };
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply.extensions_mut().insert(failure.reason());
    reply
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// An event stream of `body`.
fn events(body: axum::body::Body) -> HttpResponse {
    answer::events(body)
}

impl Gateway {
    /// Answers one POST: checks size, token and type, then performs the messages.
    pub(super) async fn mcp(&self, context: &mut RequestContext<'_>) -> Result<HttpResponse> {
        let bytes_max = self.parts.config.limits.request_bytes_max + MESSAGE_BYTES_EXTRA;
        let principal = self.principal(context);
        let declared = context.body.size_hint();
        // The size goes before the token; a body whose size is declared need not be read for it.
        if principal.is_err() && declared.exact().is_some_and(|bytes| bytes <= bytes_max) {
            return Err(principal.err().unwrap_or_else(Refusal::internal));
        }
        let known = principal.as_ref().ok().and_then(Option::as_deref);
        let holder = self.holder(context, known);
        let body = self.body_up_to(context, &holder, BODY, bytes_max).await;
        let is_too_large = |refusal: &Refusal| refusal.reason == Reason::RequestTooLarge;
        if !body.as_ref().is_err_and(is_too_large) {
            principal.as_ref().map_err(Clone::clone)?;
        }
        let (body, principal) = (body?, principal?);
        let principal = principal.as_ref();
        let streamed = result::wants_event(&context.head.headers);
        let headers = McpHeaders::of(&context.head.headers);
        match dispatch(&headers, &body) {
            Dispatch::One(MessageStep::NoReply) => Ok(answer::empty(StatusCode::ACCEPTED)),
            Dispatch::One(MessageStep::Fail(id, failure)) => Ok(failed(&failure, id.as_ref())),
            Dispatch::One(MessageStep::Perform(task)) => {
                let held = principal.and_then(|it| self.read_with_progress(context, it, &task));
                if let Some(answered) = held {
                    return answered.or_else(|refusal| {
                        let done = tools::problem(&refusal.to_json(), Some(refusal.reason));
                        self.reply(&holder, done, &task, streamed)
                    });
                }
                Ok(match self.perform_task(context, principal, &task).await {
                    Ok(TaskOutcome::Done(done)) => self.reply(&holder, done, &task, streamed)?,
                    Ok(TaskOutcome::Stream(reply)) => reply,
                    Err(failure) => failed(&failure, Some(&task.id)),
                })
            }
            Dispatch::Batch(steps) => {
                self.batch(context, principal, &holder, &steps, streamed).await
            }
        }
    }

    /// The response with a result, as JSON or as one event.
    fn reply(
        &self,
        holder: &Holder,
        done: ResultMembers,
        task: &McpTask<'_>,
        streamed: bool,
    ) -> Result<HttpResponse> {
        let (reason, server) = (done.reason, &self.documents.server);
        if streamed {
            let mut out = JsonBuffer::new();
            done.put(&mut out, &task.id, task.family, server);
            let event = self.answer_bytes.hold_answer(holder, result::event(&out))?;
            return Ok(reasoned(events(event.into()), reason));
        }
        let segments = done.segments(&task.id, task.family, server);
        Ok(reasoned(answer::segmented(StatusCode::OK, JSON, segments), reason))
    }

    /// Performs the entries one by one; the answers have their order. Entries that begin once the
    /// bytes of an answer are used up are refused.
    async fn batch(
        &self,
        context: &mut RequestContext<'_>,
        principal: Option<&Arc<Principal>>,
        holder: &Holder,
        steps: &[MessageStep<'_>],
        streamed: bool,
    ) -> Result<HttpResponse> {
        let bytes_max = self.parts.config.limits.answer_bytes_max;
        let mut hold = self.answer_bytes.hold(holder, 0)?;
        let mut out = JsonBuffer::new();
        for step in steps {
            // One entry may take long; other tasks are served between two.
            tokio::task::yield_now().await;
            let mut one = JsonBuffer::new();
            context.label = RequestLabel::Other;
            match step {
                MessageStep::NoReply => continue,
                MessageStep::Fail(id, failure) => failure.put(&mut one, id.as_ref()),
                MessageStep::Perform(task) if out.len() as u64 >= bytes_max => {
                    RpcError::from(Refusal::batch_too_long(bytes_max))
                        .put(&mut one, Some(&task.id));
                }
                MessageStep::Perform(task) => {
                    match self.perform_task(context, principal, task).await {
                        Ok(TaskOutcome::Done(done)) => {
                            done.put(&mut one, &task.id, task.family, &self.documents.server);
                        }
                        // Streams exist in no revision with batches.
                        Ok(TaskOutcome::Stream(_)) => continue,
                        Err(failure) => failure.put(&mut one, Some(&task.id)),
                    }
                }
            }
            if let Err(refusal) = hold.grow(one.len())
                && let MessageStep::Perform(task) = step
                && !matches!(context.label, RequestLabel::Operation(it) if it.writes())
            {
                one.clear();
                self.refuse_entry(&mut one, task, &refusal);
            }
            out.push(if out.is_empty() { b'[' } else { b',' });
            out.append(&mut one);
        }
        context.label = RequestLabel::Other;
        if out.is_empty() {
            return Ok(answer::empty(StatusCode::ACCEPTED));
        }
        raw(&mut out, "]");
        Ok(if streamed {
            events(hold.around(result::event(&out)).into())
        } else {
            answer::json(hold.around(out.into()))
        })
    }

    /// Puts the answer to an entry of a batch that is refused for its answer's bytes.
    fn refuse_entry(&self, out: &mut JsonBuffer, task: &McpTask<'_>, refusal: &Refusal) {
        if task.method == McpMethod::CallTool {
            tools::problem(&refusal.to_json(), Some(refusal.reason)).put(
                out,
                &task.id,
                task.family,
                &self.documents.server,
            );
        } else {
            RpcError::from(refusal.clone()).put(out, Some(&task.id));
        }
    }

    /// Performs one request; refuses it without a token, if its method needs one.
    async fn perform_task(
        &self,
        context: &mut RequestContext<'_>,
        principal: Option<&Arc<Principal>>,
        task: &McpTask<'_>,
    ) -> Result<TaskOutcome, RpcError> {
        let principal = match principal {
            Some(principal) => principal,
            None if is_free(task) => &self.anonymous,
            None => return Err(Self::token_missing(context).into()),
        };
        let done = match task.method {
            McpMethod::Initialize => match task.family {
                ProtocolFamily::Legacy(revision) => self.documents.initialize(revision),
                ProtocolFamily::Modern => return Err(RpcError::no_method(404, "initialize")),
            },
            McpMethod::Discover => Documents::discover(),
            McpMethod::Ping | McpMethod::SetLevel => ResultMembers::new(JsonBuffer::new()),
            McpMethod::ListTools => only_page(&self.documents.tools, &task.params)?,
            McpMethod::ListResources => only_page(&self.documents.resources, &task.params)?,
            McpMethod::ListTemplates => only_page(&self.documents.templates, &task.params)?,
            McpMethod::ListPrompts => only_page(&self.documents.prompts, &task.params)?,
            McpMethod::GetPrompt => Documents::prompt(&task.params)?,
            McpMethod::CallTool => self.call_tool(context, principal, task).await?,
            McpMethod::ReadResource => self.read_resource(context, principal, task).await?,
            McpMethod::Listen => {
                context.label = RequestLabel::Feed;
                context.held = true;
                return self.listen(context, principal, task).await.map(TaskOutcome::Stream);
            }
        };
        Ok(TaskOutcome::Done(done))
    }

    async fn call_tool(
        &self,
        context: &mut RequestContext<'_>,
        principal: &Principal,
        task: &McpTask<'_>,
    ) -> Result<ResultMembers, RpcError> {
        let call = ToolCall::read(&task.params, self.profiles)?;
        context.label = RequestLabel::Operation(call.operation);
        match self.perform_tool(context, principal, call).await {
            Ok(answer) if answer.is_refusal() => Ok(tools::problem(&answer.body, None)),
            Ok(answer) if call.operation == Operation::GetManifest => {
                Ok(self.documents.manifests.answered(answer.body))
            }
            Ok(answer) => {
                let writes = call.operation.writes();
                let done = self.tool_results().result(principal, answer, writes).await;
                let problem = |it: Refusal| tools::problem(&it.to_json(), Some(it.reason));
                Ok(done.unwrap_or_else(problem))
            }
            // A token that ended meanwhile is a failure of the request, not of the tool.
            Err(refusal) if refusal.reason == Reason::TokenUnknown => Err(refusal.into()),
            Err(refusal) => Ok(tools::problem(&refusal.to_json(), Some(refusal.reason))),
        }
    }

    fn tool_results(&self) -> ToolResults {
        let (forum, answer_bytes) = (self.parts.forum.clone(), self.answer_bytes.clone());
        ToolResults { forum, answer_bytes }
    }

    /// Checks right, size and arguments, then calls the forum.
    async fn perform_tool(
        &self,
        context: &mut RequestContext<'_>,
        principal: &Principal,
        call: ToolCall<'_>,
    ) -> Result<Answer> {
        let ToolCall { operation, arguments } = call;
        check_rights(principal, operation.spec().rights)?;
        let limits = &self.parts.config.limits;
        // For an artifact the limit is that of its own bytes, below.
        if operation != Operation::PublishArtifact {
            check_size(arguments.len(), limits)?;
        }
        let read =
            arguments::read_mcp(operation, arguments.as_bytes(), limits, self.parts.clock.now());
        let (call, key) = read?;
        if let Call::PublishArtifact(bytes) = &call {
            check_size(bytes.len(), limits)?;
        }
        if let Call::Write(Some(thread), _) = &call {
            tracing::Span::current().record("thread", tracing::field::display(thread));
        }
        self.perform_held(context, principal, call, key.as_deref()).await
    }

    async fn read_resource(
        &self,
        context: &mut RequestContext<'_>,
        principal: &Principal,
        task: &McpTask<'_>,
    ) -> Result<ResultMembers, RpcError> {
        let Some(uri) = task.params.text("uri") else {
            return Err(RpcError::params("`uri` must be the address of a resource."));
        };
        let not_found = || resources::not_found(task.family, &uri);
        let address = ResourceUri::parse(&uri).ok_or_else(not_found)?;
        let (operation, arguments) = address.call();
        let call = ToolCall { operation, arguments: &arguments };
        context.label = RequestLabel::Operation(call.operation);
        match self.perform_tool(context, principal, call).await {
            Ok(answer) => Ok(address.contents(&uri, &answer.body)),
            Err(refusal) if resources::is_missing(refusal.reason) => Err(not_found()),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

/// Makes the results of tools.
struct ToolResults {
    forum: Forum,
    answer_bytes: Budget,
}

impl ToolResults {
    /// The result for a successful answer. That of a read counts as under way until it is written,
    /// and may be refused; that of a write is given in any case.
    async fn result(
        &self,
        principal: &Principal,
        answer: Answer,
        writes: bool,
    ) -> Result<ResultMembers> {
        let body = answer.body;
        if body.len() < RESULT_BYTES_ASIDE {
            return Ok(tools::answered(body));
        }
        // Quoting a long answer takes long.
        let copy = body.clone();
        let quoted = self.forum.aside(principal, move |_: &Forum| Ok(tools::answered(copy)));
        match quoted.await {
            Err(_) if writes => Ok(tools::answered(body)),
            done if writes => done,
            done => {
                let done = done?;
                let holder = Holder::Identity(Arc::clone(&principal.identity));
                let hold = self.answer_bytes.hold(&holder, done.len())?;
                Ok(done.held(hold))
            }
        }
    }
}

/// Refuses more bytes than an HTTP body may have.
fn check_size(bytes: usize, limits: &Limits) -> Result<()> {
    let bytes_max = limits.request_bytes_max;
    if bytes as u64 > bytes_max { Err(Refusal::body_too_large(bytes_max)) } else { Ok(()) }
}

/// Whether the method needs no token (mcp.md §2).
fn is_free(task: &McpTask<'_>) -> bool {
    let names = |member, what| task.params.text(member).as_deref() == Some(what);
    match task.method {
        McpMethod::Initialize
        | McpMethod::Discover
        | McpMethod::Ping
        | McpMethod::GetPrompt
        | McpMethod::ListTools
        | McpMethod::ListResources
        | McpMethod::ListTemplates
        | McpMethod::ListPrompts => true,
        McpMethod::CallTool => names("name", Operation::GetManifest.as_str()),
        McpMethod::ReadResource => names("uri", resources::MANIFEST),
        McpMethod::SetLevel | McpMethod::Listen => false,
    }
}

#[cfg(test)]
mod tests;
