//! Scans answers and frames for single members without a full parse.
//!
//! A full parse of each answer would take more CPU than the server's own work for it, on the same
//! machine. Members stand in the order of the specification, so a search finds them.

use memchr::{memchr, memmem};

/// The members of an acknowledgement that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// The number of the message.
    pub message: u64,
    /// The number of its thread.
    pub thread: u64,
    /// The body as in the answer, with its escapes.
    pub body: &'a [u8],
}

/// Finds the acknowledged message in an answer to `post_message`, over HTTP or MCP.
pub fn acknowledgement(answer: &[u8]) -> Option<Acknowledgement<'_>> {
    let start = memmem::find(answer, br#""message":{"id":"msg_"#)?;
    let rest = &answer[start + br#""message":{"id":"msg_"#.len()..];
    let (message, rest) = number(rest)?;
    let rest = rest.strip_prefix(br#"","thread":"th_"#)?;
    let (thread, rest) = number(rest)?;
    let body = text(rest, br#""body":""#)?;
    Some(Acknowledgement { message, thread, body })
}

/// The number at the start of the bytes, and the bytes after it.
pub fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    let mut length = 0;
    for digit in bytes.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        length += 1;
    }
    if length == 0 { None } else { Some((value, &bytes[length..])) }
}

/// The text after the first `opening` (which ends with the quote), up to the closing quote.
pub fn text<'a>(bytes: &'a [u8], opening: &[u8]) -> Option<&'a [u8]> {
    let start = memmem::find(bytes, opening)? + opening.len();
    let rest = &bytes[start..];
    let mut from = 0;
    loop {
        let end = from + memchr(b'"', &rest[from..])?;
        let escapes = rest[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(&rest[..end]);
        }
        from = end + 1;
    }
}

/// The position of a frame's own cursor, `"cursor":"<position>.…"`.
///
/// Objects inside a frame have members `cursor` too. A cursor that is the first or the last member
/// of the frame is found by a search, any other by a full parse.
pub fn frame_position(frame: &[u8]) -> Option<u64> {
    let opening = br#""cursor":""#;
    let last = memmem::rfind(frame, opening)?;
    let tail = &frame[last + opening.len()..];
    let closing = memchr(b'"', tail)?;
    if tail.get(closing + 1..) == Some(b"}") {
        return position(&tail[..closing]);
    }
    let first = memmem::find(frame, opening)?;
    let nested = memchr(b'{', frame.get(1..first)?).is_some();
    if nested {
        position(cursor(frame)?.as_bytes())
    } else {
        position(&frame[first + opening.len()..])
    }
}

/// The position in the last cursor of an answer, which is that of the thread.
pub fn last_position(answer: &[u8]) -> Option<u64> {
    let opening = br#""cursor":""#;
    position(&answer[memmem::rfind(answer, opening)? + opening.len()..])
}

/// The position at the start of a cursor.
pub fn position(cursor: &[u8]) -> Option<u64> {
    let (value, rest) = number(cursor)?;
    rest.starts_with(b".").then_some(value)
}

/// The text of a frame's own cursor, by a full parse.
pub fn cursor(frame: &[u8]) -> Option<&str> {
    #[derive(serde::Deserialize)]
    struct Cursor<'a> {
        #[serde(borrow)]
        cursor: &'a str,
    }
    serde_json::from_slice::<Cursor<'_>>(frame).ok().map(|parsed| parsed.cursor)
}

/// The `type` of a frame: by a search if it is the first member, else by a full parse.
pub fn frame_type(frame: &[u8]) -> Option<&str> {
    #[derive(serde::Deserialize)]
    struct Type<'a> {
        #[serde(borrow, rename = "type")]
        name: &'a str,
    }
    if let Some(rest) = frame.strip_prefix(br#"{"type":""#) {
        let end = memchr(b'"', rest)?;
        return std::str::from_utf8(&rest[..end]).ok();
    }
    serde_json::from_slice::<Type<'_>>(frame).ok().map(|parsed| parsed.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the scan finds the members of an acknowledgement. Method: an answer as specified.
    #[test]
    fn finds_acknowledgement() {
        let answer = br#"{"message":{"id":"msg_27","thread":"th_4","parent":null,
            "kind":"inform","body":"say \"hi\" \\","awaiting":null},"thread":{"id":"th_4"}}"#;
        let found = acknowledgement(answer).unwrap();
        assert_eq!((found.message, found.thread), (27, 4));
        assert_eq!(found.body, br#"say \"hi\" \\"#);
        assert_eq!(acknowledgement(b"{}"), None);
    }

    /// Goal: the frame's own cursor is found. Method: as first, last and middle member.
    #[test]
    fn finds_own_cursor() {
        let first = br#"{"type":"message","cursor":"16.1.a","thread":{"cursor":"9.1.b"}}"#;
        let last = br#"{"type":"message","thread":{"cursor":"9.1.b"},"cursor":"16.1.a"}"#;
        let middle = br#"{"thread":{"cursor":"9.1.b"},"cursor":"16.1.a","type":"message"}"#;
        for frame in [&first[..], &last[..], &middle[..]] {
            assert_eq!(frame_position(frame), Some(16));
            assert_eq!(frame_type(frame), Some("message"));
            assert!(matches!(last_position(frame), Some(9 | 16)));
        }
    }
}
