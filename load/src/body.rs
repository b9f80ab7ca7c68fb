//! Bodies of messages: each distinct, of a given length, ASCII without characters to escape.

use crate::rng;

/// Appends a number in digits.
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    use std::io::Write as _;
    // Writing into a vector cannot fail.
    let _ = write!(out, "{number}");
}

/// Appends a body of `length` bytes: a tag of 16 hexadecimal digits, unique by `serial`; filler.
pub fn push_body(out: &mut Vec<u8>, seed: u64, serial: u64, length: usize) {
    const FILLER: &[u8] =
        b"this filler brings each message to its length; only the tag before it differs \
        between messages, so that a message can be told from every other by its body ";
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let end = out.len() + length;
    let tag = rng::mix(seed ^ 0x706c).wrapping_add(serial);
    out.extend((0..16).map(|digit| HEX[(tag >> (60 - 4 * digit)) as usize & 15]));
    out.push(b' ');
    let mut at = (serial % FILLER.len() as u64) as usize;
    while out.len() < end {
        let piece = &FILLER[at..FILLER.len().min(at + end - out.len())];
        out.extend_from_slice(piece);
        at = 0;
    }
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: bodies have the requested length and differ. Method: some serials and lengths.
    #[test]
    fn bodies() {
        let make = |serial, length| {
            let mut out = Vec::new();
            push_body(&mut out, 1, serial, length);
            out
        };
        for length in [32, 300, 500] {
            assert_eq!(make(7, length).len(), length);
        }
        assert_ne!(make(1, 300), make(2, 300));
        assert_eq!(make(1, 300), make(1, 300));
    }
}
