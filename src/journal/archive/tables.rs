//! The tables of the archive, and the format of their keys and rows.
//!
//! Keys are bytes and integers; numbers in byte keys are big-endian, so that they sort. A row is a
//! version byte and postcard.

pub use parley_protocol::entry::Retraction;
use parley_protocol::identity::Participant;
use parley_protocol::ids::ThreadId;
use parley_protocol::limits::KEY_HOURS_MIN;
use redb::TableDefinition;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::storage::error::{StoreError, StoreResult};

/// The name of the file.
pub const FILE_NAME: &str = "archive.redb";
/// Milliseconds for which one bucket takes outcomes.
pub(super) const BUCKET_MS: u64 = 12 * 3_600_000;
/// Buckets kept beside the current one: full ones for the shortest time that a key is remembered,
/// and one more.
pub(super) const BUCKETS_KEPT: u32 = (KEY_HOURS_MIN * 3_600_000 / BUCKET_MS) as u32 + 1;

/// The version of the rows, the first byte of each.
const ROW_VERSION: u8 = 1;

/// The archive's own rows, by [`meta_row`].
pub(super) const META: TableDefinition<u8, &[u8]> = TableDefinition::new("meta");
/// Thread → its summary.
pub(super) const HEADS: TableDefinition<u64, &[u8]> = TableDefinition::new("heads");
/// (thread, entry) → the entry as the log holds it.
pub(super) const ACTS: TableDefinition<&[u8; 16], &[u8]> = TableDefinition::new("acts");
/// (thread, message) → its retraction.
pub(super) const RETRACTED: TableDefinition<&[u8; 16], &[u8]> = TableDefinition::new("retracted");
/// Entry of a thread's last change → the thread.
pub(super) const UPDATED: TableDefinition<u64, u64> = TableDefinition::new("updated");
/// Entry that set `awaiting`, due anyone → [`Waiting`] with the asker.
pub(super) const BOARD: TableDefinition<u64, &[u8]> = TableDefinition::new("board");
/// (identity, entry that set `awaiting`) → [`Waiting`] with the participant that is due.
pub(super) const DIRECTED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("directed");
/// (thread, claim) → the claim as it was made.
pub(super) const CLAIMS: TableDefinition<&[u8; 16], &[u8]> = TableDefinition::new("claims");
/// (thread, claim) → its [`ClaimState`](super::claims::ClaimState).
pub(super) const CLAIM_STATES: TableDefinition<&[u8; 16], &[u8]> =
    TableDefinition::new("claim_states");
/// (claim, place from 0) → one of its attestations.
pub(super) const ATTESTATIONS: TableDefinition<&[u8; 16], &[u8]> =
    TableDefinition::new("attestations");
/// Claim → its refutation.
pub(super) const REFUTATIONS: TableDefinition<u64, &[u8]> = TableDefinition::new("refutations");
/// Claim → its thread.
pub(super) const CLAIM_THREADS: TableDefinition<u64, u64> = TableDefinition::new("claim_threads");
/// Digest of a key → the first outcome: an [`OutcomeRecord`](super::claims::OutcomeRecord).
pub(super) const OUTCOMES: TableDefinition<&[u8; 16], &[u8]> =
    TableDefinition::new("outcomes_by_key");
/// (bucket, digest of a key) of the outcomes, by which they expire.
pub(super) const OUTCOME_AGES: TableDefinition<&[u8; 20], ()> =
    TableDefinition::new("outcome_ages");
/// Format 1: (bucket, digest of a key) → the first outcome.
pub(super) const OUTCOMES_BY_AGE: TableDefinition<&[u8; 20], &[u8]> =
    TableDefinition::new("outcomes");
/// Entry → the artifact.
pub(super) const ARTIFACTS: TableDefinition<u64, &[u8]> = TableDefinition::new("artifacts");
/// Identifier → the artifact's entry.
pub(super) const ARTIFACT_IDS: TableDefinition<&[u8; 32], u64> =
    TableDefinition::new("artifact_ids");
/// (artifact referred to, entry) → the artifact that refers to it, and whether it objects to it.
pub(super) const ARTIFACT_REFS: TableDefinition<&[u8; 40], &[u8]> =
    TableDefinition::new("artifact_refs");
/// (thread, entry) of artifacts published about a thread.
pub(super) const ARTIFACT_THREADS: TableDefinition<&[u8; 16], ()> =
    TableDefinition::new("artifact_threads");
/// Thread → its state after one of its acts: a [`Snapshot`](super::claims::Snapshot).
pub(super) const SNAPSHOTS: TableDefinition<u64, &[u8]> = TableDefinition::new("snapshots");

/// The rows of [`META`].
pub(super) mod meta_row {
    /// The format version, four bytes, little-endian: readable by every version.
    pub(in super::super) const FORMAT: u8 = 0;
    /// [`super::super::ArchiveMeta`].
    pub(in super::super) const META: u8 = 1;
    /// [`super::super::ArchiveProgress`].
    pub(in super::super) const PROGRESS: u8 = 2;
}

/// An open question: its thread, and the participant that decides, with the key, whom it concerns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// The thread.
    pub thread: ThreadId,
    /// On the board the asker, else the participant that is due.
    pub participant: Participant,
}

/// The key (first, second).
pub(super) fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&second.to_be_bytes());
    key
}

/// The second number of a [`pair`].
pub(super) fn second(key: &[u8; 16]) -> u64 {
    u64::from_be_bytes(key[8..].try_into().expect("half of sixteen bytes"))
}

/// The key of [`DIRECTED`]. No identity holds a zero byte.
pub(super) fn directed(identity: &str, entry: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(identity.len() + 9);
    key.extend_from_slice(identity.as_bytes());
    key.push(0);
    key.extend_from_slice(&entry.to_be_bytes());
    key
}

/// The entry of a key of [`DIRECTED`].
pub(super) fn directed_entry(key: &[u8]) -> StoreResult<u64> {
    let tail = key.len().checked_sub(8).map(|start| &key[start..]);
    let bytes = tail.and_then(|tail| tail.try_into().ok());
    bytes.map(u64::from_be_bytes).ok_or_else(|| damaged("a short key in directed"))
}

/// The key of [`OUTCOME_AGES`].
pub(super) fn outcome_age(bucket: u32, digest: &[u8; 16]) -> [u8; 20] {
    let mut key = [0; 20];
    key[..4].copy_from_slice(&bucket.to_be_bytes());
    key[4..].copy_from_slice(digest);
    key
}

/// The bucket and the digest in a key of [`OUTCOME_AGES`].
pub(super) fn bucket_and_digest(key: &[u8; 20]) -> (u32, [u8; 16]) {
    let (bucket, digest) = key.split_first_chunk::<4>().expect("twenty bytes");
    (u32::from_be_bytes(*bucket), digest.try_into().expect("the other sixteen"))
}

/// The key of [`ARTIFACT_REFS`].
pub(super) fn reference(id: &[u8; 32], entry: u64) -> [u8; 40] {
    let mut key = [0; 40];
    key[..32].copy_from_slice(id);
    key[32..].copy_from_slice(&entry.to_be_bytes());
    key
}

/// The entry of a key of [`ARTIFACT_REFS`].
pub(super) fn reference_entry(key: &[u8; 40]) -> u64 {
    u64::from_be_bytes(key[32..].try_into().expect("the last eight of forty bytes"))
}

/// Encodes a row.
pub(super) fn pack<T: Serialize>(row: &T) -> Vec<u8> {
    postcard::to_extend(row, vec![ROW_VERSION]).expect("a row serializes into memory")
}

/// Decodes a row of `table`.
pub(super) fn unpack<T: DeserializeOwned>(table: &str, bytes: &[u8]) -> StoreResult<T> {
    match bytes.split_first() {
        Some((&ROW_VERSION, rest)) => postcard::from_bytes(rest).ok(),
        _ => None,
    }
    .ok_or_else(|| damaged(format!("a row of {table} cannot be read")))
}

/// The archive is damaged.
pub(crate) fn damaged(detail: impl Into<String>) -> StoreError {
    StoreError::damaged(FILE_NAME, detail)
}
