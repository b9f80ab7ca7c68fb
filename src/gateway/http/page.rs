//! The page at `/`: shows threads to a person with a token. One file without external resources.

use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use parley_protocol::refusal::Result;

use super::super::answer::{self, HttpResponse};
use super::super::{RequestContext, accept};
use crate::clock::entropy;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const PAGE: &str = include_str!("../page/index.html");
/// The placeholder of the nonce in the page.
const NONCE: &str = "{nonce}";

/// The page, with a content security policy that allows requests to this server only.
pub(super) fn page(context: &RequestContext<'_>) -> Result<HttpResponse> {
    accept::negotiate(&context.head.headers, &["text/html"])?;
    let nonce = format!("{:032x}", u128::from_le_bytes(entropy()));
    let page = PAGE.replace(NONCE, &nonce);
    let mut reply = answer::bytes(StatusCode::OK, HTML, page.into());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = reply.headers_mut();
    headers
        .extend(HeaderValue::try_from(policy).ok().map(|policy| (CONTENT_SECURITY_POLICY, policy)));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(reply)
}
