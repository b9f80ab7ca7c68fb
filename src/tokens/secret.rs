//! Secrets: drawn, written, hashed.

use sha2::{Digest, Sha256};

use crate::clock::entropy;

/// What every secret begins with, so that one that leaks is recognized.
const PREFIX: &str = "ply_";

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A new secret: 256 bits in base64url.
pub(super) fn draw() -> String {
    let bytes: [u8; 32] = entropy();
    let mut text = String::with_capacity(PREFIX.len() + 43);
    text.push_str(PREFIX);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = (word >> (18 - 6 * place)) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

/// What is stored of a secret.
pub(super) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: secrets have one form and never repeat. Method: draw a few.
    #[test]
    fn form() {
        let (one, two) = (draw(), draw());
        assert_ne!(one, two);
        assert_eq!(one.len(), 47);
        assert!(one[4..].bytes().all(|byte| ALPHABET.contains(&byte)));
    }
}
