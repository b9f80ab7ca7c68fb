//! A held `read_inbox` as an event stream (mcp.md §4): notifications of progress, which keep
//! clients and proxies from giving up, then the result.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use parley_protocol::arguments;
use parley_protocol::command::Call;
use parley_protocol::identity::Principal;
use parley_protocol::limits::Limits;
use parley_protocol::operation::Operation;
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::wire::{JsonBuffer, raw};
use serde_json::value::RawValue;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::answer::HttpResponse;
use super::super::{Gateway, RequestContext, check_rights};
use super::check_size;
use super::dispatch::McpTask;
use super::error::RpcError;
use super::method::McpMethod;
use super::result::{accepts_event, event};
use super::tools::{self, ToolCall};
use crate::budget::{Budget, Holder};
use crate::telemetry::RequestLabel;

/// Seconds for which such a read may be held.
const WAIT_MAX_SECONDS: u64 = 300;
/// The interval of notifications, in seconds.
const EVERY_SECONDS: u64 = 10;

/// The member of `_meta` that asks for progress.
const PROGRESS_TOKEN: &str = "progressToken";

impl Gateway {
    /// Answers a `read_inbox` that is to be held and whose client asks for progress and takes an
    /// event stream. `None` for any other call.
    ///
    /// # Errors
    /// The refusal of the call.
    pub(super) fn read_with_progress(
        &self,
        context: &mut RequestContext<'_>,
        principal: &Arc<Principal>,
        task: &McpTask<'_>,
    ) -> Option<Result<HttpResponse>> {
        if task.method != McpMethod::CallTool || !accepts_event(&context.head.headers) {
            return None;
        }
        let token = task.params.meta(PROGRESS_TOKEN).and_then(progress_token)?;
        let call = ToolCall::read(&task.params, self.profiles).ok()?;
        if call.operation != Operation::ReadInbox {
            return None;
        }
        let limits = &self.parts.config.limits;
        let wait_max = limits.inbox_wait_max_seconds.max(WAIT_MAX_SECONDS);
        let held = Limits { inbox_wait_max_seconds: wait_max, ..limits.clone() };
        let read = check_rights(principal, call.operation.spec().rights)
            .and_then(|()| check_size(call.arguments.len(), limits))
            .and_then(|()| {
                let now = self.parts.clock.now();
                arguments::read_mcp(call.operation, call.arguments.as_bytes(), &held, now)
            });
        let (call, seconds) = match read {
            Ok((Call::ReadInbox(query), _)) if query.wait_seconds > 0 => {
                let seconds = query.wait_seconds;
                (Call::ReadInbox(query), seconds)
            }
            Ok(_) => return None,
            Err(refusal) => return Some(Err(refusal)),
        };
        context.label = RequestLabel::Operation(Operation::ReadInbox);
        context.held = true;
        let answering = self.answer_event(principal, call, task);
        let stream = ProgressStream::new(answering, token, seconds);
        let events = futures_util::stream::unfold(stream, |mut stream| async move {
            let bytes = stream.next().await?;
            Some((Ok::<_, Infallible>(bytes), stream))
        });
        Some(Ok(super::events(Body::from_stream(events))))
    }

    /// The response to the call, as an event.
    fn answer_event(
        &self,
        principal: &Arc<Principal>,
        call: Call,
        task: &McpTask<'_>,
    ) -> impl Future<Output = Bytes> + Send + use<> {
        let (forum, tokens) = (self.parts.forum.clone(), Arc::clone(&self.parts.tokens));
        let results = self.tool_results();
        let (principal, answer_bytes) = (Arc::clone(principal), self.answer_bytes.clone());
        let (id, family) = (task.id.clone(), task.family);
        let server = self.documents.server.clone();
        async move {
            let answered = tokio::select! {
                biased;
                answered = forum.perform(&principal, call, None) => answered,
                () = tokens.ended(principal.token) => Err(Refusal::token_unknown()),
            };
            let result = match answered {
                Ok(answer) => results.result(&principal, answer, false).await,
                Err(refusal) => Err(refusal),
            };
            let mut out = JsonBuffer::new();
            match result {
                Ok(result) => result.put(&mut out, &id, family, &server),
                // A token that ended meanwhile is a failure of the request, not of the tool.
                Err(refusal) if refusal.reason == Reason::TokenUnknown => {
                    RpcError::from(refusal).put(&mut out, Some(&id));
                }
                Err(refusal) => tools::problem(&refusal.to_json(), Some(refusal.reason))
                    .put(&mut out, &id, family, &server),
            }
            held(&answer_bytes, &principal, event(&out)).unwrap_or_else(|refusal| {
                let mut out = JsonBuffer::new();
                tools::problem(&refusal.to_json(), Some(refusal.reason))
                    .put(&mut out, &id, family, &server);
                event(&out)
            })
        }
    }
}

/// The event, counted as under way until it is written.
fn held(budget: &Budget, principal: &Principal, event: Bytes) -> Result<Bytes> {
    budget.hold_answer(&Holder::Identity(Arc::clone(&principal.identity)), event)
}

/// A progress token, a string or an integer, as its JSON.
fn progress_token(value: &RawValue) -> Option<Box<str>> {
    let text = value.get();
    let is_integer = text.parse::<i64>().is_ok();
    (is_integer || text.starts_with('"')).then(|| text.into())
}

/// The state of a stream.
struct ProgressStream {
    /// The response, until it is sent.
    answering: Option<Pin<Box<dyn Future<Output = Bytes> + Send>>>,
    token: Box<str>,
    ticks: Interval,
    /// Seconds told so far.
    progress: u64,
    /// Seconds for which the read may be held.
    total: u64,
}

impl ProgressStream {
    fn new(
        answering: impl Future<Output = Bytes> + Send + 'static,
        token: Box<str>,
        total: u64,
    ) -> Self {
        let mut ticks = interval(Duration::from_secs(EVERY_SECONDS));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        Self { answering: Some(Box::pin(answering)), token, ticks, progress: 0, total }
    }

    /// The next event; `None` after the response.
    async fn next(&mut self) -> Option<Bytes> {
        let answering = self.answering.as_mut()?;
        tokio::select! {
            biased;
            response = answering => {
                self.answering = None;
                Some(response)
            }
            _ = self.ticks.tick() => {
                self.progress += EVERY_SECONDS;
                let mut out = JsonBuffer::new();
                raw(&mut out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"");
                raw(&mut out, ",\"params\":{\"progressToken\":");
                raw(&mut out, &self.token);
                let total = self.total.max(self.progress);
                raw(&mut out, &format!(",\"progress\":{},\"total\":{total}}}}}", self.progress));
                Some(event(&out))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: progress is told every ten seconds until the response, which is the last event.
    /// Method: a response after 25 seconds of a paused clock.
    #[tokio::test(start_paused = true)]
    async fn every_ten_seconds() {
        let begun = tokio::time::Instant::now();
        let mut response = interval(Duration::from_secs(25));
        response.reset();
        let answering = async move {
            response.tick().await;
            Bytes::from_static(b"the response")
        };
        let mut stream = ProgressStream::new(answering, "\"t\"".into(), 300);
        for seconds in [10, 20] {
            let event = stream.next().await.expect("an event");
            let want = format!(
                "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
                 \"params\":{{\"progressToken\":\"t\",\"progress\":{seconds},\"total\":300}}}}\n\n"
            );
            assert_eq!(event, want);
            assert_eq!(begun.elapsed().as_secs(), seconds);
        }
        assert_eq!(stream.next().await.as_deref(), Some(&b"the response"[..]));
        assert_eq!((stream.next().await, begun.elapsed().as_secs()), (None, 25));
    }
}
