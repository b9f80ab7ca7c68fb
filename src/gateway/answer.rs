//! HTTP responses: successes and problems (bindings.md §1).

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, RETRY_AFTER,
    SEC_WEBSOCKET_VERSION, VARY, WWW_AUTHENTICATE,
};
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use futures_util::Stream;
use hyper::body::{Frame, SizeHint};
use parley_protocol::manifest;
use parley_protocol::refusal::{Reason, Refusal};

/// `application/json`.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// `application/problem+json`.
pub const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
/// `text/event-stream`.
pub const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
/// The header of a request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Marks an outcome that is replayed under an idempotency key.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The header of an idempotency key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "ETag, Location, Retry-After, X-Request-Id, Idempotent-Replayed, X-Parley-Cursor",
);

/// A response; the extensions of a refusal hold its `Reason`.
pub type HttpResponse = Response<Body>;

/// An answer with a body of the given type.
pub fn bytes(status: StatusCode, kind: HeaderValue, body: Bytes) -> HttpResponse {
    typed(status, kind, Body::from(body))
}

/// An answer with a body in segments.
pub fn segmented(status: StatusCode, kind: HeaderValue, segments: SegmentedBody) -> HttpResponse {
    typed(status, kind, Body::new(segments))
}

fn typed(status: StatusCode, kind: HeaderValue, body: Body) -> HttpResponse {
    let mut reply = empty(status).map(|_| body);
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

/// A body of a few segments, written to the socket without copying.
#[derive(Debug)]
pub struct SegmentedBody {
    segments: std::array::IntoIter<Bytes, SEGMENTS>,
    bytes: u64,
}

const SEGMENTS: usize = 5;

impl SegmentedBody {
    /// A body of these segments in order; empty ones are skipped.
    pub fn new(segments: [Bytes; SEGMENTS]) -> Self {
        let bytes = segments.iter().map(|segment| segment.len() as u64).sum();
        Self { segments: segments.into_iter(), bytes }
    }
}

impl hyper::body::Body for SegmentedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        let segment = self.segments.find(|segment| !segment.is_empty());
        Poll::Ready(segment.map(|segment| {
            self.bytes -= segment.len() as u64;
            Ok(Frame::data(segment))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}

/// Headers of a request, without those that have no value.
#[cfg(test)]
pub fn headers_of<const N: usize>(given: [(HeaderName, Option<&'static str>); N]) -> HeaderMap {
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
}

/// 200 with JSON.
pub fn json(body: impl Into<Bytes>) -> HttpResponse {
    bytes(StatusCode::OK, JSON, body.into())
}

/// 200 with a streamed body of the given type; an error ends the body early.
pub fn stream<E: std::error::Error + Send + Sync + 'static>(
    kind: HeaderValue,
    segments: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> HttpResponse {
    typed(StatusCode::OK, kind, Body::from_stream(segments))
}

/// An event stream of `body`, which proxies must neither keep, compress nor buffer: a compressor
/// holds events back.
pub fn events(body: Body) -> HttpResponse {
    let mut reply = typed(StatusCode::OK, EVENT_STREAM, body);
    let headers = reply.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// `reply`, counted under `reason`.
pub fn reasoned(mut reply: HttpResponse, reason: Option<Reason>) -> HttpResponse {
    if let Some(reason) = reason {
        reply.extensions_mut().insert(reason);
    }
    reply
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> HttpResponse {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    reply
}

/// The answer of the forum.
pub fn from_forum(answer: crate::forum::Answer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let refused = answer.is_refusal();
    let reason = if refused { reason_of(&answer.body) } else { None };
    let kind = if refused { PROBLEM } else { JSON };
    let mut reply = reasoned(bytes(status, kind, answer.body), reason);
    if let Some(thread) = answer.location {
        let location = HeaderValue::from_str(&format!("/v1/threads/{thread}"));
        reply.headers_mut().extend(location.ok().map(|location| (LOCATION, location)));
    }
    if answer.replayed {
        reply.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    reply
}

/// The reason in a problem object.
fn reason_of(problem: &[u8]) -> Option<Reason> {
    let value: serde_json::Value = serde_json::from_slice(problem).ok()?;
    Reason::parse(value.get("reason")?.as_str()?)
}

/// The refusal as a problem, with the headers of its reason except `Allow`.
pub fn refused(refusal: &Refusal) -> HttpResponse {
    let status = refusal.reason.status();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = bytes(status, PROBLEM, refusal.to_json().into());
    let headers = reply.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        let is_missing = refusal.reason == Reason::TokenMissing;
        let challenge = if is_missing { "Bearer" } else { "Bearer error=\"invalid_token\"" };
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if let Some(seconds) = retry_after_seconds(refusal) {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply.extensions_mut().insert(refusal.reason);
    reply
}

/// `Retry-After` in whole seconds, rounded up; at least 1 for each 429 and 503.
fn retry_after_seconds(refusal: &Refusal) -> Option<u64> {
    match (refusal.retry_after_ms, refusal.reason.status()) {
        (Some(millis), _) => Some(millis.div_ceil(1_000).max(1)),
        (None, 429 | 503) => Some(1),
        _ => None,
    }
}

/// A refused upgrade: 426 with the version of WebSocket that is spoken.
pub fn upgrade_required(refusal: &Refusal) -> HttpResponse {
    let status = StatusCode::UPGRADE_REQUIRED;
    let mut problem = serde_json::to_value(refusal).unwrap_or_default();
    problem["status"] = status.as_u16().into();
    let mut reply = refused(refusal).map(|_| Body::from(problem.to_string()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    reply
}

/// Sets `Allow`.
pub fn allow(headers: &mut HeaderMap, methods: &[&'static str]) {
    if let Ok(value) = HeaderValue::from_str(&methods.join(", ")) {
        headers.insert(ALLOW, value);
    }
}

/// Lets pages of an allowed origin read the answer.
pub fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("origin"));
}

/// `reply` with its tag, or 304 if `If-None-Match` names the tag.
pub fn tagged(mut reply: HttpResponse, tag: &HeaderValue, request: &HeaderMap) -> HttpResponse {
    let own = tag.to_str().unwrap_or_default();
    let known = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let known = known.into_iter().any(|value| manifest::not_modified(value, own));
    if known {
        reply = empty(StatusCode::NOT_MODIFIED);
    }
    reply.headers_mut().insert(ETAG, tag.clone());
    reply
}
