//! The way in: from bytes on a socket to a call of the forum and back (bindings.md).
//!
//! What is checked here comes before the forum, in the order of parley.md §6: `Host` and `Origin`,
//! route and method, token, right, size, type, `Accept`, parameters, envelope. What an operation
//! is stands in the protocol's table; nothing here describes one a second time.

pub(crate) mod accept;
mod answer;
pub(crate) mod authentication;
mod bare_errors;
mod body;
mod deadline;
pub(crate) mod feed;
pub(crate) mod host;
mod http;
mod listen;
pub(crate) mod mcp;
mod pending_connections;
mod poll_budget;
pub(crate) mod request_id;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::header::CONNECTION;
use axum::http::request::Parts as Head;
use axum::http::{HeaderValue, Method, Request};
use bytes::Bytes;
use futures_util::FutureExt;
use hyper::body::Incoming;
use parley_protocol::command::Call;
use parley_protocol::identity::{Principal, Right};
use parley_protocol::operation::{Profile, Profiles};
use parley_protocol::refusal::{Reason, Refusal, Result};
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

pub use http::metrics_only;
pub use listen::{Connection, ConnectionBounds, Lifetime, run};

use answer::HttpResponse;
use authentication::{Bearer, WrongTokens};
use host::HostRules;
use request_id::RequestIds;

use crate::clock::Clock;
use crate::config::Config;
use crate::feed::replay::FeedDeps;
use crate::feed::tickets::Tickets;
use crate::forum::Forum;
use crate::telemetry::{RequestLabel, RequestMetrics};
use crate::tokens::Tokens;

/// Above this a request is worth a line in the log, if it was not meant to wait.
const SLOW: Duration = Duration::from_secs(1);

/// What a gateway is made of.
pub struct GatewayParts {
    /// The way to the forum.
    pub forum: Forum,
    /// What feeds are made of.
    pub feed_deps: Arc<FeedDeps>,
    /// Who holds which token.
    pub tokens: Arc<Tokens>,
    /// The configuration in force.
    pub config: Arc<Config>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where the server listens.
    pub address: SocketAddr,
}

/// Everything that answering needs.
pub struct Gateway {
    parts: GatewayParts,
    profiles: Profiles,
    hosts: HostRules,
    wrong_tokens: WrongTokens,
    tickets: Tickets,
    requests: RequestMetrics,
    ids: RequestIds,
    /// Who asks for what needs no token, without one.
    anonymous: Arc<Principal>,
    /// The tags of the manifest in its languages.
    manifest_tags: [OnceLock<HeaderValue>; 3],
    /// The OpenAPI document and its tag.
    openapi: OnceLock<(Bytes, HeaderValue)>,
    /// What the MCP binding gives to everyone.
    documents: mcp::Documents,
}

/// One request.
pub(crate) struct RequestContext<'a> {
    head: &'a Head,
    body: &'a mut Incoming,
    connection: &'a Arc<Connection>,
    /// The origin, if one was sent that is allowed.
    origin: Option<HeaderValue>,
    label: RequestLabel,
    /// Whether it was meant to be held.
    held: bool,
}

/// What becomes of a request that was read.
enum NextStep {
    /// It is answered.
    Reply(HttpResponse),
    /// It waits for its turn and for the disk.
    Write(PendingWrite),
}

/// A write that is well-formed, and nothing of the request that it came in.
struct PendingWrite {
    principal: Arc<Principal>,
    call: Call,
    key: Option<Box<str>>,
}

/// The profiles that `config` makes active; the core always is.
pub fn profiles(config: &Config) -> Profiles {
    config.profiles.iter().filter_map(|word| Profile::parse(word)).collect()
}

impl Gateway {
    /// A gateway made of these.
    pub fn new(parts: GatewayParts) -> Self {
        Self {
            profiles: profiles(&parts.config),
            hosts: HostRules::new(parts.address, &parts.config),
            wrong_tokens: WrongTokens::new(parts.config.gateway.wrong_tokens_per_minute),
            tickets: Tickets::default(),
            requests: RequestMetrics::default(),
            ids: RequestIds::default(),
            anonymous: Arc::new(http::anonymous()),
            manifest_tags: Default::default(),
            openapi: OnceLock::new(),
            documents: mcp::Documents::new(profiles(&parts.config), &parts.config.limits),
            parts,
        }
    }

    /// Answers one request; whatever goes wrong, there is an answer.
    pub async fn serve(
        &self,
        connection: Arc<Connection>,
        request: Request<Incoming>,
    ) -> HttpResponse {
        let started = Instant::now();
        let (head, mut body) = request.into_parts();
        let id = self.ids.of(&head.headers);
        let span = tracing::debug_span!(
            "operation",
            request_id = id.to_str().unwrap_or_default(),
            operation = Empty,
            identity = Empty,
            thread = Empty,
            outcome = Empty,
        );
        let mut asked = RequestContext {
            head: &head,
            body: &mut body,
            connection: &connection,
            origin: None,
            label: RequestLabel::Other,
            held: false,
        };
        let next = match whole(self.answer(&mut asked), &span).await {
            Ok(next) => next,
            Err(refusal) => NextStep::Reply(self.refused(&mut asked, &refusal).await),
        };
        let RequestContext { origin, label, held, .. } = asked;
        let mut reply = match next {
            NextStep::Reply(reply) => reply,
            NextStep::Write(write) => {
                // Whatever holds on to the bytes of the request keeps the connection from reading
                // into them again: it would take as many more for each write that waits.
                drop((head, body));
                let written = whole(self.write(write), &span).await;
                written.unwrap_or_else(|refusal| closing(answer::refused(&refusal), &refusal))
            }
        };
        if let Some(origin) = origin {
            answer::share(reply.headers_mut(), origin);
        }
        reply.headers_mut().insert(answer::REQUEST_ID, id);
        let reason = reply.extensions_mut().remove::<Reason>();
        let took = started.elapsed();
        self.requests.count(label, reason, took);
        tell(&span, &reply, label, reason, (took > SLOW && !held).then_some(took));
        reply
    }

    async fn write(&self, write: PendingWrite) -> Result<HttpResponse> {
        let PendingWrite { principal, call, key } = write;
        self.parts.forum.perform(&principal, call, key.as_deref()).await.map(answer::of_forum)
    }

    /// The refusal as an answer, once its sender can take it.
    async fn refused(&self, asked: &mut RequestContext<'_>, refusal: &Refusal) -> HttpResponse {
        body::drain(asked.body, &asked.head.headers).await;
        let path = asked.head.uri.path();
        let reply = if mcp::is_at(path) { mcp::refused(refusal) } else { answer::refused(refusal) };
        let mut reply = closing(reply, refusal);
        if refusal.reason == Reason::MethodNotAllowed {
            answer::allow(reply.headers_mut(), &self.methods(path));
        }
        reply
    }

    async fn answer(&self, asked: &mut RequestContext<'_>) -> Result<NextStep> {
        let head = asked.head;
        let path = head.uri.path();
        let checked = self.hosts.check(&head.uri, &head.headers);
        // Those who ask whether the server lives come by any name.
        asked.origin = if http::is_health(path) { checked.ok().flatten() } else { checked? };
        let methods = || self.methods(path);
        if head.method == Method::OPTIONS && asked.origin.is_some() {
            let methods = methods();
            if methods.is_empty() {
                return Err(Refusal::not_found());
            }
            return Ok(NextStep::Reply(host::preflight(&methods)));
        }
        match self.route(&head.method, path) {
            Some(endpoint) => self.dispatch(asked, endpoint).await,
            None if methods().is_empty() => Err(Refusal::not_found()),
            None => {
                let allowed = methods().join(", ");
                Err(Refusal::method_not_allowed(&allowed))
            }
        }
    }

    /// Who calls, if a token was sent.
    fn principal(&self, asked: &RequestContext<'_>) -> Result<Option<Arc<Principal>>> {
        let headers = &asked.head.headers;
        let known = match authentication::bearer(headers) {
            Bearer::None => return Ok(None),
            Bearer::Token(secret) => self.parts.tokens.find(secret, self.parts.clock.now()),
            Bearer::Malformed => None,
        };
        match known {
            Some(principal) => {
                Span::current().record("identity", &*principal.identity);
                Ok(Some(principal))
            }
            None => Err(self.wrong_token(asked)),
        }
    }

    /// 401, or 429 if too many wrong tokens came from there.
    fn wrong_token(&self, asked: &RequestContext<'_>) -> Refusal {
        let trusted = &self.parts.config.trusted_proxies;
        let headers = &asked.head.headers;
        self.wrong_tokens.refuse(authentication::address(asked.connection.peer, headers, trusted))
    }

    /// Who calls, holding all of `rights`.
    fn caller_with(&self, asked: &RequestContext<'_>, rights: &[Right]) -> Result<Arc<Principal>> {
        let principal = self.principal(asked)?.ok_or_else(Refusal::token_missing)?;
        match principal.lacks(rights) {
            Some(right) => Err(Refusal::lacks(right)),
            None => Ok(principal),
        }
    }

    /// The body, of at most `limits.request_bytes_max` bytes.
    async fn body(&self, asked: &mut RequestContext<'_>) -> Result<Bytes> {
        self.body_up_to(asked, self.parts.config.limits.request_bytes_max).await
    }

    /// The body, of at most `bytes_max` bytes.
    async fn body_up_to(&self, asked: &mut RequestContext<'_>, bytes_max: u64) -> Result<Bytes> {
        let within = Duration::from_secs(self.parts.config.gateway.body_seconds);
        body::read(asked.body, bytes_max, within).await
    }
}

/// What `answering` comes to, within `span`; a panic is a failure like others.
fn whole<T>(
    answering: impl Future<Output = Result<T>>,
    span: &Span,
) -> impl Future<Output = Result<T>> {
    // No `async fn`: it would make room for what it is given twice.
    let caught = AssertUnwindSafe(answering).catch_unwind();
    caught
        .map(|caught| caught.unwrap_or_else(|_| Err(Refusal::internal())))
        .instrument(span.clone())
}

/// `reply`, which ends its connection if the server stops.
fn closing(mut reply: HttpResponse, refusal: &Refusal) -> HttpResponse {
    if refusal.reason == Reason::ShuttingDown {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// Says in span and log what became of a request.
fn tell(
    span: &Span,
    reply: &HttpResponse,
    label: RequestLabel,
    reason: Option<Reason>,
    slow: Option<Duration>,
) {
    let outcome = reason.map_or("ok", Reason::as_str);
    span.record("operation", label.as_str());
    span.record("outcome", outcome);
    let _entered = span.enter();
    let id = reply.headers().get(answer::REQUEST_ID).and_then(|id| id.to_str().ok());
    let (operation, request_id) = (label.as_str(), id.unwrap_or_default());
    let status = reply.status();
    if status.as_u16() == 500 {
        tracing::error!(operation, outcome, request_id, "a request failed");
    } else if status.is_server_error() {
        tracing::info!(operation, outcome, request_id, "a request was turned away");
    } else if let Some(took) = slow {
        let took_ms = took.as_millis() as u64;
        tracing::info!(operation, outcome, request_id, took_ms, "a request was slow");
    }
}

/// A value in a path, decoded as far as it is text.
fn decoded(segment: &str) -> Cow<'_, str> {
    parley_protocol::arguments::percent_decode(segment, false).unwrap_or(Cow::Borrowed(segment))
}
