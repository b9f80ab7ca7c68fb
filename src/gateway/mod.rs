//! The HTTP and MCP server: reads requests, calls the forum, writes answers (bindings.md).
//!
//! Checks run before the forum, in the order of parley.md §6: `Host` and `Origin`, route and
//! method, token, right, size, type, `Accept`, parameters, envelope. The protocol's table alone
//! describes operations.

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
mod places;
mod poll_budget;
pub(crate) mod request_id;
mod sender;

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::header::{CONNECTION, EXPECT};
use axum::http::request::Parts as Head;
use axum::http::{HeaderValue, Method, Request, StatusCode};
use bytes::Bytes;
use futures_util::FutureExt;
use hyper::body::{Body as _, Incoming};
use parley_protocol::command::{Call, Language, ManifestPart};
use parley_protocol::identity::{Principal, Right};
use parley_protocol::operation::{Profile, Profiles};
use parley_protocol::refusal::{Reason, Refusal, Result};
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

pub use http::metrics_only;
pub use listen::{Connection, ConnectionBounds, Lifetime, run};
pub use places::PlaceBounds;

use accept::MediaTypes;
use answer::HttpResponse;
use authentication::{Bearer, WrongTokens};
use host::HostRules;
use request_id::RequestIds;

use crate::audit::WrongTokenSums;
use crate::budget::{Budget, Holder};
use crate::clock::Clock;
use crate::config::Config;
use crate::feed::replay::FeedDeps;
use crate::feed::tickets::Tickets;
use crate::forum::{Answer, Forum};
use crate::telemetry::{RequestLabel, RequestMetrics, TurnedAway};
use crate::tokens::Tokens;

/// Bytes from which on an answer is counted in the budget of answers: the number of connections
/// bounds the others.
const ANSWER_BYTES_HELD: usize = 4 << 10;
/// Requests that take longer are logged, held ones excepted.
const SLOW: Duration = Duration::from_secs(1);

/// The parts of a gateway.
pub struct GatewayParts {
    /// The forum.
    pub forum: Forum,
    /// The dependencies of feeds.
    pub feed_deps: Arc<FeedDeps>,
    /// The tokens and their principals.
    pub tokens: Arc<Tokens>,
    /// The configuration in force.
    pub config: Arc<Config>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The address on which the server listens.
    pub address: SocketAddr,
}

/// Answers requests.
pub struct Gateway {
    parts: GatewayParts,
    profiles: Profiles,
    hosts: HostRules,
    wrong_tokens: WrongTokens,
    wrong_token_sums: WrongTokenSums,
    tickets: Tickets,
    requests: RequestMetrics,
    turned_away: TurnedAway,
    ids: RequestIds,
    /// The bytes of bodies that are being read.
    request_bytes: Budget,
    /// The bytes of answers that are being written.
    answer_bytes: Budget,
    /// The principal of requests without a token.
    anonymous: Arc<Principal>,
    /// The tags of the parts of the manifest in their languages.
    manifest_tags: [[OnceLock<HeaderValue>; ManifestPart::ALL.len()]; Language::ALL.len()],
    /// The OpenAPI document and its tag.
    openapi: (Bytes, HeaderValue),
    /// The constant results of the MCP binding.
    documents: mcp::Documents,
}

/// One request while it is answered.
pub(crate) struct RequestContext<'a> {
    head: &'a Head,
    body: &'a mut Incoming,
    /// Whether reading the body was begun, which a client may wait for.
    is_body_begun: bool,
    connection: &'a Arc<Connection>,
    /// The `Origin`, if it was sent and is allowed.
    origin: Option<HeaderValue>,
    label: RequestLabel,
    /// Whether the answer was held back on purpose.
    held: bool,
}

/// The outcome of reading a request.
enum NextStep {
    /// An answer.
    Reply(HttpResponse),
    /// A write, which waits for a permit and for the disk.
    Write(PendingWrite),
}

/// A well-formed write, apart from its request.
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
    /// A gateway of these parts.
    pub fn new(parts: GatewayParts) -> Self {
        Self {
            profiles: profiles(&parts.config),
            hosts: HostRules::new(parts.address, &parts.config),
            wrong_tokens: WrongTokens::new(parts.config.gateway.wrong_tokens_per_minute),
            tickets: Tickets::default(),
            requests: RequestMetrics::default(),
            wrong_token_sums: WrongTokenSums::default(),
            turned_away: TurnedAway::default(),
            ids: RequestIds::default(),
            request_bytes: Budget::new(parts.config.overload.request_bytes),
            answer_bytes: Budget::new(parts.config.overload.answer_bytes),
            anonymous: Arc::new(http::anonymous()),
            manifest_tags: Default::default(),
            openapi: http::openapi_document(profiles(&parts.config), &parts.config.limits),
            documents: mcp::Documents::new(profiles(&parts.config), &parts.config.limits),
            parts,
        }
    }

    /// Answers one request; refusals and panics become answers.
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
        let mut context = RequestContext {
            head: &head,
            body: &mut body,
            is_body_begun: false,
            connection: &connection,
            origin: None,
            label: RequestLabel::Other,
            held: false,
        };
        let next = match catch_panic(self.answer(&mut context), &span).await {
            Ok(next) => next,
            Err(refusal) => NextStep::Reply(self.refused(&context, &refusal)),
        };
        let stays = connection.place.set_stranger(|| self.address(&context));
        let is_read = matches!(next, NextStep::Write(_)) || Self::skim(&mut context).await;
        let RequestContext { origin, label, held, .. } = context;
        let mut reply = match next {
            NextStep::Reply(reply) => reply,
            NextStep::Write(write) => {
                // Dropped first: while the bytes of the request are held, the connection cannot
                // reuse its read buffer, and each waiting write would cost another one.
                drop((head, body));
                let written = catch_panic(self.write(write), &span).await;
                written.unwrap_or_else(|refusal| closing(answer::refused(&refusal), &refusal))
            }
        };
        if !stays || !is_read || connection.lifetime.stop.is_cancelled() {
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(origin) = origin {
            answer::allow_origin(reply.headers_mut(), origin);
        }
        reply.headers_mut().insert(answer::REQUEST_ID, id);
        let reason = reply.extensions_mut().remove::<Reason>();
        let took = started.elapsed();
        self.requests.count(label, reason, took);
        if reply.status() == StatusCode::SERVICE_UNAVAILABLE {
            self.turned_away.count(reason.unwrap_or(Reason::Overloaded));
        }
        record(&span, &reply, label, reason, (took > SLOW && !held).then_some(took));
        reply
    }

    /// Logs what happened often since the last call; called once a second.
    pub fn log_sums(&self) {
        self.turned_away.log();
        self.wrong_token_sums.log();
    }

    async fn write(&self, write: PendingWrite) -> Result<HttpResponse> {
        let PendingWrite { principal, call, key } = write;
        self.parts.forum.perform(&principal, call, key.as_deref()).await.map(answer::from_forum)
    }

    /// Drops what has come of a body that was not wanted; whether all of it is read now. If not,
    /// the connection closes after the answer.
    async fn skim(context: &mut RequestContext<'_>) -> bool {
        let waits = context.head.headers.contains_key(EXPECT) && !context.is_body_begun;
        let is_read =
            if waits { context.body.is_end_stream() } else { body::skim(context.body).await };
        if !is_read {
            context.connection.deadline.set_body_unread();
        }
        is_read
    }

    /// The refusal as an answer.
    fn refused(&self, context: &RequestContext<'_>, refusal: &Refusal) -> HttpResponse {
        let path = context.head.uri.path();
        let reply =
            if http::is_mcp(path) { mcp::refused(refusal) } else { answer::refused(refusal) };
        let mut reply = closing(reply, refusal);
        if refusal.reason == Reason::MethodNotAllowed {
            answer::allow(reply.headers_mut(), &self.methods(path));
        }
        reply
    }

    async fn answer(&self, context: &mut RequestContext<'_>) -> Result<NextStep> {
        let head = context.head;
        let path = head.uri.path();
        let checked = self.hosts.check(&head.uri, &head.headers);
        // Health checks may use any `Host`.
        context.origin = if http::is_health(path) { checked.ok().flatten() } else { checked? };
        let methods = || self.methods(path);
        if head.method == Method::OPTIONS && context.origin.is_some() {
            let methods = methods();
            if methods.is_empty() {
                return Err(Refusal::not_found());
            }
            return Ok(NextStep::Reply(host::preflight(&methods, &head.headers)));
        }
        match self.route(&head.method, path) {
            Some(endpoint) => self.dispatch(context, endpoint).await,
            None if methods().is_empty() => Err(self.nothing_at(path)),
            None => {
                let allowed = methods().join(", ");
                Err(Refusal::method_not_allowed(&allowed))
            }
        }
    }

    /// The principal of the token; `None` without a token.
    fn principal(&self, context: &RequestContext<'_>) -> Result<Option<Arc<Principal>>> {
        let headers = &context.head.headers;
        let known = match authentication::bearer(headers) {
            Bearer::None => return Ok(None),
            Bearer::Token(secret) => self.parts.tokens.find(secret, self.parts.clock.now()),
            Bearer::Malformed => None,
        };
        match known {
            Some(principal) => {
                Span::current().record("identity", &*principal.identity);
                context.connection.place.set_known();
                Ok(Some(principal))
            }
            None => Err(self.wrong_token(context)),
        }
    }

    /// 401, or 429 after too many wrong tokens from the same address.
    fn wrong_token(&self, context: &RequestContext<'_>) -> Refusal {
        let address = self.address(context);
        self.wrong_token_sums.count(address);
        let refusal = self.wrong_tokens.refuse(address);
        if refusal.reason == Reason::TokenUnknown {
            return with_mistake(refusal, context);
        }
        refusal
    }

    /// 401 of a request that needs a token.
    fn token_missing(context: &RequestContext<'_>) -> Refusal {
        with_mistake(Refusal::token_missing(), context)
    }

    /// The principal, which must hold all of `rights`.
    fn principal_with(
        &self,
        context: &RequestContext<'_>,
        rights: &[Right],
    ) -> Result<Arc<Principal>> {
        let principal = self.principal(context)?.ok_or_else(|| Self::token_missing(context))?;
        check_rights(&principal, rights)?;
        Ok(principal)
    }

    /// The peer as the budgets count it: the identity of a good token, else the address.
    fn holder(&self, context: &RequestContext<'_>, principal: Option<&Principal>) -> Holder {
        match principal {
            Some(principal) => Holder::Identity(Arc::clone(&principal.identity)),
            None => Holder::Address(self.address(context)),
        }
    }

    /// The address of the client, perhaps behind a trusted proxy.
    fn address(&self, context: &RequestContext<'_>) -> IpAddr {
        let trusted = &self.parts.config.trusted_proxies;
        authentication::address(context.connection.peer, &context.head.headers, trusted)
    }

    /// The body, of one of the types and of at most `limits.request_bytes_max` bytes.
    async fn body(
        &self,
        context: &mut RequestContext<'_>,
        holder: &Holder,
        types: MediaTypes,
    ) -> Result<Bytes> {
        let bytes_max = self.parts.config.limits.request_bytes_max;
        self.body_up_to(context, holder, types, bytes_max).await
    }

    /// The body, of one of the types and of at most `bytes_max` bytes.
    async fn body_up_to(
        &self,
        context: &mut RequestContext<'_>,
        holder: &Holder,
        types: MediaTypes,
        bytes_max: u64,
    ) -> Result<Bytes> {
        body::check_declared(context.body, bytes_max)?;
        let headers = &context.head.headers;
        // The size goes before the types. A client that waits for `100 Continue` is told of wrong
        // types instead, and sends no body.
        if context.body.size_hint().exact().is_some() || headers.contains_key(EXPECT) {
            types.check(headers)?;
        }
        context.is_body_begun = true;
        let within = Duration::from_secs(self.parts.config.gateway.body_seconds);
        let begin = || self.request_bytes.hold(holder, 0);
        let body = body::read(context.body, bytes_max, within, begin).await?;
        types.check(headers)?;
        Ok(body)
    }

    /// The answer of the forum to `principal`; its bytes count as under way until they are written.
    fn answered(&self, principal: &Principal, answer: Answer) -> Result<HttpResponse> {
        let holder = || Holder::Identity(Arc::clone(&principal.identity));
        let body = match answer.body.len() {
            0..ANSWER_BYTES_HELD => answer.body,
            _ => self.answer_bytes.hold_answer(&holder(), answer.body)?,
        };
        Ok(answer::from_forum(Answer { body, ..answer }))
    }
}

/// Runs `answering` within `span`; a panic becomes a refusal.
fn catch_panic<T>(
    answering: impl Future<Output = Result<T>>,
    span: &Span,
) -> impl Future<Output = Result<T>> {
    // Not an `async fn`, whose future would hold the argument twice.
    let caught = AssertUnwindSafe(answering).catch_unwind();
    caught
        .map(|caught| caught.unwrap_or_else(|_| Err(Refusal::internal())))
        .instrument(span.clone())
}

/// `refusal`, with the mistake that `Authorization` shows.
fn with_mistake(refusal: Refusal, context: &RequestContext<'_>) -> Refusal {
    match authentication::mistake(&context.head.headers) {
        Some(mistake) => Refusal { detail: mistake.into(), ..refusal },
        None => refusal,
    }
}

/// Refuses a principal that lacks one of `rights`.
fn check_rights(principal: &Principal, rights: &[Right]) -> Result<()> {
    principal.lacks(rights).map_or(Ok(()), |right| Err(Refusal::lacks(right)))
}

/// Adds `Connection: close` to a refusal at shutdown.
fn closing(mut reply: HttpResponse, refusal: &Refusal) -> HttpResponse {
    if refusal.reason == Reason::ShuttingDown {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// Records the outcome of a request in its span and in the log.
fn record(
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
    } else if let Some(took) = slow {
        let took_ms = took.as_millis() as u64;
        tracing::info!(operation, outcome, request_id, took_ms, "a request was slow");
    }
}

/// A value in a path, decoded; unchanged if it is no UTF-8.
fn decoded(segment: &str) -> Cow<'_, str> {
    parley_protocol::url::percent_decode(segment, false).unwrap_or(Cow::Borrowed(segment))
}
