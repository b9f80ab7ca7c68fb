//! Constant texts that name numbers: each number comes from its constant.

/// A part of a text.
#[derive(Clone, Copy, Debug)]
pub enum TextPart {
    /// As it is.
    Text(&'static str),
    /// In decimal digits.
    Number(u64),
}

/// Joins literals, numbers in braces and other constant texts in parentheses into one constant:
/// `numbered!("1 to " {BODY_MAX} " characters." (REMARK))`.
#[macro_export]
macro_rules! numbered {
    (@part {$number:expr}) => { $crate::numbered::TextPart::Number($number as u64) };
    (@part $text:tt) => { $crate::numbered::TextPart::Text($text) };
    ($($part:tt)+) => {{
        const PARTS: &[$crate::numbered::TextPart] = &[$($crate::numbered!(@part $part)),+];
        const BYTES: [u8; $crate::numbered::length(PARTS)] = $crate::numbered::join(PARTS);
        const TEXT: &str = $crate::numbered::text(&BYTES);
        TEXT
    }};
}

/// The bytes of all parts together.
pub const fn length(parts: &[TextPart]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < parts.len() {
        sum += match parts[at] {
            TextPart::Text(text) => text.len(),
            TextPart::Number(number) => digits(number),
        };
        at += 1;
    }
    sum
}

/// The parts, one after the other; `N` is their [`length`].
pub const fn join<const N: usize>(parts: &[TextPart]) -> [u8; N] {
    let (mut joined, mut end, mut at) = ([0; N], 0, 0);
    while at < parts.len() {
        match parts[at] {
            TextPart::Text(text) => {
                let (_, rest) = joined.split_at_mut(end);
                rest.split_at_mut(text.len()).0.copy_from_slice(text.as_bytes());
                end += text.len();
            }
            TextPart::Number(mut number) => {
                end += digits(number);
                let mut place = end;
                let mut left = digits(number);
                while left > 0 {
                    place -= 1;
                    left -= 1;
                    joined[place] = b'0' + (number % 10) as u8;
                    number /= 10;
                }
            }
        }
        at += 1;
    }
    joined
}

/// The text of joined parts.
pub const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("texts and digits join to a text"),
    }
}

const fn digits(number: u64) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    /// Goal: numbers stand in a text as they do in code. Method: the bounds of a number.
    #[test]
    fn joined() {
        const REMARK: &str = " end";
        assert_eq!(numbered!("a"), "a");
        assert_eq!(numbered!("é" {0} ", " {7} (REMARK)), "é0, 7 end");
        assert_eq!(numbered!({10} "–" {1_000} "–" {u64::MAX}), format!("10–1000–{}", u64::MAX));
    }
}
