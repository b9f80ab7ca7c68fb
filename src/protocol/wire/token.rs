//! The token object (bindings.md §3), without the secret.

use super::{JsonBuffer, array, id, option, text, time, word};
use crate::identity::{AuthorKind, Rights};
use crate::ids::TokenId;
use crate::time::Millis;

/// The public part of a token.
#[derive(Clone, Copy, Debug)]
pub struct ShownToken<'a> {
    /// Its identifier.
    pub id: TokenId,
    /// Its line.
    pub identity: &'a str,
    /// Human or model.
    pub author_kind: AuthorKind,
    /// All that it holds.
    pub rights: Rights,
    /// The bare label.
    pub label: Option<&'a str>,
    /// When it was made.
    pub created_at: Millis,
    /// When it ends by itself.
    pub expires_at: Option<Millis>,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
}

/// The token object.
pub fn token(out: &mut JsonBuffer, token: &ShownToken<'_>) {
    object!(out;
        "id": id(token.id),
        "identity": text(token.identity),
        "author_kind": word(token.author_kind.as_str()),
        "rights": array(token.rights.iter(), |out, right| word(out, right.as_str())),
        "label": option(token.label, text),
        "created_at": time(token.created_at),
        "expires_at": option(token.expires_at, time),
        "revoked_at": option(token.revoked_at, time),
    );
}

/// The answer to the creation of a token: the one time that its secret is shown.
pub fn token_created(out: &mut JsonBuffer, created: &ShownToken<'_>, secret: &str) {
    object!(out; "token": token(created), "secret": text(secret));
}
