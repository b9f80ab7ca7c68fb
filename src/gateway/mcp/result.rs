//! Results, as both eras write them (mcp.md §3), and the form in which they leave.

use axum::http::header::{ACCEPT, HeaderMap};
use bytes::Bytes;
use parley_protocol::refusal::Reason;
use parley_protocol::wire::{JsonBuffer, raw};

use super::super::answer::SegmentedBody;
use super::envelope::RpcId;
use super::family::ProtocolFamily;

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

/// A result: the members of the object, without braces, that both eras have.
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
    pub fn put(&self, out: &mut JsonBuffer, id: &RpcId, era: ProtocolFamily, server: &str) {
        self.open(out, id, era, server);
        for piece in &self.members {
            out.extend_from_slice(piece);
        }
        raw(out, END);
    }

    /// The response to the request `id`, in pieces.
    pub fn pieces(self, id: &RpcId, era: ProtocolFamily, server: &str) -> SegmentedBody {
        let mut out = JsonBuffer::with_capacity(OPENING_BYTES + id.text().len());
        self.open(&mut out, id, era, server);
        let [first, second, third] = self.members;
        SegmentedBody::new([out.into(), first, second, third, Bytes::from_static(END.as_bytes())])
    }

    /// All of the response before the members.
    fn open(&self, out: &mut JsonBuffer, id: &RpcId, era: ProtocolFamily, server: &str) {
        raw(out, "{\"jsonrpc\":\"2.0\",\"id\":");
        raw(out, id.text());
        raw(out, ",\"result\":{");
        if era == ProtocolFamily::Modern {
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

/// Bytes that are quoted at once.
const WORD: usize = size_of::<u64>();

/// Appends JSON as a string of JSON. It is well-formed and compact already, so that quotation marks
/// and backslashes are all that needs an escape. One byte in seven does: whatever looks for the
/// next one and copies what lies before it has more to do than this.
pub fn quoted(out: &mut JsonBuffer, json: &[u8]) {
    let escapes = json.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    out.push(b'"');
    let mut at = out.len();
    // A word is written whole wherever it goes, also behind the end.
    out.resize(at + json.len() + escapes + 2 * WORD, 0);
    let mut put = |at: usize, word: u64| {
        out[at..at + WORD].copy_from_slice(&word.to_le_bytes());
    };
    let (words, rest) = json.as_chunks::<WORD>();
    let mut last = [0; WORD];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().map(|word| (word, WORD));
    for (word, bytes) in words.chain([(&last, rest.len())]) {
        let word = u64::from_le_bytes(*word);
        put(at, word);
        let mut found = escaped(word);
        while found != 0 {
            // The word once more from that byte on, a backslash before it.
            let place = found.trailing_zeros() / 8;
            let escape = at + place as usize;
            put(escape, u64::from(b'\\'));
            put(escape + 1, word >> (8 * place));
            at += 1;
            found &= found - 1;
        }
        at += bytes;
    }
    out.truncate(at);
    out.push(b'"');
}

/// The bytes of a word that need an escape: the highest bit of each is set, and no other.
fn escaped(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const LOW: u64 = ONES * 0x7f;
    // The highest bit of each byte that is zero: there no sum carries, and no bit is set.
    let zeros = |word: u64| !(((word & LOW) + LOW) | word | LOW);
    zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')))
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

    /// Goal: quoting JSON is what a serializer does with it as a text. Method: a text with
    /// everything that JSON can have, at every distance from the edges of chunks.
    #[test]
    fn quoting() {
        let texts =
            ["", "{}", r#"{"a":"b\"c\\\n\u0001\u00e4","d":[1,null]}"#, "\"\u{e4}\u{2028}\""];
        let runs = ["\"".repeat(70), "\\".repeat(33), "x".repeat(64)];
        for text in texts.into_iter().chain(runs.iter().map(String::as_str)) {
            for before in 0..=2 * WORD {
                let text = format!("{}{text}", "x".repeat(before));
                let mut out = b"before".to_vec();
                quoted(&mut out, text.as_bytes());
                let known = serde_json::to_vec(&text).expect("a string");
                assert_eq!(out, [&b"before"[..], &known].concat(), "{text}");
            }
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
