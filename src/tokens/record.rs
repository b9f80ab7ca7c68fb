//! The stored record of a token.

use std::sync::Arc;

use parley_protocol::identity::{AuthorKind, Identity, Principal, Rights};
use parley_protocol::ids::TokenId;
use parley_protocol::time::Millis;
use parley_protocol::wire::ShownToken;
use serde::{Deserialize, Serialize};

/// A token with the hash of its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// Its identifier.
    pub id: TokenId,
    /// The identity of its principal.
    pub identity: Identity,
    /// Whether its principal is human.
    pub human: bool,
    /// All its rights.
    pub rights: Rights,
    /// The bare label.
    pub label: Option<Arc<str>>,
    /// When it was made.
    pub created_at: Millis,
    /// When it expires.
    pub expires_at: Option<Millis>,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
    /// SHA-256 of the secret.
    pub(super) secret: [u8; 32],
}

impl std::fmt::Debug for TokenRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Record({}, {})", self.id, self.identity)
    }
}

impl TokenRecord {
    /// Whether it is neither revoked nor expired at `now`.
    pub fn is_good(&self, now: Millis) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| at > now)
    }

    /// Human or model.
    pub fn author_kind(&self) -> AuthorKind {
        if self.human { AuthorKind::Human } else { AuthorKind::Llm }
    }

    /// Its principal.
    pub fn principal(&self) -> Principal {
        Principal {
            token: self.id,
            identity: Arc::clone(&self.identity),
            author_kind: self.author_kind(),
            rights: self.rights,
            label: self.label.clone(),
        }
    }

    /// Its form in answers (bindings.md §3).
    pub fn shown(&self) -> ShownToken<'_> {
        ShownToken {
            id: self.id,
            identity: &self.identity,
            author_kind: self.author_kind(),
            rights: self.rights,
            label: self.label.as_deref(),
            created_at: self.created_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
        }
    }
}
