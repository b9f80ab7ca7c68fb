//! The resources over HTTP: the operations of the table, and those that are none.

mod backup;
mod health;
mod operation;
mod page;
mod tokens;

pub use health::metrics_only;
pub(super) use operation::no_idempotency_key;

use std::borrow::Cow;

use axum::http::Method;
use parley_protocol::ids::TokenId;
use parley_protocol::operation::{Found, Operation, Profile, find};
use parley_protocol::refusal::Result;
use parley_protocol::who::{AuthorKind, Caller, Right, Rights};

use super::{Asked, Gateway, Next, decoded};
use crate::telemetry::Label;

/// What stands at a path.
#[derive(Debug)]
pub(super) enum Endpoint<'p> {
    /// An operation of the table, with the value in its path.
    Operation(Operation, Option<(&'static str, Cow<'p, str>)>),
    /// One of [`FIXED`].
    Fixed(Fixed),
    /// `DELETE /v1/tokens/{id}`.
    Token(Cow<'p, str>),
}

/// A resource that is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
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

/// The resources that are no operations, with their methods.
const FIXED: &[(&str, &[&str], Fixed)] = &[
    ("/", READ, Fixed::Page),
    ("/healthz", READ, Fixed::Health),
    ("/readyz", READ, Fixed::Ready),
    ("/metrics", READ, Fixed::Metrics),
    ("/openapi.json", READ, Fixed::OpenApi),
    ("/v1/tokens", &["GET", "HEAD", "POST"], Fixed::Tokens),
    ("/v1/backup", READ, Fixed::Backup),
    ("/mcp", &["POST"], Fixed::Mcp),
    ("/mcp/", &["POST"], Fixed::Mcp),
    ("/v1/feed", READ, Fixed::Feed),
    ("/v1/feed/tickets", &["POST"], Fixed::Tickets),
];

/// Whether those who ask for `path` come by any name.
pub(super) fn is_health(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

/// The caller of what needs no token, without one.
pub(super) fn nobody() -> Caller {
    Caller {
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
    /// What answers `method` at `path`; `None` if nothing does.
    pub(super) fn route<'p>(&self, method: &Method, path: &'p str) -> Option<Endpoint<'p>> {
        let method = method.as_str();
        if let Some((methods, fixed)) = self.fixed(path) {
            return methods.contains(&method).then_some(Endpoint::Fixed(fixed));
        }
        if let Found::Operation(operation, value) = find(method, path, self.profiles) {
            return Some(Endpoint::Operation(operation, value));
        }
        token_at(path).filter(|_| method == "DELETE").map(|id| Endpoint::Token(decoded(id)))
    }

    /// What stands at `path` and is no operation, with its methods, as far as profiles let it.
    fn fixed(&self, path: &str) -> Option<(&'static [&'static str], Fixed)> {
        let (_, methods, fixed) = FIXED.iter().find(|(own, ..)| *own == path)?;
        let is_feed = matches!(fixed, Fixed::Feed | Fixed::Tickets);
        (!is_feed || self.profiles.has(Profile::Feed)).then_some((*methods, *fixed))
    }

    /// The methods that `path` answers to.
    pub(super) fn methods(&self, path: &str) -> Vec<&'static str> {
        // No operation has an empty method, so all that stand there are other ones.
        if let Found::OtherMethod(methods) = find("", path, self.profiles) {
            return methods;
        }
        if let Some((methods, _)) = self.fixed(path) {
            return methods.to_vec();
        }
        token_at(path).map(|_| vec!["DELETE"]).unwrap_or_default()
    }

    pub(super) async fn dispatch(
        &self,
        asked: &mut Asked<'_>,
        endpoint: Endpoint<'_>,
    ) -> Result<Next> {
        let reply = match endpoint {
            Endpoint::Operation(operation, value) => {
                asked.label = Label::Operation(operation);
                return self.operation(asked, operation, value).await;
            }
            Endpoint::Token(id) => {
                asked.label = Label::Tokens;
                self.revoke_token(asked, &id).await
            }
            Endpoint::Fixed(fixed) => match fixed {
                Fixed::Page => page::page(asked),
                Fixed::Health => Ok(health::alive()),
                Fixed::Ready => self.ready(asked),
                Fixed::Metrics => {
                    self.caller_with(asked, &[Right::Admin])?;
                    health::metrics(&asked.head.headers)
                }
                Fixed::OpenApi => self.openapi(asked),
                Fixed::Mcp => Box::pin(self.mcp(asked)).await,
                Fixed::Tokens => {
                    asked.label = Label::Tokens;
                    if asked.head.method == Method::POST {
                        self.create_token(asked).await
                    } else {
                        self.list_tokens(asked)
                    }
                }
                Fixed::Backup => {
                    asked.label = Label::Backup;
                    self.backup(asked)
                }
                Fixed::Feed => {
                    asked.label = Label::Feed;
                    self.feed(asked)
                }
                Fixed::Tickets => {
                    asked.label = Label::Feed;
                    self.ticket(asked).await
                }
            },
        };
        reply.map(Next::Reply)
    }
}
