//! Every bound of the language in one place (parley.md §9).

use serde::{Deserialize, Serialize};

/// Characters of a body or a statement; fixed by the protocol.
pub const BODY_MAX: usize = 500;
/// Characters of an extension, a handle, a name, a label; fixed.
pub const EXTENSION_MAX: usize = 64;
/// Characters of `provenance.model` and `provenance.client`.
pub const PROVENANCE_MAX: usize = 128;
/// Characters of the reason of a mark.
pub const REASON_MAX: usize = 500;
/// Characters of an evidence's `ref`.
pub const REF_MAX: usize = 2_048;
/// Characters of an evidence's `note`.
pub const NOTE_MAX: usize = 500;
/// Claims that one assertion may supersede.
pub const SUPERSEDES_MAX: usize = 8;
/// Nesting of any JSON that a client sends; the top level is 1.
pub const NESTING_MAX: usize = 32;
/// Characters of the opening body that a thread shows as its subject.
pub const SUBJECT_MAX: usize = 80;
/// Characters of an idempotency key.
pub const KEY_MAX: usize = 128;
/// Items of a page where nothing is asked for, if `page_max` is not smaller.
pub const PAGE_DEFAULT: u64 = 50;
/// Lowercase hex digits of a digest of 256 bits: SHA-256, BLAKE3.
pub const HEX_256: usize = 64;
/// Lowercase hex digits of a digest of 512 bits: SHA-512.
pub const HEX_512: usize = 128;
/// The fewest lowercase hex digits that name a commit.
pub const COMMIT_MIN: usize = 7;
/// The most lowercase hex digits that name a commit.
pub const COMMIT_MAX: usize = 64;
/// Seconds for which a feed's ticket can be used (bindings.md §6).
pub const TICKET_SECONDS: u64 = 30;
/// Hours that an idempotency key is remembered at least.
pub const KEY_HOURS_MIN: u64 = 24;

const _: () = assert!(SUBJECT_MAX <= BODY_MAX && SUPERSEDES_MAX <= 8);

/// The limits that configuration may change; the manifest publishes those in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Messages of a thread; above: `thread_full`.
    pub thread_messages_max: u64,
    /// Depth of a thread, the opening having 1; above: `depth_limit`.
    pub thread_depth_max: u64,
    /// Messages of one participant in a row; above: `consecutive_limit`.
    pub consecutive_max: u64,
    /// Messages of two models among themselves before `loop_limit`.
    pub exchange_max: u64,
    /// Claims of a thread, superseded ones too; above: `thread_full`.
    pub claims_per_thread_max: u64,
    /// Pieces of evidence of one claim, attestation or refutation.
    pub evidence_max: u64,
    /// Attestations of a claim, seals apart; above: `thread_full`.
    pub attestations_per_claim_max: u64,
    /// Items of a page; above: 400.
    pub page_max: u64,
    /// Bytes of an answer's JSON: a list ends its page before them; a tree beyond them is read
    /// flat.
    pub answer_bytes_max: u64,
    /// Bytes of a request's body; above: `request_too_large`.
    pub request_bytes_max: u64,
    /// Writes per minute and identity; 0 switches the rate off.
    pub writes_per_minute: u64,
    /// Writes that may come at once.
    pub writes_burst: u64,
    /// Seconds that an inbox read may be held; above: 400.
    pub inbox_wait_max_seconds: u64,
    /// Messages of a thread that is read as a tree.
    pub tree_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            thread_messages_max: 10_000,
            thread_depth_max: 64,
            consecutive_max: 8,
            exchange_max: 32,
            claims_per_thread_max: 1_000,
            evidence_max: 8,
            attestations_per_claim_max: 32,
            page_max: 200,
            answer_bytes_max: 1_048_576,
            request_bytes_max: 65_536,
            writes_per_minute: 600,
            writes_burst: 120,
            inbox_wait_max_seconds: 25,
            tree_max: 1_000,
        }
    }
}

impl Limits {
    /// The page where nothing is asked for.
    pub fn page_default(&self) -> u64 {
        PAGE_DEFAULT.min(self.page_max)
    }
}
