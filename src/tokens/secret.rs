//! Secrets of tokens: generated at random, stored as a hash.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::clock::entropy;

/// The prefix of every secret, by which a leaked one is recognized.
const PREFIX: &str = "ply_";

/// A new secret: 256 bits in base64url.
pub(super) fn draw() -> String {
    let mut text = PREFIX.to_owned();
    URL_SAFE_NO_PAD.encode_string(entropy::<32>(), &mut text);
    text
}

/// The hash that is stored of a secret.
pub(super) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: secrets have one form and never repeat. Method: draw two.
    #[test]
    fn form() {
        let (one, two) = (draw(), draw());
        assert_ne!(one, two);
        assert_eq!(one.len(), 47);
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        assert!(one[4..].bytes().all(is_base64url));
    }
}
