//! Writes results in the form of either family (mcp.md §3), as JSON or as an event.

use axum::http::header::{ACCEPT, HeaderMap};
use bytes::Bytes;
use parley_protocol::refusal::Reason;
use parley_protocol::wire::{JsonBuffer, event_data, raw};

use super::super::answer::SegmentedBody;
use super::revision::ProtocolFamily;
use super::rpc_id::RpcId;
use crate::budget::Hold;

/// Milliseconds for which clients may cache constant results.
const STEADY_MS: u64 = 60_000;

/// The end of a response.
const END: &str = "}}";
/// Bytes of a response before its members, without the id, about.
const OPENING_BYTES: usize = 256;

/// The cache hint of a modern result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheHint {
    /// No hint.
    Unsaid,
    /// Public, for [`STEADY_MS`]: the same for every client.
    Steady,
    /// Private, and not cached.
    Own,
}

/// A result: the members of the object, without braces, that both families share.
#[derive(Clone, Debug)]
pub struct ResultMembers {
    /// The members, in segments, so that shared bytes are not copied.
    pub members: [Bytes; 3],
    /// The cache hint.
    pub cache: CacheHint,
    /// The reason of a tool's refusal, for the count of outcomes.
    pub reason: Option<Reason>,
}

impl ResultMembers {
    /// A result without a cache hint.
    pub fn new(members: impl Into<Bytes>) -> Self {
        Self::of([members.into(), Bytes::new(), Bytes::new()])
    }

    /// A result of these segments, without a cache hint.
    pub fn of(members: [Bytes; 3]) -> Self {
        Self { members, cache: CacheHint::Unsaid, reason: None }
    }

    /// A result with a cache hint.
    pub fn cached(members: impl Into<Bytes>, cache: CacheHint) -> Self {
        Self { cache, ..Self::new(members) }
    }

    /// The bytes of the members.
    pub fn len(&self) -> usize {
        self.members.iter().map(Bytes::len).sum()
    }

    /// The same, with `hold` kept until the first segment, which is a copy of the second as text,
    /// is written.
    pub fn held(self, hold: Hold) -> Self {
        let [first, second, third] = self.members;
        Self { members: [hold.around(first), second, third], ..self }
    }

    /// Appends the response to the request `id`.
    pub fn put(&self, out: &mut JsonBuffer, id: &RpcId, family: ProtocolFamily, server: &str) {
        self.open(out, id, family, server);
        for segment in &self.members {
            out.extend_from_slice(segment);
        }
        raw(out, END);
    }

    /// The response to the request `id`, in segments.
    pub fn segments(self, id: &RpcId, family: ProtocolFamily, server: &str) -> SegmentedBody {
        let mut out = JsonBuffer::with_capacity(OPENING_BYTES + id.text().len());
        self.open(&mut out, id, family, server);
        let [first, second, third] = self.members;
        SegmentedBody::new([out.into(), first, second, third, Bytes::from_static(END.as_bytes())])
    }

    /// Appends the response before the members.
    fn open(&self, out: &mut JsonBuffer, id: &RpcId, family: ProtocolFamily, server: &str) {
        raw(out, "{\"jsonrpc\":\"2.0\",\"id\":");
        raw(out, id.text());
        raw(out, ",\"result\":{");
        if family == ProtocolFamily::Modern {
            raw(out, "\"resultType\":\"complete\",\"_meta\":{");
            raw(out, "\"io.modelcontextprotocol/serverInfo\":");
            raw(out, server);
            raw(out, "}");
            match self.cache {
                CacheHint::Unsaid => {}
                CacheHint::Steady => {
                    raw(out, ",\"ttlMs\":");
                    raw(out, &STEADY_MS.to_string());
                    raw(out, ",\"cacheScope\":\"public\"");
                }
                CacheHint::Own => raw(out, ",\"ttlMs\":0,\"cacheScope\":\"private\""),
            }
            if self.members.iter().any(|segment| !segment.is_empty()) {
                raw(out, ",");
            }
        }
    }
}

/// Appends JSON text as a JSON string.
pub fn quoted(out: &mut JsonBuffer, json: &[u8]) {
    let json = std::str::from_utf8(json).expect("JSON is UTF-8");
    serde_json::to_writer(out, json).expect("a string is written into memory");
}

/// Whether `Accept` allows an event stream only, so that the result is sent as one.
pub fn wants_event(headers: &HeaderMap) -> bool {
    let mut ranges = ranges(headers).peekable();
    ranges.peek().is_some() && ranges.all(is_event_stream)
}

/// Whether `Accept` names the event stream.
pub fn accepts_event(headers: &HeaderMap) -> bool {
    ranges(headers).any(is_event_stream)
}

/// The ranges of `Accept` that are not refused.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(ACCEPT)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter(|range| !range.trim_ascii().is_empty())
        .filter(|range| !is_refused(range))
}

fn is_event_stream(range: &[u8]) -> bool {
    let essence = range.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether the range has a weight of 0.
fn is_refused(range: &[u8]) -> bool {
    range.split(|byte| *byte == b';').skip(1).any(|parameter| {
        let parameter = parameter.trim_ascii();
        let weight = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="));
        weight.is_some_and(|weight| {
            weight.starts_with(b"0") && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
        })
    })
}

/// The message as one server-sent event. The JSON written here has no line breaks.
pub fn event(message: &[u8]) -> Bytes {
    let message = event_data(std::str::from_utf8(message).expect("JSON is UTF-8"));
    let mut event = Vec::with_capacity(message.len() + 32);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(message.as_bytes());
    event.extend_from_slice(b"\n\n");
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::answer::headers_of;

    /// Goal: quoted JSON reads back as the same text. Method: texts with everything that JSON
    /// can have.
    #[test]
    fn quoting() {
        let runs = ["\"".repeat(70), "\\".repeat(33), "x".repeat(64)];
        let texts =
            ["", "{}", r#"{"a":"b\"c\\\n\u0001\u00e4","d":[1,null]}"#, "\"\u{e4}\u{2028}\""];
        for text in texts.into_iter().chain(runs.iter().map(String::as_str)) {
            let mut out = b"[1,".to_vec();
            quoted(&mut out, text.as_bytes());
            out.push(b']');
            let known: (u8, String) = serde_json::from_slice(&out).expect("an array");
            assert_eq!(known.1, text);
        }
    }

    /// Goal: only a client that accepts nothing else gets an event stream. Method: a row a header.
    #[test]
    fn accept() {
        for (accept, want) in [
            (None, false),
            (Some(""), false),
            (Some("*/*"), false),
            (Some("application/json"), false),
            (Some("application/json, text/event-stream"), false),
            (Some("text/event-stream"), true),
            (Some("Text/Event-Stream; q=0.5"), true),
            (Some("text/event-stream, application/json;q=0"), true),
            (Some("text/event-stream, application/json;q=0.0"), true),
            (Some("text/event-stream, */*;q=0.1"), false),
            (Some("text/html"), false),
            (Some("text/event-stream;q=0"), false),
        ] {
            assert_eq!(wants_event(&headers_of([(ACCEPT, accept)])), want, "{accept:?}");
        }
    }
}
