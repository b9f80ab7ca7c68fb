//! Parses the frames of a client (bindings.md §6), which change the threads that its feed follows.

use parley_protocol::ids::ThreadId;
use parley_protocol::json::{self, JsonObject, JsonValue};
use parley_protocol::limits::NESTING_MAX;
use parley_protocol::refusal::{Refusal, Result};

/// A frame of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFrame {
    /// Whether the threads are followed from now on, or no longer.
    pub follow: bool,
    /// The threads, sorted, each once.
    pub threads: Vec<ThreadId>,
}

const FORM: &str = "Send `{\"type\":\"subscribe\",\"threads\":[\"th_1\"]}` or \
                    `{\"type\":\"unsubscribe\",\"threads\":[\"th_1\"]}`, as text.";

/// Parses a frame.
///
/// # Errors
/// 400 `invalid_body`, naming the member at fault.
pub fn read(text: &str) -> Result<ClientFrame> {
    let text = text.as_bytes();
    let value = json::parse(text, NESTING_MAX).map_err(|fault| {
        let detail = format!("{} {FORM}", fault.told(text));
        Refusal::body(fault.field().map(str::to_owned), detail)
    })?;
    let JsonValue::Object(object) = &value else { return Err(Refusal::body(None, FORM)) };
    if let Some((name, _)) = object.iter().find(|(name, _)| !["type", "threads"].contains(name)) {
        let detail = format!("There is no such member. {FORM}");
        return Err(Refusal::body(json::token(name), detail));
    }
    let follow = match object.get("type").and_then(JsonValue::as_str) {
        Some("subscribe") => true,
        Some("unsubscribe") => false,
        _ => return Err(Refusal::body("type".to_owned(), FORM)),
    };
    Ok(ClientFrame { follow, threads: threads(object)? })
}

fn threads(object: &JsonObject) -> Result<Vec<ThreadId>> {
    let items = object.get("threads").and_then(JsonValue::as_array);
    let items = items.ok_or_else(|| Refusal::body("threads".to_owned(), FORM))?;
    let mut threads = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let text = match item {
            JsonValue::Number(number) => Some(number.text()),
            other => other.as_str(),
        };
        let thread = text.and_then(ThreadId::parse).ok_or_else(|| {
            let detail = "This is no identifier. Write it as `th_1042` or as its plain number.";
            Refusal::body(format!("threads/{place}"), detail)
        })?;
        threads.push(thread);
    }
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}

/// The refusal of a binary frame.
pub fn binary() -> Refusal {
    Refusal::body(None, FORM)
}

/// The refusal of a frame in a scope other than `threads`.
pub fn only_in_threads() -> Refusal {
    let detail = "Only a feed with `scope=threads` follows threads that can be changed.";
    Refusal::body("type".to_owned(), detail)
}

/// The refusal of more than `max` threads.
pub fn too_many(max: usize) -> Refusal {
    let detail = format!("One feed follows at most {max} threads. Follow them with `scope=all`.");
    Refusal::body("threads".to_owned(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parley_protocol::refusal::Reason;

    /// Goal: only the two frames of the page are accepted, in the three forms of identifiers.
    /// Method: a row a text, with the threads or the member at fault.
    #[test]
    fn frames() {
        let ids = |ids: &[u64]| ids.iter().copied().map(ThreadId).collect::<Vec<_>>();
        for (text, want) in [
            (r#"{"type":"subscribe","threads":["th_2",1,"1","2"]}"#, Ok((true, ids(&[1, 2])))),
            (r#"{"threads":[],"type":"unsubscribe"}"#, Ok((false, ids(&[])))),
            (r#"{"type":"subscribe","threads":["th_1","x"]}"#, Err(Some("threads/1"))),
            (r#"{"type":"subscribe","threads":[1.0]}"#, Err(Some("threads/0"))),
            (r#"{"type":"subscribe","threads":"th_1"}"#, Err(Some("threads"))),
            (r#"{"type":"subscribe"}"#, Err(Some("threads"))),
            (r#"{"type":"follow","threads":[]}"#, Err(Some("type"))),
            (r#"{"threads":[]}"#, Err(Some("type"))),
            (r#"{"type":"subscribe","threads":[],"a/b":null}"#, Err(Some("a~1b"))),
            (r#"{"type":"subscribe","type":"subscribe","threads":[]}"#, Err(Some("type"))),
            (r#"["subscribe"]"#, Err(None)),
            ("subscribe", Err(None)),
            ("", Err(None)),
        ] {
            let got = read(text).map(|frame| (frame.follow, frame.threads));
            let got = got.map_err(|refusal| {
                assert_eq!(refusal.reason, Reason::InvalidBody);
                refusal.field
            });
            assert_eq!(got, want.map_err(|field: Option<&str>| field.map(Into::into)), "{text}");
        }
    }
}
