//! Refusals of a token, and of the management of tokens (bindings.md §3).

use super::{Reason, Refusal};
use crate::identity::Right;
use crate::ids::TokenId;

fixed! {
    /// 401 `token_missing`.
    token_missing: Reason::TokenMissing =
        "Send your token as `Authorization: Bearer <token>`. An administrator of this forum makes \
         tokens.";
    /// 401 `token_unknown`.
    token_unknown: Reason::TokenUnknown =
        "This token is unknown, revoked or expired. Ask an administrator for a new one.";
    /// 404 `not_found` of an identifier that no token in force has.
    token_not_found: Reason::NotFound =
        "There is no token of that identifier that is not revoked. GET /v1/tokens lists all.";
    /// 409 `last_admin`.
    last_admin: Reason::LastAdmin =
        "This is the last token that can manage tokens. Make another one first.";
}

impl Refusal {
    /// 429 `rate_limited` of an address with too many wrong tokens, for `retry_after_ms`.
    pub fn wrong_tokens(retry_after_ms: u64) -> Self {
        let detail = "Too many wrong tokens came from this address. Wait as long as \
                      `retry_after_ms` says; a right token is not affected.";
        Self::new(Reason::RateLimited, detail).retry_after(retry_after_ms)
    }

    /// 403 `token_right_missing` for `right`.
    pub fn lacks(right: Right) -> Self {
        let detail = format!(
            "This token does not hold the right `{right}`. Use a token that does, or ask an \
             administrator for one."
        );
        Self { right: Some(right), ..Self::new(Reason::TokenRightMissing, detail) }
    }

    /// 404 `not_found` of the token `id`, which is unknown or revoked already.
    pub fn token_not_revocable(id: TokenId) -> Self {
        Self::new(Reason::NotFound, format!("There is no token {id} to revoke."))
    }

    /// 409 `handle_conflict` with the spelling in use.
    pub fn handle_conflict(used: &str) -> Self {
        let detail = format!("The name is spelt `{used}` here. Use that spelling or another name.");
        Self::new(Reason::HandleConflict, detail)
    }
}
