//! Results, as both families write them (mcp.md §3), and the form in which they leave.

use axum::http::header::{ACCEPT, HeaderMap};
use bytes::Bytes;
use parley_protocol::refusal::Reason;
use parley_protocol::wire::{JsonBuffer, raw};

use super::super::answer::SegmentedBody;
use super::family::ProtocolFamily;
use super::rpc_id::RpcId;

/// How long clients may keep what does not change while the server runs, in milliseconds.
const STEADY_MS: u64 = 60_000;

/// What a response ends with.
const END: &str = "}}";
/// Bytes that a response needs before the members, but for its id, about.
const OPENING_BYTES: usize = 256;

/// How a modern result may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheHint {
    /// It says nothing about that.
    Unsaid,
    /// By anyone, for a while: the same for everyone.
    Steady,
    /// Not at all, and seen by its reader only.
    Own,
}

/// A result: the members of the object, without braces, that both families have.
#[derive(Clone, Debug)]
pub struct ResultMembers {
    /// The members, in pieces that follow one another: what others hold too is not copied.
    pub members: [Bytes; 3],
    /// How it may be kept.
    pub keeping: CacheHint,
    /// The refusal that a tool gave instead, for the count of outcomes.
    pub reason: Option<Reason>,
}

impl ResultMembers {
    /// A result that says nothing about keeping it.
    pub fn new(members: impl Into<Bytes>) -> Self {
        Self::of([members.into(), Bytes::new(), Bytes::new()])
    }

    /// The same, of pieces.
    pub fn of(members: [Bytes; 3]) -> Self {
        Self { members, keeping: CacheHint::Unsaid, reason: None }
    }

    /// A result that may be kept as `keeping` says.
    pub fn kept(members: impl Into<Bytes>, keeping: CacheHint) -> Self {
        Self { keeping, ..Self::new(members) }
    }

    /// Appends the response to the request `id`.
    pub fn put(&self, out: &mut JsonBuffer, id: &RpcId, family: ProtocolFamily, server: &str) {
        self.open(out, id, family, server);
        for piece in &self.members {
            out.extend_from_slice(piece);
        }
        raw(out, END);
    }

    /// The response to the request `id`, in pieces.
    pub fn pieces(self, id: &RpcId, family: ProtocolFamily, server: &str) -> SegmentedBody {
        let mut out = JsonBuffer::with_capacity(OPENING_BYTES + id.text().len());
        self.open(&mut out, id, family, server);
        let [first, second, third] = self.members;
        SegmentedBody::new([out.into(), first, second, third, Bytes::from_static(END.as_bytes())])
    }

    /// All of the response before the members.
    fn open(&self, out: &mut JsonBuffer, id: &RpcId, family: ProtocolFamily, server: &str) {
        raw(out, "{\"jsonrpc\":\"2.0\",\"id\":");
        raw(out, id.text());
        raw(out, ",\"result\":{");
        if family == ProtocolFamily::Modern {
            raw(out, "\"resultType\":\"complete\",\"_meta\":{");
            raw(out, "\"io.modelcontextprotocol/serverInfo\":");
            raw(out, server);
            raw(out, "}");
            match self.keeping {
                CacheHint::Unsaid => {}
                CacheHint::Steady => {
                    raw(out, ",\"ttlMs\":");
                    raw(out, &STEADY_MS.to_string());
                    raw(out, ",\"cacheScope\":\"public\"");
                }
                CacheHint::Own => raw(out, ",\"ttlMs\":0,\"cacheScope\":\"private\""),
            }
            if self.members.iter().any(|piece| !piece.is_empty()) {
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

/// Whether a client takes an event stream and nothing else, so that its result comes as one.
pub fn wants_event(headers: &HeaderMap) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter(|range| !range.trim_ascii().is_empty())
        .filter(|range| !is_refused(range))
        .peekable();
    ranges.peek().is_some()
        && ranges.all(|range| {
            let essence = range.split(|byte| *byte == b';').next().unwrap_or_default();
            essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
        })
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

/// The message as one server-sent event; JSON as it is written here has no line breaks.
pub fn event(message: &[u8]) -> Vec<u8> {
    let mut event = Vec::with_capacity(message.len() + 32);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(message);
    event.extend_from_slice(b"\n\n");
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

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

    /// Goal: only who takes nothing but an event stream gets one. Method: a row a header.
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
            let mut headers = HeaderMap::new();
            headers.extend(accept.map(|value| (ACCEPT, HeaderValue::from_static(value))));
            assert_eq!(wants_event(&headers), want, "{accept:?}");
        }
    }
}
