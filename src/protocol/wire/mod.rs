//! The JSON of bindings.md §2, §3 and §6: members in the order of the page, those that can be null
//! always there.
//!
//! Everything appends to a buffer, and objects are made once: the bytes of a Message or a Thread
//! are put into an answer and into every frame as they are.

/// Writes the opening brace and members: to each name the function that writes its value, and the
/// function's arguments after the buffer.
macro_rules! members {
    ($out:ident; $name:literal: $write:ident($($value:expr),*) $(,)?) => {
        $crate::wire::raw($out, concat!("{\"", $name, "\":"));
        $write($out, $($value),*);
    };
    ($out:ident; $name:literal: $write:ident($($value:expr),*),
     $($names:literal: $writes:ident($($values:expr),*)),+ $(,)?) => {
        members!($out; $name: $write($($value),*));
        $(
            $crate::wire::raw($out, concat!(",\"", $names, "\":"));
            $writes($out, $($values),*);
        )+
    };
}

/// Writes an object of members.
macro_rules! object {
    ($out:ident; $($members:tt)+) => {
        members!($out; $($members)+);
        $out.push(b'}');
    };
}

mod answer;
mod claim;
pub mod frame;
mod message;
mod reading;
mod thread;
mod token;

pub use answer::{
    ListWriter, STATUS_OK, artifact_published, claim_changed, feed_ticket, inbox_item, marked,
    posted,
};
pub use claim::claim;
pub use message::message;
pub use reading::{ShownMessage, reading_flat, reading_tree};
pub use thread::{event, thread};
pub use token::{ShownToken, token, token_created};

use std::borrow::Cow;

use crate::entry::{Awaiting, Due};
use crate::identity::Participant;
use crate::ids::Prefixed;
use crate::time::Millis;

/// Where JSON is put.
pub type JsonBuffer = Vec<u8>;

/// JSON text for a line of an event stream (bindings.md §6): U+2028 and U+2029, at which some
/// clients break lines, are escaped. In JSON they stand in strings only.
pub fn event_data(json: &str) -> Cow<'_, str> {
    if !json.contains(SEPARATORS) {
        return Cow::Borrowed(json);
    }
    Cow::Owned(json.replace(SEPARATORS[0], "\\u2028").replace(SEPARATORS[1], "\\u2029"))
}

const SEPARATORS: [char; 2] = ['\u{2028}', '\u{2029}'];

/// A string, escaped.
pub fn text(out: &mut JsonBuffer, text: &str) {
    // Most texts need no escaping, and without a branch for each byte that is seen many at a time.
    let escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    if text.bytes().fold(0, |any, byte| any | u8::from(escaped(byte))) == 0 {
        return word(out, text);
    }
    serde_json::to_writer(out, text).expect("a string is written into memory");
}

/// An array; `put` writes each item.
pub fn array<T>(
    out: &mut JsonBuffer,
    items: impl IntoIterator<Item = T>,
    put: impl Fn(&mut JsonBuffer, T),
) {
    out.push(b'[');
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        put(out, item);
    }
    out.push(b']');
}

/// A participant.
pub fn participant(out: &mut JsonBuffer, participant: &Participant) {
    object!(out;
        "identity": text(&participant.identity),
        "extension": option(participant.extension.as_deref(), text),
    );
}

/// JSON as it is.
pub fn raw(out: &mut JsonBuffer, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// JSON that was written before.
fn bytes(out: &mut JsonBuffer, json: &[u8]) {
    out.extend_from_slice(json);
}

/// An identifier.
fn id<T: Prefixed>(out: &mut JsonBuffer, id: T) {
    out.push(b'"');
    raw(out, T::PREFIX);
    number(out, id.number());
    out.push(b'"');
}

/// A string that needs no escaping.
fn word(out: &mut JsonBuffer, word: &str) {
    out.push(b'"');
    raw(out, word);
    out.push(b'"');
}

fn number(out: &mut JsonBuffer, number: u64) {
    raw(out, itoa::Buffer::new().format(number));
}

fn truth(out: &mut JsonBuffer, truth: bool) {
    raw(out, if truth { "true" } else { "false" });
}

fn time(out: &mut JsonBuffer, at: Millis) {
    out.push(b'"');
    out.extend_from_slice(&at.to_ascii());
    out.push(b'"');
}

fn option<T>(out: &mut JsonBuffer, value: Option<T>, put: impl FnOnce(&mut JsonBuffer, T)) {
    match value {
        Some(value) => put(out, value),
        None => raw(out, "null"),
    }
}

fn due(out: &mut JsonBuffer, due: &Due) {
    match due {
        Due::Anyone => raw(out, "\"anyone\""),
        Due::Participant(who) => participant(out, who),
    }
}

fn awaiting(out: &mut JsonBuffer, awaiting: &Awaiting) {
    object!(out;
        "message": id(awaiting.message),
        "due": due(&awaiting.due),
        "since": time(awaiting.since),
    );
}

#[cfg(test)]
mod tests;
