//! Operations of the table over HTTP.

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::{HeaderValue, Method};
use bytes::Bytes;
use parley_protocol::arguments;
use parley_protocol::command::{Call, InboxQuery, Language, ManifestPart, ReadCall};
use parley_protocol::identity::Principal;
use parley_protocol::limits::Limits;
use parley_protocol::manifest;
use parley_protocol::operation::{Operation, Profiles};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::schema::{OpenApiFacts, openapi};
use parley_protocol::url::Query;

use super::super::accept::MediaTypes;
use super::super::answer::{self, HttpResponse, IDEMPOTENCY_KEY};
use super::super::sender::SenderShut;
use super::super::{Gateway, NextStep, PendingWrite, RequestContext, accept};
use crate::forum::Answer;

/// The media types of answers.
const JSON_ONLY: &[&str] = &["application/json"];
/// The media types of an export: pages, or the whole thread with one artifact per line.
const EXPORTS: &[&str] = &["application/json", JSON_LINES];
const JSON_LINES: &str = "application/jsonl";
/// The tag of an empty body.
const NO_TAG: HeaderValue = HeaderValue::from_static("\"\"");
/// The media types of publishing an artifact.
const ARTIFACT: MediaTypes =
    MediaTypes { body: &["application/json", "application/octet-stream"], answer: JSON_ONLY };

impl Gateway {
    /// Checks token, right, size, type, `Accept`, parameters and envelope, then calls the forum.
    pub(super) async fn operation(
        &self,
        context: &mut RequestContext<'_>,
        operation: Operation,
        value: Option<(&'static str, Cow<'_, str>)>,
    ) -> Result<NextStep> {
        let head = context.head;
        let rights = operation.spec().rights;
        let known = if rights.is_empty() {
            self.principal(context)?
        } else {
            Some(self.principal_with(context, rights)?)
        };
        let principal = known.as_deref().unwrap_or(&self.anonymous);
        let holder = self.holder(context, known.as_deref());
        let artifact = operation == Operation::PublishArtifact;
        let types = if artifact { ARTIFACT } else { MediaTypes::JSON };
        let body = if operation.has_body() {
            Some(self.body(context, &holder, types).await?)
        } else {
            None
        };
        let exports = operation == Operation::ExportThread;
        let kind = accept::negotiate(&head.headers, if exports { EXPORTS } else { JSON_ONLY })?;
        let key = if operation.writes() { idempotency_key(context)? } else { None };
        let values = value.as_ref().map(|(name, value)| (*name, &**value));
        // Under a key the time is judged after the key: a retry may come late.
        let now = key.map_or_else(|| self.parts.clock.now(), |_| arguments::TIME_NOT_JUDGED);
        let mut call = arguments::read_http(
            operation,
            values.as_slice(),
            head.uri.query().unwrap_or_default(),
            body.as_deref(),
            &self.parts.config.limits,
            now,
        )?;
        if let Call::Write(Some(thread), _) = &call {
            tracing::Span::current().record("thread", tracing::field::display(thread));
        }
        match &mut call {
            Call::Write(..) => {
                let principal = known.unwrap_or_else(|| Arc::clone(&self.anonymous));
                let key = key.map(Box::from);
                return Ok(NextStep::Write(PendingWrite { principal, call, key }));
            }
            Call::GetManifest(language, part) => {
                let answered = Box::pin(self.manifest(context, principal, *language, *part)).await;
                return answered.map(NextStep::Reply);
            }
            Call::Read(ReadCall::Export(thread, _)) if kind == JSON_LINES => {
                let lines = self.parts.forum.export_lines(principal, *thread).await?;
                let kind = HeaderValue::from_static(JSON_LINES);
                return Ok(NextStep::Reply(answer::stream(kind, lines)));
            }
            Call::ReadInbox(query) if head.method == Method::HEAD => query.wait_seconds = 0,
            Call::PublishArtifact(_) | Call::ReadInbox(_) | Call::Read(_) => {}
        }
        // Boxed, like other slow or rare answers, to keep the future of each request small.
        let answered = Box::pin(self.perform_held(context, principal, call, key)).await;
        self.answered(principal, answered?).map(NextStep::Reply)
    }

    /// Performs a call. The end of the token ends a held one; the end of what the client sends lets
    /// it answer at once.
    pub(in super::super) async fn perform_held(
        &self,
        context: &mut RequestContext<'_>,
        principal: &Principal,
        call: Call,
        key: Option<&str>,
    ) -> Result<Answer> {
        let forum = &self.parts.forum;
        let query = match call {
            Call::ReadInbox(query) if query.wait_seconds > 0 => query,
            call => return forum.perform(principal, call, key).await,
        };
        context.held = true;
        let at_once = Call::ReadInbox(InboxQuery { wait_seconds: 0, ..query.clone() });
        tokio::select! {
            biased;
            answered = forum.perform(principal, Call::ReadInbox(query), key) => answered,
            () = self.parts.tokens.ended(principal.token) => Err(Refusal::token_unknown()),
            () = SenderShut::new(&context.connection.sender) => {
                forum.perform(principal, at_once, key).await
            }
        }
    }

    async fn manifest(
        &self,
        context: &RequestContext<'_>,
        principal: &Principal,
        language: Language,
        part: ManifestPart,
    ) -> Result<HttpResponse> {
        let call = Call::GetManifest(language, part);
        let answer = self.parts.forum.perform(principal, call, None).await?;
        // The manifest is constant while the server runs.
        let tag = self.manifest_tags[language as usize][part as usize]
            .get_or_init(|| HeaderValue::try_from(manifest::etag(&answer.body)).unwrap_or(NO_TAG));
        Ok(answer::tagged(answer::from_forum(answer), tag, &context.head.headers))
    }

    /// The OpenAPI document, which is constant while the server runs.
    pub(super) fn openapi(&self, context: &RequestContext<'_>) -> Result<HttpResponse> {
        self.principal(context)?;
        accept::negotiate(&context.head.headers, JSON_ONLY)?;
        let (text, tag) = &self.openapi;
        Ok(answer::tagged(answer::json(text.clone()), tag, &context.head.headers))
    }
}

/// The OpenAPI document under these profiles and limits, and its tag.
pub(in crate::gateway) fn openapi_document(
    profiles: Profiles,
    limits: &Limits,
) -> (Bytes, HeaderValue) {
    let facts = OpenApiFacts { version: env!("CARGO_PKG_VERSION"), profiles, limits };
    let text = Bytes::from(openapi(&facts).to_string());
    let tag = HeaderValue::try_from(manifest::etag(&text)).unwrap_or(NO_TAG);
    (text, tag)
}

/// The idempotency key of a write; `None` without one.
fn idempotency_key<'a>(context: &RequestContext<'a>) -> Result<Option<&'a str>> {
    let mut given = context.head.headers.get_all(&IDEMPOTENCY_KEY).iter();
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => {
            let key = key.to_str().unwrap_or_default();
            arguments::idempotency_key(key).map_err(|refusal| refusal.at("Idempotency-Key"))?;
            Ok(Some(key))
        }
        (Some(_), Some(_)) => {
            let detail = "Send one `Idempotency-Key` with a request.";
            Err(Refusal::parameter("Idempotency-Key", detail))
        }
    }
}

/// The query of a request.
pub(in crate::gateway) fn query<'a>(context: &RequestContext<'a>) -> Result<Query<'a>> {
    Query::parse(context.head.uri.query().unwrap_or_default())
}

/// Refuses parameters that were not taken.
pub(in crate::gateway) fn no_parameters(query: &Query<'_>, detail: &'static str) -> Result<()> {
    query.rest().map_or(Ok(()), |name| Err(Refusal::parameter(name, detail)))
}

/// Refuses an idempotency key where none applies.
pub(in crate::gateway) fn no_idempotency_key(context: &RequestContext<'_>) -> Result<()> {
    if context.head.headers.contains_key(&IDEMPOTENCY_KEY) {
        let detail = "This is not done again under a key; send it without `Idempotency-Key`.";
        return Err(Refusal::parameter("Idempotency-Key", detail));
    }
    Ok(())
}
