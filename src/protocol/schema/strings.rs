//! Patterns of strings, as far as a regular expression can express the rules of the protocol.

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::feed::QUERY_THREADS_MAX;
use crate::limits::{EXTENSION_MAX, HEX_256, KEY_MAX, REF_MAX};
use crate::text;

/// The characters that a string may hold.
static ADMITTED: LazyLock<String> = LazyLock::new(|| class(text::is_forbidden_control));
/// The characters that are something visible.
static VISIBLE: LazyLock<String> =
    LazyLock::new(|| class(|character| !text::is_visible_character(character)));

/// A class of characters, `[^…]`, that leaves out those for which `out` holds.
fn class(out: impl Fn(char) -> bool) -> String {
    let mut class = String::from("[^");
    let mut left_out = (char::MIN..=char::MAX).filter(|character| out(*character)).peekable();
    while let Some(first) = left_out.next() {
        let mut last = first;
        while let Some(next) = left_out.next_if(|next| (last..=*next).nth(1) == Some(*next)) {
            last = next;
        }
        escaped(&mut class, first);
        if first < last {
            class.push('-');
            escaped(&mut class, last);
        }
    }
    class.push(']');
    class
}

/// Characters of the first plane as `\uXXXX`, which all dialects read; others as they are, because
/// dialects differ in how to escape them.
fn escaped(class: &mut String, character: char) {
    match u32::from(character) {
        code @ 0..0x1_0000 => {
            write!(class, "\\u{code:04x}").expect("memory takes what is written");
        }
        _ => class.push(character),
    }
}

/// A string of `min` to `max` characters without control characters; with `min` 1 something in it
/// must be visible (parley.md §2).
pub(super) fn text(min: usize, max: usize) -> Value {
    let admitted = &*ADMITTED;
    if min == 0 {
        return json!({ "type": "string", "maxLength": max, "pattern": format!("^{admitted}*$") });
    }
    let pattern = format!("^{admitted}*{}{admitted}*$", *VISIBLE);
    json!({ "type": "string", "minLength": min, "maxLength": max, "pattern": pattern })
}

/// An extension, a handle, a name.
pub(super) fn handle() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": EXTENSION_MAX,
        "pattern": "^[A-Za-z0-9._-]+$" })
}

/// `<realm>:<handle>`.
pub(super) fn identity() -> Value {
    let handle = format!("[A-Za-z0-9._-]{{1,{EXTENSION_MAX}}}");
    json!({ "type": "string", "pattern": format!("^{handle}:{handle}$") })
}

/// An artifact's identifier.
pub(super) fn artifact_id() -> Value {
    json!({ "type": "string", "pattern": format!("^sha256:[0-9a-f]{{{HEX_256}}}$") })
}

/// An identifier as a string, prefixed or not. Numbers of 16 digits, of which some are too great,
/// are left out: none is given before the 2^32 numbers of some hundred thousand restores.
pub(super) fn id(prefix: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^({prefix})?[1-9][0-9]{{0,14}}$") })
}

/// Threads with commas between, as many as a feed's query names.
pub(super) fn threads() -> Value {
    let (thread, more) = ("(th_)?[1-9][0-9]{0,14}", QUERY_THREADS_MAX - 1);
    json!({ "type": "string", "pattern": format!("^{thread}(,{thread}){{0,{more}}}$") })
}

/// A cursor.
pub(super) fn cursor() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// An idempotency key.
pub(super) fn key() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": KEY_MAX, "pattern": "^[!-~]+$" })
}

/// An RFC 3339 time.
pub(super) fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// The `ref` of a piece of evidence, by the pattern of its kind.
pub(super) fn reference(pattern: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": REF_MAX, "pattern": pattern })
}
