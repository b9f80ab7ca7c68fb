//! Managing tokens (bindings.md §3).

use std::sync::Arc;

use axum::http::StatusCode;
use bytes::Bytes;
use parley_protocol::identity::Right;
use parley_protocol::ids::TokenId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::wire::{self, JsonBuffer, ListWriter};

use super::super::accept::MediaTypes;
use super::super::answer::{self, HttpResponse, JSON};
use super::super::{Gateway, RequestContext, accept};
use super::operation::{no_idempotency_key, no_parameters, query};
use crate::audit;
use crate::tokens::{NewToken, TokenRecord};

/// The kind of the list's cursors.
const LIST: &str = "tokens";

impl Gateway {
    pub(super) async fn create_token(
        &self,
        context: &mut RequestContext<'_>,
    ) -> Result<HttpResponse> {
        let principal = self.principal_with(context, &[Right::Admin])?;
        let holder = self.holder(context, Some(&principal));
        let body = self.body(context, &holder, MediaTypes::JSON).await?;
        no_idempotency_key(context)?;
        no_parameters(&query(context)?, NO_PARAMETER)?;
        let now = self.parts.clock.now();
        let new = NewToken::read(&body, now)?;
        let tokens = self.parts.tokens.clone();
        let (record, secret) = blocking(move || tokens.create(&new, now)).await?;
        let identity = record.identity.to_string();
        audit::token_created(&principal, record.id, &identity, record.rights);
        let mut out = JsonBuffer::new();
        wire::token_created(&mut out, &record.shown(), &secret);
        Ok(answer::bytes(StatusCode::CREATED, JSON, out.into()))
    }

    pub(super) fn list_tokens(&self, context: &RequestContext<'_>) -> Result<HttpResponse> {
        self.principal_with(context, &[Right::Admin])?;
        accept::negotiate(&context.head.headers, &["application/json"])?;
        let mut query = query(context)?;
        let cursor = query.take("cursor");
        let limit = query.take("limit");
        no_parameters(&query, NO_PARAMETER)?;
        let limit = match limit {
            Some(text) => self.limit(&text)?,
            None => self.parts.config.limits.page_default(),
        };
        let after = match cursor {
            Some(text) => self.parts.forum.read_list_cursor(LIST, &text)?,
            None => 0,
        };
        let mut page = self.parts.tokens.list(TokenId(after), limit as usize + 1);
        let more = page.len() > limit as usize;
        page.truncate(limit as usize);
        let end = page.last().map_or(after, |last| last.id.0);
        let mut out = JsonBuffer::new();
        let mut list = ListWriter::begin(&mut out);
        for record in &page {
            wire::token(list.item(), &TokenRecord::shown(record));
        }
        list.end(&self.parts.forum.list_cursor(LIST, end), more);
        Ok(answer::json(Bytes::from(out)))
    }

    pub(super) async fn revoke_token(
        &self,
        context: &RequestContext<'_>,
        id: &str,
    ) -> Result<HttpResponse> {
        let principal = self.principal_with(context, &[Right::Admin])?;
        no_idempotency_key(context)?;
        no_parameters(&query(context)?, NO_PARAMETER)?;
        let id = TokenId::parse(id).ok_or_else(Refusal::token_not_found)?;
        let (tokens, now) = (self.parts.tokens.clone(), self.parts.clock.now());
        let deps = Arc::clone(&self.parts.feed_deps);
        // Runs to its end even if the client disconnects.
        blocking(move || {
            tokens.revoke(id, now)?;
            deps.hub.revoke(id);
            Ok(())
        })
        .await?;
        audit::token_revoked(&principal, id);
        self.tickets.revoke(id);
        Ok(answer::empty(StatusCode::NO_CONTENT))
    }

    fn limit(&self, text: &str) -> Result<u64> {
        let page_max = self.parts.config.limits.page_max;
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        let limit = text.parse().ok().filter(|limit| plain && (1..=page_max).contains(limit));
        limit.ok_or_else(|| {
            Refusal::parameter("limit", format!("`limit` is a whole number from 1 to {page_max}."))
        })
    }
}

const NO_PARAMETER: &str = "There is no such parameter here.";

/// Runs disk work on a blocking thread; it completes even if the caller is dropped.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Refusal::internal()))
}
