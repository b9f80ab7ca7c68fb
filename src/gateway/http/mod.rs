//! Routes HTTP requests: to the operations of the table, and to resources that are no operations.

mod backup;
mod health;
mod operation;
mod page;
mod tokens;

pub use health::metrics_only;
pub(super) use operation::{no_idempotency_key, no_parameters, openapi_document, query};

use std::borrow::Cow;

use axum::http::Method;
use parley_protocol::identity::{AuthorKind, Principal, Right, Rights};
use parley_protocol::ids::TokenId;
use parley_protocol::operation::{Operation, PathMatch, Profile, find};
use parley_protocol::refusal::{Refusal, Result};

use super::{Gateway, NextStep, RequestContext, decoded};
use crate::telemetry::RequestLabel;

/// The target of a request.
#[derive(Debug)]
pub(super) enum Endpoint<'p> {
    /// An operation of the table, with the name and value of its path parameter.
    Operation(Operation, Option<(&'static str, Cow<'p, str>)>),
    /// One of [`FIXED`], with its label.
    Fixed(FixedResource, RequestLabel),
    /// `DELETE /v1/tokens/{id}`.
    Token(Cow<'p, str>),
}

/// A resource that is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FixedResource {
    Page,
    Health,
    Ready,
    Metrics,
    OpenApi,
    Tokens,
    Backup,
    Mcp,
    Feed,
    Tickets,
}

const READ: &[&str] = &["GET", "HEAD"];
const POST: &[&str] = &["POST"];

/// A resource that is no operation: path, methods, profile that it needs, resource, label.
type FixedRow =
    (&'static str, &'static [&'static str], Option<Profile>, FixedResource, RequestLabel);

/// The resources that are no operations.
const FIXED: &[FixedRow] = &[
    ("/", READ, None, FixedResource::Page, RequestLabel::Other),
    ("/healthz", READ, None, FixedResource::Health, RequestLabel::Other),
    ("/readyz", READ, None, FixedResource::Ready, RequestLabel::Other),
    ("/metrics", READ, None, FixedResource::Metrics, RequestLabel::Other),
    ("/openapi.json", READ, None, FixedResource::OpenApi, RequestLabel::Other),
    ("/v1/tokens", &["GET", "HEAD", "POST"], None, FixedResource::Tokens, RequestLabel::Tokens),
    ("/v1/backup", READ, None, FixedResource::Backup, RequestLabel::Backup),
    ("/mcp", POST, None, FixedResource::Mcp, RequestLabel::Other),
    ("/mcp/", POST, None, FixedResource::Mcp, RequestLabel::Other),
    ("/v1/feed", READ, Some(Profile::Feed), FixedResource::Feed, RequestLabel::Feed),
    ("/v1/feed/tickets", POST, Some(Profile::Feed), FixedResource::Tickets, RequestLabel::Feed),
];

fn fixed_at(path: &str) -> Option<&'static FixedRow> {
    FIXED.iter().find(|(own, ..)| *own == path)
}

/// Whether `path` is a health check, which may use any `Host`.
pub(super) fn is_health(path: &str) -> bool {
    fixed_at(path).is_some_and(|row| matches!(row.3, FixedResource::Health | FixedResource::Ready))
}

/// Whether `path` is that of the MCP binding.
pub(super) fn is_mcp(path: &str) -> bool {
    fixed_at(path).is_some_and(|row| row.3 == FixedResource::Mcp)
}

/// The principal of requests without a token.
pub(super) fn anonymous() -> Principal {
    Principal {
        token: TokenId(0),
        identity: "".into(),
        author_kind: AuthorKind::Llm,
        rights: Rights::default(),
        label: None,
    }
}

fn token_at(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/tokens/").filter(|id| !id.is_empty() && !id.contains('/'))
}

impl Gateway {
    /// The endpoint of `method` at `path`; `None` if there is none.
    pub(super) fn route<'p>(&self, method: &Method, path: &'p str) -> Option<Endpoint<'p>> {
        let method = method.as_str();
        if let Some((_, methods, _, fixed, label)) = self.fixed(path) {
            return methods.contains(&method).then_some(Endpoint::Fixed(*fixed, *label));
        }
        if let PathMatch::Operation(operation, value) = find(method, path, self.profiles) {
            return Some(Endpoint::Operation(operation, value));
        }
        token_at(path).filter(|_| method == "DELETE").map(|id| Endpoint::Token(decoded(id)))
    }

    /// The resource at `path` that is no operation, if its profile is active.
    fn fixed(&self, path: &str) -> Option<&'static FixedRow> {
        fixed_at(path).filter(|row| row.2.is_none_or(|profile| self.profiles.has(profile)))
    }

    /// The methods of `path`; empty if nothing is there.
    pub(super) fn methods(&self, path: &str) -> Vec<&'static str> {
        // No operation has the empty method.
        if let PathMatch::OtherMethod(methods) = find("", path, self.profiles) {
            return methods;
        }
        if let Some((_, methods, ..)) = self.fixed(path) {
            return methods.to_vec();
        }
        token_at(path).map(|_| vec!["DELETE"]).unwrap_or_default()
    }

    /// 404 of a path at which nothing stands; names what is meant, where the path shows it.
    pub(super) fn nothing_at(&self, path: &str) -> Refusal {
        let bare = path.trim_end_matches('/');
        let stands = |path: &String| !self.methods(path).is_empty();
        if ["/sse", "/mcp", "/message"].iter().any(|end| bare.ends_with(end))
            || ["/messages", "/mcp/sse", "/mcp/messages"].contains(&bare)
        {
            return Refusal::no_mcp_here();
        }
        let rest = bare.strip_prefix("/api").unwrap_or(bare);
        let near = [bare.to_owned(), format!("/v1{bare}"), rest.to_owned(), format!("/v1{rest}")];
        near.iter()
            .find(|it| stands(it))
            .map_or_else(Refusal::not_found, |it| Refusal::not_found_but(it))
    }

    pub(super) async fn dispatch(
        &self,
        context: &mut RequestContext<'_>,
        endpoint: Endpoint<'_>,
    ) -> Result<NextStep> {
        let reply = match endpoint {
            Endpoint::Operation(operation, value) => {
                context.label = RequestLabel::Operation(operation);
                return self.operation(context, operation, value).await;
            }
            Endpoint::Token(id) => {
                context.label = RequestLabel::Tokens;
                self.revoke_token(context, &id).await
            }
            Endpoint::Fixed(fixed, label) => {
                context.label = label;
                match fixed {
                    FixedResource::Page => page::page(context),
                    FixedResource::Health => Ok(health::alive()),
                    FixedResource::Ready => self.ready(context),
                    FixedResource::Metrics => {
                        self.principal_with(context, &[Right::Admin])?;
                        health::metrics(&context.head.headers)
                    }
                    FixedResource::OpenApi => self.openapi(context),
                    FixedResource::Mcp => Box::pin(self.mcp(context)).await,
                    FixedResource::Tokens if context.head.method == Method::POST => {
                        self.create_token(context).await
                    }
                    FixedResource::Tokens => self.list_tokens(context),
                    FixedResource::Backup => self.backup(context),
                    FixedResource::Feed => Box::pin(self.feed(context)).await,
                    FixedResource::Tickets => self.ticket(context).await,
                }
            }
        };
        reply.map(NextStep::Reply)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parley_protocol::limits::Limits;
    use parley_protocol::operation::Profiles;
    use parley_protocol::schema::{OpenApiFacts, openapi};

    use super::*;

    /// Resources that OpenAPI does not describe: the page is for people, MCP describes itself.
    const ASIDE: [&str; 3] = ["/", "/mcp", "/mcp/"];

    /// Goal: the OpenAPI document has each resource with its methods. Method: those of the table of
    /// resources, but for HEAD, which goes with GET.
    #[test]
    fn each_resource_is_described() {
        let limits = Limits::default();
        let facts = OpenApiFacts { version: "0", profiles: Profiles::ALL, limits: &limits };
        let document = openapi(&facts);
        for (path, methods, ..) in FIXED.iter().filter(|row| !ASIDE.contains(&row.0)) {
            let shown = document["paths"][*path].as_object().into_iter().flatten();
            let shown: BTreeSet<String> = shown.map(|(name, _)| name.to_uppercase()).collect();
            let own = methods.iter().filter(|method| **method != "HEAD");
            let own: BTreeSet<String> = own.map(|method| (*method).to_owned()).collect();
            assert_eq!(shown, own, "{path}");
        }
        assert!(document["paths"]["/v1/tokens/{id}"]["delete"].is_object());
    }
}
