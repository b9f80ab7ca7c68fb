//! The feed over HTTP (bindings.md §6): authentication, the query, and the upgrade to WebSocket or
//! event stream.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::request::Parts as Head;
use axum::http::{Method, StatusCode};
use futures_util::StreamExt;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parley_protocol::arguments::NO_EXTENSION;
use parley_protocol::entry::Position;
use parley_protocol::feed::{QUERY_THREADS_MAX, Scope};
use parley_protocol::identity::{Principal, Right};
use parley_protocol::ids::ThreadId;
use parley_protocol::json::{self, JsonValue};
use parley_protocol::limits::NESTING_MAX;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::text::is_handle;
use parley_protocol::time::Millis;
use parley_protocol::url::Query;
use parley_protocol::wire;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::accept::MediaTypes;
use super::answer::{self, HttpResponse, JSON};
use super::deadline::DeadlineStream;
use super::http::{no_idempotency_key, no_parameters, query};
use super::sender::SenderShut;
use super::{Connection, Gateway, RequestContext, accept, check_rights};
use crate::feed::connection::{ConnectionOptions, serve_feed};
use crate::feed::listener::Feed;
use crate::feed::sse;
use crate::feed::subscriber::Subscription;
use crate::feed::tickets::TICKET_MS;

/// The WebSocket subprotocol.
const PARLEY: &str = "parley.v1";
/// The prefix of the subprotocol that carries a ticket.
const TICKET: &str = "ticket.";
const EVENT_STREAM: &str = "text/event-stream";
/// Characters of a value that a refusal quotes, at most.
const QUOTED_MAX: usize = 40;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A requested upgrade to WebSocket.
struct Upgrade<'h> {
    on: OnUpgrade,
    key: Option<&'h str>,
    version: Option<&'h str>,
    protocols: Vec<&'h str>,
}

/// The comma-separated values of all headers of one name.
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|value| !value.is_empty())
}

fn names(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    list(headers, name).any(|value| value.eq_ignore_ascii_case(wanted))
}

/// The value of a header that was sent once.
fn once(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

impl<'h> Upgrade<'h> {
    /// The upgrade that a request asks for; `None` if it asks for none.
    fn of(head: &'h Head) -> Option<Self> {
        let headers = &head.headers;
        let asks = head.method == Method::GET
            && names(headers, CONNECTION, "upgrade")
            && names(headers, UPGRADE, "websocket");
        let on = head.extensions.get::<OnUpgrade>().filter(|_| asks)?.clone();
        Some(Self {
            on,
            key: once(headers, SEC_WEBSOCKET_KEY),
            version: once(headers, SEC_WEBSOCKET_VERSION),
            protocols: list(headers, SEC_WEBSOCKET_PROTOCOL).collect(),
        })
    }

    fn tickets(&self) -> impl Iterator<Item = &'h str> {
        self.protocols.iter().filter_map(|protocol| protocol.strip_prefix(TICKET))
    }

    /// Refuses subprotocols of which the server speaks none: a client that offers some must be
    /// given one.
    fn check_protocols(&self) -> Result<()> {
        if self.protocols.is_empty() || self.protocols.contains(&PARLEY) {
            return Ok(());
        }
        Err(Refusal::subprotocol(PARLEY))
    }

    /// Whether it is of the version that the server speaks.
    fn is_spoken(&self) -> bool {
        self.version == Some("13")
    }

    /// Checks the key; returns it.
    fn key(&self) -> Result<&'h str> {
        let is_key = |key: &&str| {
            let body = key.strip_suffix("==").unwrap_or_default();
            let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
            body.len() == 22 && body.bytes().all(good)
        };
        self.key.filter(is_key).ok_or_else(|| {
            let detail = "An upgrade needs one key of 16 bytes in Base64 (RFC 6455).";
            Refusal::parameter("Sec-WebSocket-Key", detail)
        })
    }

    /// The response to the handshake.
    fn answer(&self, key: &str) -> HttpResponse {
        let mut reply = answer::empty(StatusCode::SWITCHING_PROTOCOLS);
        let headers = reply.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()));
        headers.extend(accept.ok().map(|accept| (SEC_WEBSOCKET_ACCEPT, accept)));
        if self.protocols.contains(&PARLEY) {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PARLEY));
        }
        reply
    }
}

/// The query of a feed.
pub(crate) struct FeedQuery {
    scope: Scope,
    extension: Option<Arc<str>>,
    threads: Vec<ThreadId>,
    anyone: bool,
    since: Option<String>,
}

impl FeedQuery {
    /// Parses a query.
    ///
    /// # Errors
    /// 400 `invalid_parameter`.
    pub(crate) fn read(query: &str) -> Result<Self> {
        let mut query = Query::parse(query)?;
        let scope = query.take("scope");
        let extension = query.take("extension");
        let threads = query.take("threads");
        let anyone = query.take("anyone");
        let since = query.take("since").map(String::from);
        if let Some(name) = query.rest() {
            let detail = "There is no such parameter. The feed takes scope, extension, threads, \
                          anyone and since.";
            return Err(Refusal::parameter(name, detail));
        }
        let scope = match scope {
            None => Scope::default(),
            Some(word) => Scope::parse(&word).ok_or_else(|| {
                let detail = format!("This must be one of {}.", Scope::listed());
                Refusal::parameter("scope", detail)
            })?,
        };
        let turns = [("extension", extension.is_some()), ("anyone", anyone.is_some())];
        if let Some((name, _)) = turns.iter().find(|(_, given)| *given && !scope.tells_turns()) {
            let detail = "Only the scopes inbox and all tell of turns, which this is about.";
            return Err(Refusal::parameter(name, detail));
        }
        if threads.is_some() && scope != Scope::Threads {
            let detail = "Threads are followed with `scope=threads` only.";
            return Err(Refusal::parameter("threads", detail));
        }
        let extension = extension.map(|text| {
            let good = is_handle(&text).then(|| Arc::from(&*text));
            good.ok_or_else(|| Refusal::parameter("extension", NO_EXTENSION))
        });
        let anyone = match anyone.as_deref() {
            None | Some("true") => true,
            Some("false") => false,
            Some(came) => {
                let detail = format!(
                    "This must be true or false, in small letters; \"{}\" came.",
                    came.escape_debug().take(QUOTED_MAX).collect::<String>()
                );
                return Err(Refusal::parameter("anyone", detail));
            }
        };
        let threads = threads.map_or(Ok(Vec::new()), |list| read_threads(&list))?;
        Ok(Self { scope, extension: extension.transpose()?, threads, anyone, since })
    }
}

fn read_threads(list: &str) -> Result<Vec<ThreadId>> {
    let threads: Option<Vec<_>> =
        list.split(',').take(QUERY_THREADS_MAX + 1).map(ThreadId::parse).collect();
    match threads {
        Some(threads) if threads.len() <= QUERY_THREADS_MAX => Ok(threads),
        Some(_) => {
            let detail = format!(
                "At most {QUERY_THREADS_MAX} threads are taken here. Send the others as \
                 `subscribe`."
            );
            Err(Refusal::parameter("threads", detail))
        }
        None => {
            let detail = "This must be a list of threads with commas between, as `th_1,th_2`.";
            Err(Refusal::parameter("threads", detail))
        }
    }
}

impl Gateway {
    /// `GET /v1/feed`.
    pub(super) async fn feed(&self, context: &mut RequestContext<'_>) -> Result<HttpResponse> {
        let head = context.head;
        let upgrade = Upgrade::of(head);
        // A ticket is not spent on an upgrade that cannot be answered with a subprotocol.
        if let Some(upgrade) = upgrade.as_ref().filter(|upgrade| upgrade.tickets().count() > 0) {
            upgrade.check_protocols()?;
        }
        let principal = self.feed_principal(context, upgrade.as_ref())?;
        check_rights(&principal, &[Right::Read])?;
        let mut key = None;
        if let Some(upgrade) = &upgrade {
            let tickets = upgrade.tickets().count();
            if tickets > 1 || (tickets > 0 && self.principal(context)?.is_some()) {
                let detail = "Send a token or one ticket, not both.";
                return Err(Refusal::parameter("Sec-WebSocket-Protocol", detail));
            }
            upgrade.check_protocols()?;
            if !upgrade.is_spoken() {
                return Ok(answer::upgrade_required(&Refusal::websocket_version()));
            }
            key = Some(upgrade.key()?);
        } else {
            check_event_stream(&head.headers)?;
        }
        let query = FeedQuery::read(head.uri.query().unwrap_or_default())?;
        let since = self.since(&head.headers, &query, upgrade.is_some())?;
        let feed = self.open(&principal, query, since).await?;
        let options = ConnectionOptions {
            heartbeat: Duration::from_secs(self.parts.config.feed.heartbeat_seconds),
            message_bytes_max: usize::try_from(self.parts.config.limits.request_bytes_max)
                .unwrap_or(usize::MAX),
        };
        match upgrade.zip(key) {
            Some((upgrade, key)) => {
                let reply = upgrade.answer(key);
                let connection = Arc::clone(context.connection);
                let tasks = context.connection.lifetime.tasks.clone();
                tasks.spawn(upgraded(upgrade.on, connection, feed, options));
                Ok(reply)
            }
            None => Ok(self.stream(context, feed, options)),
        }
    }

    /// The principal of the token, or of the ticket in the upgrade. A ticket is used up even if the
    /// request is refused.
    fn feed_principal(
        &self,
        context: &RequestContext<'_>,
        upgrade: Option<&Upgrade<'_>>,
    ) -> Result<Arc<Principal>> {
        let now = self.parts.clock.moment();
        let tickets = upgrade.into_iter().flat_map(Upgrade::tickets);
        let redeemed: Vec<_> = tickets.map(|ticket| self.tickets.redeem(ticket, now)).collect();
        if let Some(principal) = self.principal(context)? {
            return Ok(principal);
        }
        let named = !redeemed.is_empty();
        let redeemed = redeemed.into_iter().flatten().next();
        match redeemed.filter(|principal| self.is_valid(principal)) {
            Some(principal) => {
                context.connection.place.set_known();
                Ok(principal)
            }
            None if named => Err(self.wrong_token(context)),
            None => Err(Self::token_missing(context)),
        }
    }

    /// Whether the principal's token is neither revoked nor expired.
    fn is_valid(&self, principal: &Principal) -> bool {
        let record = self.parts.tokens.get(principal.token);
        record.is_some_and(|record| record.is_good(self.parts.clock.now()))
    }

    /// The position from which the feed resumes, if the request names one.
    fn since(
        &self,
        headers: &HeaderMap,
        query: &FeedQuery,
        socket: bool,
    ) -> Result<Option<Position>> {
        if !socket && headers.get_all(LAST_EVENT_ID).iter().count() > 1 {
            let detail = "`Last-Event-ID` came twice. Send it once, with the id of the last event.";
            return Err(Refusal::parameter("Last-Event-ID", detail));
        }
        let last = if socket { None } else { headers.get(LAST_EVENT_ID) };
        let last = last.filter(|value| !value.is_empty());
        let since = match last {
            // A value that is no text is an invalid cursor.
            Some(last) => Some(last.to_str().unwrap_or("?")),
            None => query.since.as_deref(),
        };
        let position = |text| self.parts.forum.position(Some(text));
        since.map(position).transpose()
    }

    async fn open(
        &self,
        principal: &Principal,
        query: FeedQuery,
        since: Option<Position>,
    ) -> Result<Feed> {
        let expires_at =
            self.parts.tokens.get(principal.token).and_then(|record| record.expires_at);
        let subscription = Subscription {
            participant: principal.participant(query.extension.as_ref()),
            scope: query.scope,
            anyone: query.anyone,
            token: principal.token,
            expires_at,
        };
        let deps = Arc::clone(&self.parts.feed_deps);
        let feed = Feed::open(deps, subscription, query.threads, since).await?;
        // A revocation before the registration has closed nothing, so the token is checked again.
        if !self.is_valid(principal) {
            return Err(Refusal::token_unknown());
        }
        Ok(feed)
    }

    fn stream(
        &self,
        context: &RequestContext<'_>,
        feed: Feed,
        options: ConnectionOptions,
    ) -> HttpResponse {
        let body = if context.head.method == Method::HEAD {
            Body::empty()
        } else {
            let events = sse::events(feed, self.parts.feed_deps.encoder.clone(), options);
            Body::from_stream(events.take_until(SenderShut::new(&context.connection.sender)))
        };
        answer::events(body)
    }

    /// `POST /v1/feed/tickets`.
    pub(super) async fn ticket(&self, context: &mut RequestContext<'_>) -> Result<HttpResponse> {
        let principal = self.principal_with(context, &[Right::Read])?;
        let holder = self.holder(context, Some(&principal));
        let body = self.body(context, &holder, MediaTypes::JSON).await?;
        no_idempotency_key(context)?;
        no_parameters(&query(context)?, "A ticket takes no parameters.")?;
        check_empty(&body)?;
        let ticket = self.tickets.issue(&principal, self.parts.clock.moment())?;
        let expires_at = Millis(self.parts.clock.now().0 + TICKET_MS);
        let mut body = wire::JsonBuffer::new();
        wire::feed_ticket(&mut body, &ticket, expires_at);
        let mut reply = answer::bytes(StatusCode::CREATED, JSON, body.into());
        reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(reply)
    }
}

/// Refuses a body other than nothing or `{}`.
fn check_empty(body: &[u8]) -> Result<()> {
    let detail = "A ticket is asked for with an empty body, or `{}`.";
    if body.is_empty() {
        return Ok(());
    }
    let value = json::parse(body, NESTING_MAX).map_err(|fault| Refusal::json(&fault, body))?;
    let JsonValue::Object(object) = &value else { return Err(Refusal::body(None, detail)) };
    match object.iter().next() {
        None => Ok(()),
        Some((name, _)) => Err(Refusal::body(json::token(name), detail)),
    }
}

/// Refuses a request that does not name the event stream in `Accept`: a client that accepts any
/// type does not expect an endless answer.
fn check_event_stream(headers: &HeaderMap) -> Result<()> {
    let named = list(headers, ACCEPT).any(|range| {
        range.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(EVENT_STREAM))
    });
    if named && accept::negotiate(headers, &[EVENT_STREAM]).is_ok() {
        return Ok(());
    }
    // A proxy strips the headers of a connection, and passes on those of the WebSocket.
    if headers.contains_key(SEC_WEBSOCKET_KEY) || headers.contains_key(SEC_WEBSOCKET_VERSION) {
        return Err(Refusal::upgrade_stripped());
    }
    Err(Refusal::feed_not_acceptable())
}

/// Serves the feed once the connection is upgraded.
async fn upgraded(
    on: OnUpgrade,
    connection: Arc<Connection>,
    feed: Feed,
    options: ConnectionOptions,
) {
    let upgraded: Upgraded = match on.await {
        Ok(upgraded) => upgraded,
        Err(error) => {
            tracing::debug!(%error, "an upgrade broke off");
            return;
        }
    };
    let life = connection.lifetime.clone();
    // The bare socket: the deadlines of HTTP end here.
    match upgraded.downcast::<TokioIo<DeadlineStream>>() {
        Ok(parts) => {
            let socket = parts.io.into_inner().socket;
            let end = life.end.clone();
            // A task of its own keeps this future small; the connection keeps its permit.
            life.tasks.spawn(serve_feed(socket, parts.read_buf, feed, options, end, connection));
        }
        Err(_) => tracing::error!("an upgraded connection is none of ours"),
    }
}
