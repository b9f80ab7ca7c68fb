//! Says in words where and why a text is refused (bindings.md §1).

use std::borrow::Cow;

use super::{JsonFault, JsonFaultKind};
use crate::limits::NESTING_MAX;

/// Characters of a word that is quoted, at most.
const QUOTED_MAX: usize = 20;
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What a text that is no JSON lacks at the place of its fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    /// UTF-8.
    Encoding,
    #[default]
    Value,
    /// The name of a member.
    Name,
    /// The colon after a name.
    Colon,
    /// A comma or the closing bracket.
    Comma,
    /// A byte that may stand in a string as it is.
    StringByte,
    /// The end of the string that begins there.
    StringEnd(usize),
    /// The letter of an escape.
    Escape,
    /// A hexadecimal digit of an escape.
    Hexadecimal,
    /// A digit of a number.
    Digit,
    /// The end of the text.
    End,
}

impl JsonFault {
    /// Where and why `text`, the text that was read, is refused: byte, line and column, each
    /// counted from one, and the cause.
    pub fn told(&self, text: &[u8]) -> String {
        let place = place(text, self.at);
        match self.kind {
            JsonFaultKind::Malformed => {
                format!("This is not JSON: at {place} {}.", cause(text, self.at, self.wanted))
            }
            JsonFaultKind::Duplicate => {
                format!("At {place} a member is given twice. Give it once.")
            }
            JsonFaultKind::Surrogate => format!(
                "At {place} a string holds an unpaired surrogate, which is no character. Leave it \
                 out, or write both halves of the pair."
            ),
            JsonFaultKind::Number => format!(
                "This is not JSON: at {place} stands `{}`, which is no number of JSON. Write null, \
                 or a string.",
                word(&text[self.at.min(text.len())..]),
            ),
            JsonFaultKind::TooDeep => {
                format!(
                    "At {place} objects and arrays nest deeper than {NESTING_MAX}. Nothing here \
                     needs that."
                )
            }
        }
    }
}

/// The byte, line and column at `at`. All before it is UTF-8.
fn place(text: &[u8], at: usize) -> String {
    let before = String::from_utf8_lossy(&text[..at.min(text.len())]);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("byte {} (line {line}, column {column})", at + 1)
}

/// The letters, digits and signs with which `rest` begins.
fn word(rest: &[u8]) -> String {
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-');
    rest.iter().take(QUOTED_MAX).take_while(is_of_word).map(|byte| char::from(*byte)).collect()
}

/// The cause, without a full stop at its end.
fn cause(text: &[u8], at: usize, wanted: Wanted) -> Cow<'static, str> {
    let rest = text.get(at..).unwrap_or_default();
    if is_wide(text) {
        return "stands what is no UTF-8 but UTF-16 or UTF-32. Send the text in UTF-8".into();
    }
    match (wanted, rest.first()) {
        (Wanted::Encoding, Some(byte)) => format!(
            "stands the byte 0x{byte:02X}, which is no UTF-8 (the text may be Latin-1 or \
             Windows-1252). Send the text in UTF-8"
        )
        .into(),
        (Wanted::StringByte, Some(byte)) => control(*byte),
        (Wanted::StringEnd(start), _) => format!(
            "the text ends within a string, which begins at {}. Send it whole, or close the string \
             with `\"`",
            place(text, start),
        )
        .into(),
        (_, None) if text.iter().all(u8::is_ascii_whitespace) => {
            "the text ends without a value. Send one JSON value".into()
        }
        (_, None) => "the text ends before it is complete. Send it whole, with all closing \
                      brackets"
            .into(),
        (Wanted::Escape, Some(_)) => "a backslash stands before what is no escape. Write a \
                                      backslash as `\\\\`"
            .into(),
        (Wanted::Hexadecimal, Some(_)) => {
            "four hexadecimal digits are missing behind `\\u`. Write a backslash as `\\\\`".into()
        }
        (Wanted::Digit, Some(_)) => "a digit is missing in a number".into(),
        (_, Some(_)) => outside_strings(text, at, wanted),
    }
}

/// Whether the text is of an encoding with two or four bytes a character.
fn is_wide(text: &[u8]) -> bool {
    let start = &text[..text.len().min(4)];
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") || start.contains(&0)
}

/// The cause of a control character in a string.
fn control(byte: u8) -> Cow<'static, str> {
    match byte {
        b'\n' => "a line feed stands in a string as it is. Write it as `\\n`".into(),
        b'\r' => "a carriage return stands in a string as it is. Write it as `\\r`".into(),
        b'\t' => "a tab stands in a string as it is. Write it as `\\t`".into(),
        _ => format!(
            "the control character U+{byte:04X} stands in a string as it is. Write it as \
             `\\u{byte:04x}`"
        )
        .into(),
    }
}

/// The cause of a byte between strings, in a text that has one at `at`.
fn outside_strings(text: &[u8], at: usize, wanted: Wanted) -> Cow<'static, str> {
    let rest = &text[at..];
    let before = text[..at].trim_ascii_end().last().copied();
    let is_wanted_value = matches!(wanted, Wanted::Value | Wanted::Name);
    match rest {
        [b'\'', ..] => "stands a single quotation mark. Strings and names stand in double ones: \
                        `\"`"
            .into(),
        [b'/' | b'#', ..] => "stands a comment, or what looks like one. JSON has none".into(),
        [b'}' | b']', ..] if before == Some(b',') => {
            "a bracket closes right behind a comma. Leave that comma out".into()
        }
        [b',', ..] if is_wanted_value => "a comma stands where a value or name is missing".into(),
        [b'+', ..] if wanted == Wanted::Value => "a number begins with `+`. Leave it out".into(),
        [b'.', ..] if wanted == Wanted::Value => {
            "a number begins with its point. Write a 0 before it".into()
        }
        [b'0'..=b'9', ..] if wanted == Wanted::Comma && text[..at].ends_with(b"0") => {
            "a number goes on behind a leading 0. Leave that 0 out".into()
        }
        _ if rest.starts_with(MARK) => "stands a byte-order mark. Leave it out".into(),
        _ => character(rest, wanted),
    }
}

/// The cause of any other character.
fn character(rest: &[u8], wanted: Wanted) -> Cow<'static, str> {
    let word = word(rest);
    let end = rest.len().min(4);
    let character = String::from_utf8_lossy(&rest[..end]).chars().next().unwrap_or_default();
    let came = if word.len() > 1 { word.clone() } else { character.escape_debug().to_string() };
    match character {
        '“' | '”' | '„' | '‘' | '’' | '«' | '»' => {
            return format!("stands the quotation mark `{came}`. Use the plain `\"`").into();
        }
        _ if character.is_whitespace() => {
            let code = u32::from(character);
            return format!(
                "stands the space U+{code:04X}. Only space, tab, line feed and carriage return may \
                 stand between values"
            )
            .into();
        }
        _ => {}
    }
    match (wanted, word.to_ascii_lowercase().as_str()) {
        (Wanted::Value, "true" | "false" | "null") => {
            format!("stands `{came}`. Write true, false and null in small letters").into()
        }
        (Wanted::Value, "none" | "undefined" | "nil") => {
            format!("stands `{came}`. Write null").into()
        }
        (Wanted::Value, _) => {
            format!("a value is wanted, and `{came}` came. Strings stand in `\"`").into()
        }
        (Wanted::Name, _) => format!("a member's name in `\"` is wanted, and `{came}` came").into(),
        (Wanted::Colon, _) => {
            format!("a colon is wanted behind a member's name, and `{came}` came").into()
        }
        (Wanted::End, _) => {
            format!("stands more behind the value: `{came}`. Send one JSON value").into()
        }
        _ => format!(
            "a comma or the closing bracket is wanted, and `{came}` came (a `\"` within a string \
             is written as `\\\"`)"
        )
        .into(),
    }
}
