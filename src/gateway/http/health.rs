//! Health, readiness and metrics (operations.md §4).

use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::wire;

use super::super::answer::{self, HttpResponse};
use super::super::{Gateway, RequestContext, accept};
use crate::telemetry;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// 200: the process runs.
pub(super) fn alive() -> HttpResponse {
    answer::json(wire::STATUS_OK)
}

/// The metrics in the text format of Prometheus.
pub(super) fn metrics(headers: &HeaderMap) -> Result<HttpResponse> {
    accept::negotiate(headers, &["text/plain", "application/openmetrics-text"])?;
    Ok(answer::bytes(StatusCode::OK, TEXT, telemetry::metrics().render().into()))
}

/// Answers on `metrics_listen`: metrics alone, without token and for any `Host`.
pub fn metrics_only<B>(request: &Request<B>) -> HttpResponse {
    let answered = match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET | &Method::HEAD) => metrics(request.headers()),
        ("/metrics", _) => Err(Refusal::method_not_allowed("GET, HEAD")),
        _ => Err(Refusal::not_found()),
    };
    answered.unwrap_or_else(|refusal| {
        let mut reply = answer::refused(&refusal);
        if refusal.reason == Reason::MethodNotAllowed {
            answer::allow(reply.headers_mut(), &["GET", "HEAD"]);
        }
        reply
    })
}

impl Gateway {
    /// 200 while the server accepts requests and its store accepts writes.
    pub(super) fn ready(&self, context: &RequestContext<'_>) -> Result<HttpResponse> {
        if context.connection.lifetime.stop.is_cancelled() {
            return Err(Refusal::shutting_down());
        }
        self.parts.forum.ready()?;
        Ok(alive())
    }
}
