//! The use of an idempotency key (bindings.md §1).

use serde::{Deserialize, Serialize};

/// How an idempotency key was used (bindings.md §1): digests, never the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    /// Digest of identity and key.
    pub key: [u8; 16],
    /// Digest of operation and arguments as parsed.
    pub content: [u8; 16],
}
