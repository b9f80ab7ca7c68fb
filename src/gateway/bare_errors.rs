//! Errors before a request exists: problem details replace the bare errors that the HTTP library
//! writes, and answer connections above the cap.

use std::sync::Arc;

use axum::http::StatusCode;
use parley_protocol::refusal::Refusal;

use super::request_id::RequestIds;

/// The start of every bare error of the library to an unreadable request.
const BARE_START: &[u8] = b"HTTP/1.1 4";
/// Bytes of a bare error, at most.
const BARE_BYTES_MAX: usize = 200;
/// A header of every error of the gateway, and of no bare one.
const OWN_MARK: &[u8] = b"content-type";

/// Writes these errors, each with a request id; one for all connections of a listener.
#[derive(Clone, Default)]
pub struct BareErrors(Arc<RequestIds>);

impl BareErrors {
    /// The replacement of `bytes`, if they are a bare error of the library.
    ///
    /// 413 for too large a header or target, since each reason has one status (parley.md §10); 400
    /// for input that is no HTTP.
    pub fn instead_of(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if bytes.len() > BARE_BYTES_MAX || !bytes.starts_with(BARE_START) {
            return None;
        }
        if bytes.windows(OWN_MARK.len()).any(|part| part == OWN_MARK) {
            return None;
        }
        let refusal = match bytes.get(9..12)? {
            b"414" | b"431" => Refusal::head_too_large(),
            _ => Refusal::not_http(),
        };
        Some(self.answer(&refusal))
    }

    /// The refusal as a whole HTTP response that closes the connection.
    pub fn answer(&self, refusal: &Refusal) -> Vec<u8> {
        let status = refusal.reason.status();
        let phrase = StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason());
        let problem = refusal.to_json();
        let retry = if status == 503 { "retry-after: 1\r\n" } else { "" };
        let mut bytes = format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: application/problem+json\r\n\
             content-length: {}\r\nx-request-id: {}\r\n{retry}connection: close\r\n\r\n",
            phrase.unwrap_or_default(),
            problem.len(),
            self.0.next(),
        )
        .into_bytes();
        bytes.extend_from_slice(&problem);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: only bare errors of the library are replaced. Method: a row an answer.
    #[test]
    fn bare_answers() {
        let bare_errors = BareErrors::default();
        let bare = "\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        for (text, status) in [
            (format!("HTTP/1.1 431 Request Header Fields Too Large{bare}"), Some("413")),
            (format!("HTTP/1.1 414 URI Too Long{bare}"), Some("413")),
            (format!("HTTP/1.1 400 Bad Request{bare}"), Some("400")),
            (format!("HTTP/1.1 404 Not Found\r\ncontent-type: a/b{bare}"), None),
            (format!("HTTP/1.1 200 OK{bare}"), None),
            (format!("HTTP/1.1 400 Bad Request\r\nx: {}{bare}", "x".repeat(200)), None),
        ] {
            let instead = bare_errors.instead_of(text.as_bytes());
            let instead = instead.map(|bytes| String::from_utf8(bytes).expect("text"));
            assert_eq!(instead.as_deref().map(|text| &text[9..12]), status, "{text}");
        }
    }
}
