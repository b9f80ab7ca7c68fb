//! What goes back: success and refusal as HTTP (bindings.md §1).

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
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
/// The header under which a request is known.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Says that an outcome is given again.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The key under which a write is done once.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "ETag, Location, Retry-After, X-Request-Id, Idempotent-Replayed, X-Parley-Cursor",
);

/// A response on its way out; a refusal's reason stands in its extensions.
pub type HttpResponse = Response<Body>;

/// An answer with a body of the given type.
pub fn bytes(status: StatusCode, kind: HeaderValue, body: Bytes) -> HttpResponse {
    let mut reply = Response::new(Body::from(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

/// An answer with a body of the given type that is known in pieces.
pub fn pieces(status: StatusCode, kind: HeaderValue, pieces: SegmentedBody) -> HttpResponse {
    let mut reply = Response::new(Body::new(pieces));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

/// A body of a few pieces, which go to the socket as they are.
#[derive(Debug)]
pub struct SegmentedBody {
    pieces: std::array::IntoIter<Bytes, PIECES>,
    bytes: u64,
}

const PIECES: usize = 5;

impl SegmentedBody {
    /// The pieces, one after the other; empty ones are nothing.
    pub fn new(pieces: [Bytes; PIECES]) -> Self {
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { pieces: pieces.into_iter(), bytes }
    }
}

impl hyper::body::Body for SegmentedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        let piece = self.pieces.find(|piece| !piece.is_empty());
        Poll::Ready(piece.map(|piece| {
            self.bytes -= piece.len() as u64;
            Ok(Frame::data(piece))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}

/// 200 with JSON.
pub fn json(body: impl Into<Bytes>) -> HttpResponse {
    bytes(StatusCode::OK, JSON, body.into())
}

/// 200 with a body of the given type that comes in pieces, and is cut short by an error.
pub fn stream<E: std::error::Error + Send + Sync + 'static>(
    kind: HeaderValue,
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> HttpResponse {
    let mut reply = Response::new(Body::from_stream(pieces));
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> HttpResponse {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    reply
}

/// What the forum answered.
pub fn of_forum(answer: crate::forum::Answer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // A remembered refusal is given again as the problem that it was.
    let refused = answer.is_refusal();
    let reason = if refused { reason_of(&answer.body) } else { None };
    let mut reply = bytes(status, if refused { PROBLEM } else { JSON }, answer.body);
    if let Some(reason) = reason {
        reply.extensions_mut().insert(reason);
    }
    if let Some(thread) = answer.location {
        let location = HeaderValue::from_str(&format!("/v1/threads/{thread}"));
        reply.headers_mut().extend(location.ok().map(|location| (LOCATION, location)));
    }
    if answer.replayed {
        reply.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    reply
}

/// The reason that a problem object names.
fn reason_of(problem: &[u8]) -> Option<Reason> {
    let value: serde_json::Value = serde_json::from_slice(problem).ok()?;
    Reason::parse(value.get("reason")?.as_str()?)
}

/// The refusal as a problem, with the headers that its reason asks for but `Allow`.
pub fn refused(refusal: &Refusal) -> HttpResponse {
    let status = refusal.reason.status();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = bytes(status, PROBLEM, refusal.to_json().into());
    let headers = reply.headers_mut();
    match refusal.reason {
        Reason::TokenMissing => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Reason::TokenUnknown => {
            let value = HeaderValue::from_static("Bearer error=\"invalid_token\"");
            headers.insert(WWW_AUTHENTICATE, value);
        }
        _ => {}
    }
    if let Some(seconds) = retry_after_seconds(refusal) {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply.extensions_mut().insert(refusal.reason);
    reply
}

/// Whole seconds, rounded up; every 429 and 503 has some.
fn retry_after_seconds(refusal: &Refusal) -> Option<u64> {
    match (refusal.retry_after_ms, refusal.reason.status()) {
        (Some(millis), _) => Some(millis.div_ceil(1_000).max(1)),
        (None, 429 | 503) => Some(1),
        _ => None,
    }
}

/// Names the methods that would have been allowed.
pub fn allow(headers: &mut HeaderMap, methods: &[&'static str]) {
    if let Ok(value) = HeaderValue::from_str(&methods.join(", ")) {
        headers.insert(ALLOW, value);
    }
}

/// Lets the allowed origin read the answer.
pub fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("origin"));
}

/// 304 if the client has the body already, else `reply` with its tag.
pub fn tagged(mut reply: HttpResponse, tag: &HeaderValue, asked: &HeaderMap) -> HttpResponse {
    let own = tag.to_str().unwrap_or_default();
    let known = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let known = known.into_iter().any(|value| manifest::not_modified(value, own));
    if known {
        reply = empty(StatusCode::NOT_MODIFIED);
    }
    reply.headers_mut().insert(ETAG, tag.clone());
    reply
}
