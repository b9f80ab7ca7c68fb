//! The token object (bindings.md §3): what is shown of a token, which is never its secret.

use super::{JsonBuffer, array, id, option, raw, text, time, word};
use crate::identity::{AuthorKind, Rights};
use crate::ids::TokenId;
use crate::time::Millis;

/// What is shown of a token.
#[derive(Clone, Copy, Debug)]
pub struct ShownToken<'a> {
    /// Its identifier.
    pub id: TokenId,
    /// The line that it stands for.
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
    raw(out, "{\"id\":");
    id(out, token.id);
    raw(out, ",\"identity\":");
    text(out, token.identity);
    raw(out, ",\"author_kind\":");
    word(out, token.author_kind.as_str());
    raw(out, ",\"rights\":");
    array(out, token.rights.iter(), |out, right| word(out, right.as_str()));
    raw(out, ",\"label\":");
    option(out, token.label, text);
    raw(out, ",\"created_at\":");
    time(out, token.created_at);
    raw(out, ",\"expires_at\":");
    option(out, token.expires_at, time);
    raw(out, ",\"revoked_at\":");
    option(out, token.revoked_at, time);
    out.push(b'}');
}

/// The answer to the making of a token: the one time that its secret is shown.
pub fn token_created(out: &mut JsonBuffer, made: &ShownToken<'_>, secret: &str) {
    raw(out, "{\"token\":");
    token(out, made);
    raw(out, ",\"secret\":");
    text(out, secret);
    out.push(b'}');
}
