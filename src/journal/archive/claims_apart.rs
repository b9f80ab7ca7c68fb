//! From format 1 of the archive to format 2, in which a claim is several rows, and an outcome lies
//! under its key alone. In format 1 the row of a claim was its present state, whole, as were the
//! claim that an outcome remembered and those of a snapshot.

use std::sync::Arc;

use parley_protocol::claim::{Claim, ClaimStatus};
use parley_protocol::entry::StoredOutcome;
use parley_protocol::ids::ThreadId;
use parley_protocol::thread::Thread;
use redb::{Key, ReadableTable, Table, WriteTransaction};
use serde::Deserialize;

use super::claims::{ClaimState, FirstRecord, OutcomeRecord, Snapshot};
use super::tables::{self as t, damaged, pack, pair, unpack};
use crate::storage::error::StoreResult;

/// A remembered outcome in format 1.
#[derive(Deserialize)]
struct OldOutcome {
    content: [u8; 16],
    outcome: OldFirst,
}

/// What it remembers.
#[derive(Deserialize)]
enum OldFirst {
    Act { thread: ThreadId, entry: u64 },
    Claim { entry: u64, claim: Arc<Claim> },
    Published(Box<[u8]>),
    Other(StoredOutcome),
}

impl OldOutcome {
    fn record(self, bucket: u32) -> OutcomeRecord {
        let outcome = match self.outcome {
            OldFirst::Act { thread, entry } => FirstRecord::Act { thread, entry },
            OldFirst::Claim { entry, claim } => FirstRecord::Claim {
                entry,
                thread: claim.thread,
                claim: claim.id,
                state: ClaimState::of(&claim),
            },
            OldFirst::Published(answer) => FirstRecord::Published(answer),
            OldFirst::Other(outcome) => FirstRecord::Other(outcome),
        };
        OutcomeRecord { bucket, content: self.content, outcome }
    }
}

/// The step.
pub(super) fn migrate(writing: &WriteTransaction) -> StoreResult<()> {
    part_claims(writing)?;
    move_outcomes(writing)?;
    rewrite(&mut writing.open_table(t::SNAPSHOTS)?, |row| {
        let old: Thread = unpack("snapshots", row)?;
        Ok(pack(&Snapshot::of(old)))
    })
}

/// Stores each outcome under its key; of one key, that of the latest bucket.
fn move_outcomes(writing: &WriteTransaction) -> StoreResult<()> {
    {
        let old = writing.open_table(t::OUTCOMES_BY_AGE)?;
        let mut outcomes = writing.open_table(t::OUTCOMES)?;
        let mut ages = writing.open_table(t::OUTCOME_AGES)?;
        for row in old.iter()? {
            let (key, row) = row?;
            let (bucket, digest) = t::bucket_and_digest(key.value());
            let record = unpack::<OldOutcome>("outcomes", row.value())?.record(bucket);
            outcomes.insert(&digest, pack(&record).as_slice())?;
            ages.insert(key.value(), ())?;
        }
    }
    writing.delete_table(t::OUTCOMES_BY_AGE)?;
    Ok(())
}

/// Writes the parts of each claim into tables of their own, and leaves it as it was made.
fn part_claims(writing: &WriteTransaction) -> StoreResult<()> {
    let mut states = writing.open_table(t::CLAIM_STATES)?;
    let mut attestations = writing.open_table(t::ATTESTATIONS)?;
    let mut refutations = writing.open_table(t::REFUTATIONS)?;
    rewrite(&mut writing.open_table(t::CLAIMS)?, |row| {
        let mut claim: Claim = unpack("claims", row)?;
        let state = ClaimState::of(&claim);
        states.insert(&pair(claim.thread.0, claim.id.0), pack(&state).as_slice())?;
        for (place, attestation) in claim.attestations.drain(..).enumerate() {
            let key = pair(claim.id.0, place as u64);
            attestations.insert(&key, pack(&attestation).as_slice())?;
        }
        if let Some(refutation) = claim.refutation.take() {
            refutations.insert(claim.id.0, pack(&refutation).as_slice())?;
        }
        claim.status = ClaimStatus::Unverified;
        claim.superseded_by = None;
        Ok(pack(&claim))
    })
}

/// Writes each row of `table` anew, one at a time: only the keys are held in memory.
fn rewrite<K: Key + 'static>(
    table: &mut Table<'_, K, &'static [u8]>,
    mut anew: impl FnMut(&[u8]) -> StoreResult<Vec<u8>>,
) -> StoreResult<()> {
    let mut keys = Vec::new();
    for row in table.iter()? {
        keys.push(K::as_bytes(&row?.0.value()).as_ref().to_vec());
    }
    for key in keys {
        let row = match table.get(K::from_bytes(&key))? {
            Some(row) => anew(row.value())?,
            None => return Err(damaged("a row has gone while it was migrated")),
        };
        table.insert(K::from_bytes(&key), row.as_slice())?;
    }
    Ok(())
}
