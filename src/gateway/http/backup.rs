//! `GET /v1/backup` (operations.md §1).

use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use parley_protocol::identity::Right;
use parley_protocol::refusal::Result;

use super::super::answer::{self, HttpResponse};
use super::super::{Gateway, RequestContext, accept};
use super::operation::{no_parameters, query};
use crate::audit;
use crate::forum::BackupStream;

/// The header with the cursor of a copy.
const CURSOR: HeaderName = HeaderName::from_static("x-parley-cursor");
const BYTES: &str = "application/octet-stream";

impl Gateway {
    /// Streams a copy of everything.
    pub(super) fn backup(&self, context: &RequestContext<'_>) -> Result<HttpResponse> {
        let principal = self.principal_with(context, &[Right::Admin])?;
        accept::negotiate(&context.head.headers, &[BYTES])?;
        no_parameters(&query(context)?, "A copy takes no parameters: it is of all.")?;
        let BackupStream { cursor, pieces } = self.parts.forum.backup(&self.parts.tokens)?;
        audit::backup(&principal, &cursor);
        let mut reply = answer::stream(HeaderValue::from_static(BYTES), pieces);
        let headers = reply.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(HeaderValue::try_from(cursor).ok().map(|cursor| (CURSOR, cursor)));
        Ok(reply)
    }
}
