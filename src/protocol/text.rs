//! Characters, and the strings that the protocol admits (`parley.md` §2).
//!
//! A character is a Unicode scalar value. Strings are never changed here: they are judged.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::limits::EXTENSION_MAX;

/// The Unicode version the manifest names: that of the tables which normalize artifacts
/// (`artifacts.md` §1). A test compares it with the versions of the crates.
pub const UNICODE_VERSION: &str = "18.0.0";

/// Default_Ignorable_Code_Point, first and last of each range in ascending order. No crate
/// in use has this property; apart from additions of new characters, whole blocks are
/// reserved for it, so the table does not age.
const DEFAULT_IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether something in the text can be seen: at least one character that is not
/// White_Space, Cc, Cf or Default_Ignorable_Code_Point (`parley.md` §2).
pub fn is_visible(text: &str) -> bool {
    text.chars().any(is_visible_character)
}

/// Whether the character can be seen.
pub(crate) fn is_visible_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_graphic();
    }
    !character.is_whitespace()
        && !character.is_control()
        && character.general_category() != GeneralCategory::Format
        && !is_default_ignorable(character)
}

fn is_default_ignorable(character: char) -> bool {
    let after = DEFAULT_IGNORABLE.partition_point(|range| range.0 <= character);
    after > 0 && character <= DEFAULT_IGNORABLE[after - 1].1
}

/// Whether the text holds a control character (Cc) other than line feed, carriage return
/// and tab, which no string that a client sends may hold (`parley.md` §2).
pub fn has_forbidden_control(text: &str) -> bool {
    // What such a character may begin with is rare, and without a branch for each byte it is
    // looked for in many at a time. 0xc2 begins those of two bytes.
    let begins = |byte: u8| {
        let low = u8::from(byte < 0x20);
        let admitted = u8::from(byte == b'\n') | u8::from(byte == b'\r') | u8::from(byte == b'\t');
        (low & !admitted) | u8::from(byte == 0x7f) | u8::from(byte == 0xc2)
    };
    let any_begins = text.bytes().fold(0, |any, byte| any | begins(byte)) != 0;
    any_begins && text.chars().any(is_forbidden_control)
}

/// Whether the character is a control character that no string may hold.
pub(crate) fn is_forbidden_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
}

/// The length of the text in characters, that is in Unicode scalar values.
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// Whether the text is a handle: 1 to [`EXTENSION_MAX`] characters of `A`–`Z`, `a`–`z`, `0`–`9`,
/// `.`, `_` and `-`.
pub fn is_handle(text: &str) -> bool {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=EXTENSION_MAX).contains(&text.len()) && text.bytes().all(admitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One character of every invisible kind is not enough, one visible one among them is:
    /// character by character, then all invisible ones together.
    #[test]
    fn visible_needs_one_visible_character() {
        let invisible = " \t\r\n\0\u{7f}\u{85}\u{9f}\u{a0}\u{ad}\u{34f}\u{61c}\u{600}\u{115f}\
                         \u{1160}\u{17b4}\u{180e}\u{180f}\u{2003}\u{200b}\u{200d}\u{2028}\u{2029}\
                         \u{202e}\u{2060}\u{2065}\u{3000}\u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\
                         \u{fffb}\u{110bd}\u{1d173}\u{e0001}\u{e0fff}";
        let visible =
            "aé漢😀\u{ac}\u{ae}\u{300}\u{378}\u{1161}\u{2800}\u{e000}\u{fffc}\u{fffd}\u{e1000}";
        assert!(!is_visible("") && !is_visible(invisible));
        for text in invisible.chars().map(String::from) {
            assert!(!is_visible(&text), "{text:?}");
        }
        for text in visible.chars().map(String::from) {
            assert!(is_visible(&text), "{text:?}");
            assert!(is_visible(&format!("{invisible}{text}{invisible}")), "{text:?}");
        }
    }

    /// The table of ignorable characters must be sorted and without overlap, or the search
    /// in it is wrong: compared pair by pair.
    #[test]
    fn default_ignorable_ranges_ascend() {
        assert!(DEFAULT_IGNORABLE.iter().all(|range| range.0 <= range.1));
        assert!(DEFAULT_IGNORABLE.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    /// Of the control characters only three are admitted: all of Cc is tried.
    #[test]
    fn controls_but_three_are_forbidden() {
        for code in (0..0x20).chain(0x7f..0xa0) {
            let character = char::from_u32(code).expect("no surrogate");
            let admitted = ['\n', '\r', '\t'].contains(&character);
            assert_eq!(has_forbidden_control(&format!("a{character}b")), !admitted, "{code:x}");
        }
        assert!(!has_forbidden_control("a\u{200b}\u{2028}é"));
    }

    /// Length counts scalar values and not bytes or clusters: a text of each width.
    #[test]
    fn length_counts_scalar_values() {
        assert_eq!(length("aé漢😀"), 4);
        assert_eq!(length("e\u{301}"), 2);
    }

    /// Handles at both ends of their length and with each foreign character next to the
    /// admitted ones: a table.
    #[test]
    fn handles() {
        for text in ["a", "A.b_c-9", "...", &"x".repeat(64)] {
            assert!(is_handle(text), "{text:?}");
        }
        for text in ["", "a b", "a/b", "a:b", "a@b", "é", "a\n", "[", "`", "{", &"x".repeat(65)] {
            assert!(!is_handle(text), "{text:?}");
        }
    }

    /// One version in the manifest is honest only if all tables agree on it: compared here,
    /// so that an update of one crate alone is noticed.
    #[test]
    fn tables_agree_on_the_unicode_version() {
        let (major, minor, update) = unicode_normalization::UNICODE_VERSION;
        assert_eq!(format!("{major}.{minor}.{update}"), UNICODE_VERSION);
        let (major, minor, update) = unicode_properties::UNICODE_VERSION;
        assert_eq!(format!("{major}.{minor}.{update}"), UNICODE_VERSION);
    }
}
