//! Text for a terminal. Participants' text is data: it may not move the cursor, change colours or
//! reverse the direction of the text beside it.

use std::fmt::Write as _;

/// The widest line of wrapped text, in characters.
pub const WIDTH: usize = 88;

/// Replaces every control character but line feed and tab by a visible one. A carriage return
/// before a line feed is dropped; alone it becomes a line feed.
pub fn neutral(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => safe.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => safe.push('\n'),
            '\0'..='\u{1f}' => {
                let picture = char::from_u32(0x2400 + u32::from(character));
                safe.push(picture.unwrap_or('\u{fffd}'));
            }
            '\u{7f}' => safe.push('\u{2421}'),
            other if is_control(other) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(other));
            }
            other => safe.push(other),
        }
    }
    safe
}

/// Controls beyond ASCII, directional formatting characters, and the two separators that some
/// terminals take for line ends.
fn is_control(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}

/// As [`neutral`], in one line: line ends and tabs become a space.
pub fn in_one_line(text: &str) -> String {
    neutral(text).split(['\n', '\t']).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// JSON text with the controls escaped that JSON allows bare (U+007F to U+009F), which only strings
/// hold; the value stays the same.
pub fn neutral_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, '\u{7f}'..='\u{9f}') {
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Appends `text`, neutral and wrapped at [`WIDTH`], each line after `indent`.
pub fn push_block(into: &mut String, indent: &str, text: &str) {
    let width = WIDTH.saturating_sub(indent.chars().count()).max(24);
    for line in neutral(text).split('\n') {
        for part in wrap(line, width) {
            into.push_str(indent);
            into.push_str(&part);
            into.truncate(into.trim_end().len());
            into.push('\n');
        }
    }
}

/// Breaks `line` at white space into lines of at most `width` characters; longer words stay whole.
/// Leading white space stays.
fn wrap(line: &str, width: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    if length(line) <= width {
        return vec![line.to_owned()];
    }
    let start = line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut current = line[..start].to_owned();
    let mut is_empty = true;
    for word in line[start..].split_whitespace() {
        if !is_empty && length(&current) + 1 + length(word) > width {
            lines.push(std::mem::take(&mut current));
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
        is_empty = false;
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: no control character comes through. Method: all controls and directional
    /// characters, then a few texts with their exact form.
    #[test]
    fn what_a_terminal_obeys_is_neutralized() {
        let controls = (0..0x20).chain(0x7f..0xa0).chain(0x202a..0x202f).chain(0x2066..0x206a);
        for code in controls {
            let character = char::from_u32(code).expect("no surrogate");
            let safe = neutral(&format!("a{character}b"));
            let kept = safe.chars().all(|it| it == '\n' || it == '\t' || !is_control(it));
            assert!(kept && !safe.contains('\x1b') && !safe.contains('\r'), "{code:x}: {safe:?}");
        }
        assert_eq!(neutral("a\x1b[31mred"), "a␛[31mred");
        assert_eq!(neutral("a\r\nb\rc\td"), "a\nb\nc\td");
        assert_eq!(neutral("x\u{9b}2J\u{202e}y\u{7f}"), "x\\u{9b}2J\\u{202e}y␡");
        assert_eq!(neutral("é 漢 😀 👩\u{200d}🔬"), "é 漢 😀 👩\u{200d}🔬");
        assert_eq!(in_one_line("a\n b\tc\r\n"), "a b c ");
    }

    /// Goal: JSON keeps its value and loses bare controls. Method: parsed before and after.
    #[test]
    fn json_is_neutralized_without_changing_it() {
        let json = "{\"body\":\"a\u{7f}\u{9b}é\"}";
        let safe = neutral_json(json);
        assert_eq!(safe, "{\"body\":\"a\\u007f\\u009bé\"}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(json), value(&safe));
    }

    /// Goal: wrapping loses no word and keeps to the width. Method: a long line, a long word, an
    /// empty line, an indented one.
    #[test]
    fn wrapping() {
        let long = "one two three four five six seven";
        assert_eq!(wrap(long, 13), ["one two three", "four five six", "seven"]);
        assert_eq!(wrap("abcdefghijklmnopqrstuvwxyz a", 5), ["abcdefghijklmnopqrstuvwxyz", "a"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("  - one two", 8), ["  - one", "two"]);
        let mut block = String::new();
        push_block(&mut block, "  | ", "a\n\nb");
        assert_eq!(block, "  | a\n  |\n  | b\n");
    }
}
