//! HTTP/1.1 as bytes: requests are written and answers read without a client library, which would
//! hide what is tested. A connection of tasks (`connection`) and one that blocks (`peer`) read with
//! the same functions.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

/// How long an answer is waited for; far more than any needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Headers of requests to a [`BlockingServer`](crate::BlockingServer), which fills them in.
pub const HOST: &str = "Host: {own}";
pub const AGENT: &str = "Authorization: Bearer {agent}";
pub const ADMIN: &str = "Authorization: Bearer {admin}";

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// By lower-case name, in the order in which they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, which stands there once at most.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| &**value);
        assert!(found.next().is_none(), "{name} stands there once");
        value
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body of text")
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The body as JSON, or null if there is none; the status must be `status`.
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Status and reason of a refusal; no reason if it is none.
    pub fn refused(&self) -> (u16, String) {
        let problem: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        (self.status, problem["reason"].as_str().unwrap_or_default().to_owned())
    }

    /// The reason of a refusal, which must have the form of bindings.md §1.
    pub fn reason(&self) -> String {
        let (_, reason) = self.refused();
        assert!(self.header("x-request-id").is_some(), "{self:?}");
        self.problem(&reason, "a refusal");
        reason
    }

    /// The problem of a refusal for `reason`, which must have the form of bindings.md §1.
    pub fn problem(&self, reason: &str, what: &str) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{what}");
        let problem = self.json();
        assert_eq!(problem["reason"], reason, "{what}: {problem}");
        assert_eq!(problem["status"], self.status, "{what}");
        assert_eq!(problem["type"], format!("urn:parley:reason:{reason}"), "{what}");
        for member in ["title", "detail"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{what}");
        }
        problem
    }

    /// The same of an answer whose status must be `status`.
    pub fn refusal(&self, status: u16, reason: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.problem(reason, "a refusal")
    }

    /// Whether the connection serves no further request.
    pub fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// Whether the body comes in chunks, which may be a stream.
    pub(crate) fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }

    /// Takes a body of a stated length from `unread`, once it is there as a whole.
    pub(crate) fn take_body(&self, unread: &mut Vec<u8>) -> Option<Vec<u8>> {
        let has_none = self.is_chunked() || matches!(self.status, 204 | 304);
        let length = self.header("content-length").filter(|_| !has_none);
        let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        (unread.len() >= length).then(|| unread.drain(..length).collect())
    }
}

/// Takes the head of an answer from `unread`, once it is there as a whole.
pub(crate) fn take_head(unread: &mut Vec<u8>) -> Option<Answer> {
    let end = unread.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(unread.drain(..end).collect()).expect("a head of text");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    let status = status.parse().expect("a status");
    Some(Answer { status, headers: headers.collect(), body: Vec::new() })
}

/// Takes the next chunk of a body from `unread`, once it is there as a whole; the last is empty.
pub(crate) fn take_chunk(unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    let line = unread.windows(2).position(|end| end == b"\r\n")?;
    let length = std::str::from_utf8(&unread[..line]).expect("the length of a chunk");
    let length = usize::from_str_radix(length, 16).expect("the length of a chunk");
    let whole = line + 2 + length + 2;
    (unread.len() >= whole).then(|| unread.drain(..whole).skip(line + 2).take(length).collect())
}

/// Takes the next event of an event stream from `text`, once it is there as a whole; comments are
/// passed over.
pub(crate) fn take_event(text: &mut String) -> Option<String> {
    loop {
        let (event, rest) = text.split_once("\n\n")?;
        let (event, rest) = (event.to_owned(), rest.to_owned());
        *text = rest;
        if field(&event, "data").is_some() {
            return Some(event);
        }
    }
}

/// The value of `name` in an event of an event stream.
pub fn field<'e>(event: &'e str, name: &str) -> Option<&'e str> {
    event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The header of a token, as a line.
pub fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// A request. `headers` are whole lines, each with its end; `Host`, the token, unless it is empty,
/// and the length of the body are added where `headers` do not name them.
pub fn request(
    address: SocketAddr,
    token: &str,
    line: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
) -> Vec<u8> {
    let body = body.as_ref();
    let names = headers.to_ascii_lowercase();
    let named = |name: &str| names.lines().any(|line| line.starts_with(name));
    let mut text = format!("{line} HTTP/1.1\r\n{headers}");
    if !named("host:") {
        let _ = write!(text, "host: {address}\r\n");
    }
    if !token.is_empty() && !named("authorization:") {
        text.push_str(&bearer(token));
    }
    if (!body.is_empty() || line.starts_with("POST")) && !named("content-length:") {
        let _ = write!(text, "content-length: {}\r\n", body.len());
    }
    text.push_str("\r\n");
    [text.as_bytes(), body].concat()
}
