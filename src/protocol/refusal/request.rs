//! Refusals for the request itself (bindings.md §1): its form, its target, its cursor.

use std::borrow::Cow;

use super::{Reason, Refusal};
use crate::ids::ThreadId;
use crate::json::JsonFault;
use crate::time::Millis;

/// Characters of what came that a refusal quotes, at most.
const QUOTED_MAX: usize = 100;

/// What came, escaped and cut.
fn quoted(came: &[u8]) -> String {
    came.escape_ascii().take(QUOTED_MAX).map(char::from).collect()
}

fixed! {
    /// 400 `invalid_cursor` of a cursor of positions (parley.md §7).
    invalid_cursor: Reason::InvalidCursor =
        "This is no cursor of this instance, or no longer one. Leave it out to begin at the \
         beginning, or read the inbox without `since`: it gives a cursor to go on from.";
    /// 400 `invalid_cursor` of a list's cursor.
    invalid_list_cursor: Reason::InvalidCursor =
        "This is no cursor of this list with these filters and this order, or no longer one. Leave \
         it out to begin the list anew.";
    /// 400 `invalid_cursor` of a cursor given after the copy from which the forum was restored.
    cursor_before_restore: Reason::InvalidCursor =
        "This forum was restored from a backup that was taken before this cursor was given; what \
         came after the backup is gone. Read again what you rely on: read the inbox without \
         `since`, and go on from the cursor that it gives.";
    /// 400 `invalid_cursor` of a cursor that is too old for a feed to replay.
    cursor_too_old: Reason::InvalidCursor =
        "The cursor is too old for a feed. Read the inbox (GET /v1/inbox, without `since`) and \
         begin the feed from the cursor that it gives.";
    /// 403 `origin_forbidden` of a request with several `Host`.
    hosts_forbidden: Reason::OriginForbidden = "`Host` came more than once. Send it once.";
    /// 404 `not_found` of a path.
    not_found: Reason::NotFound =
        "Nothing stands at this path. GET /v1/manifest and /openapi.json tell what there is.";
    /// 406 `not_acceptable` of a feed without an upgrade that does not name the event stream.
    feed_not_acceptable: Reason::NotAcceptable =
        "The feed is a WebSocket: ask for the upgrade, or for `Accept: text/event-stream`.";
    /// 406 `not_acceptable` of a WebSocket whose upgrade was lost on the way.
    upgrade_stripped: Reason::NotAcceptable =
        "A WebSocket is asked for (`Sec-WebSocket-Key` came), but without `Connection: upgrade` \
         and `Upgrade: websocket` in HTTP/1.1: a proxy on the way strips them. Let it pass them \
         on; in nginx: `proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; \
         proxy_set_header Connection \"upgrade\";`. Or ask for `Accept: text/event-stream`.";
    /// 404 `not_found` of a path at which other servers of MCP have it.
    no_mcp_here: Reason::NotFound =
        "Nothing stands at this path. MCP is at `POST /mcp` (Streamable HTTP; the older transport \
         with /sse and /messages is not spoken): give the client the URL that ends with /mcp. \
         Without MCP, messages are posted to `POST /v1/messages`.";
    /// 413 `request_too_large` of target and headers.
    head_too_large: Reason::RequestTooLarge =
        "The target and the headers of the request have more bytes, or the headers are more, than \
         is read. Send fewer and shorter ones.";
    /// 415 `unsupported_media_type` of a compressed body.
    unsupported_encoding: Reason::UnsupportedMediaType =
        "Send the body as it is, without Content-Encoding: nothing is decompressed.";
}

impl Refusal {
    /// 400 `invalid_body` at `field`, none where no single member is at fault.
    pub fn body(field: impl Into<Option<String>>, detail: impl Into<Cow<'static, str>>) -> Self {
        let field = field.into().map(String::into_boxed_str);
        Self { field, ..Self::new(Reason::InvalidBody, detail) }
    }

    /// 400 `invalid_body` of a body that is no JSON; `text` is the body.
    pub fn json(fault: &JsonFault, text: &[u8]) -> Self {
        Self::body(fault.field().map(str::to_owned), fault.told(text))
    }

    /// 400 `invalid_body` of a time at `field` that does not lie in the future.
    pub(crate) fn past(field: &str, now: Millis) -> Self {
        Self::body(field.to_owned(), Self::past_detail(now))
    }

    /// What is said of a time that does not lie in the future.
    pub(crate) fn past_detail(now: Millis) -> String {
        format!("This must lie in the future; it is now {now}.")
    }

    /// 400 `invalid_parameter` of the parameter `name`.
    pub fn parameter(name: &str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::parameters(detail).at(name)
    }

    /// 400 `invalid_parameter` of the parameters as a whole.
    pub fn parameters(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::InvalidParameter, detail)
    }

    /// 400 `invalid_parameter` of bytes that are no HTTP request.
    pub fn not_http() -> Self {
        Self::parameters(
            "This is no HTTP/1.1 request: its first line or one of its headers cannot be read.",
        )
    }

    /// 400 `invalid_parameter` of a WebSocket that offers subprotocols without `spoken`.
    pub fn subprotocol(spoken: &str) -> Self {
        let detail = format!(
            "Of the subprotocols offered none is spoken here. Offer `{spoken}` (with a ticket: \
             `{spoken}, ticket.<ticket>`), or none."
        );
        Self::parameter("Sec-WebSocket-Protocol", detail)
    }

    /// `invalid_parameter` of a version of WebSocket, which is answered with 426.
    pub fn websocket_version() -> Self {
        let detail = "Only version 13 of WebSocket is spoken here (RFC 6455).";
        Self::parameter("Sec-WebSocket-Version", detail)
    }

    /// 403 `origin_forbidden` of the `Host` that came.
    pub fn host_forbidden(came: &[u8]) -> Self {
        let detail = format!(
            "This server does not answer to the `Host` \"{}\". Use the address it listens on, or \
             add the name to `allowed_hosts`.",
            quoted(came),
        );
        Self::new(Reason::OriginForbidden, detail)
    }

    /// 403 `origin_forbidden` of the `Origin` that came.
    pub fn origin_forbidden(came: &[u8]) -> Self {
        let detail = format!(
            "Pages of the `Origin` \"{}\" may not call this server. Add it to `allowed_origins` \
             if they should.",
            quoted(came),
        );
        Self::new(Reason::OriginForbidden, detail)
    }

    /// 404 with the reason of the kind of thing that a malformed identifier in a path would name.
    pub(crate) fn malformed_identifier(
        reason: Reason,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(reason, detail)
    }

    /// 404 `not_found` of a path beside one at which something stands.
    pub fn not_found_but(there: &str) -> Self {
        let detail = format!(
            "Nothing stands at this path. It is perhaps `{}`. GET /v1/manifest and /openapi.json \
             tell what there is.",
            quoted(there.as_bytes()),
        );
        Self::new(Reason::NotFound, detail)
    }

    /// 405 `method_not_allowed`; `allowed` is the value of `Allow`.
    pub fn method_not_allowed(allowed: &str) -> Self {
        let detail = format!("Only {allowed} can be used here.");
        Self::new(Reason::MethodNotAllowed, detail)
    }

    /// 406 `not_acceptable`; `offered` are the media types of the answer.
    pub fn not_acceptable(offered: &[&str]) -> Self {
        let offered = offered.join(" or ");
        let detail = format!("What `Accept` names cannot be given here. Accept {offered}.");
        Self::new(Reason::NotAcceptable, detail)
    }

    /// 409 `idempotency_conflict`; `outcome` is what the first call under the key has made.
    pub fn idempotency_conflict(thread: Option<ThreadId>, outcome: &str) -> Self {
        let detail = format!(
            "This idempotency key was used for another call, which has made {outcome}. Take a new \
             key for each new act; the same one only to repeat it."
        );
        Self { thread, ..Self::new(Reason::IdempotencyConflict, detail) }
    }

    /// 413 `request_too_large` of a body over `bytes_max` bytes.
    pub fn body_too_large(bytes_max: u64) -> Self {
        let detail = format!("The body has more than {bytes_max} bytes. Send less at a time.");
        Self::new(Reason::RequestTooLarge, detail)
    }

    /// 415 `unsupported_media_type`; `allowed` are the media types of the body.
    pub fn unsupported_media_type(allowed: &[&str]) -> Self {
        let detail = format!("Send the body as {}.", allowed.join(" or "));
        Self::new(Reason::UnsupportedMediaType, detail)
    }
}
