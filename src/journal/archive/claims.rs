//! Claims in rows of their own: the claim as it was made, its state, and each attestation and the
//! refutation, written once. So `k` attestations write `k` of them, although an outcome or a
//! snapshot may tell of each state between.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley_protocol::claim::{Attestation, Claim, ClaimStatus, Refutation};
use parley_protocol::entry::{Act, Change, StoredOutcome};
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::thread::Thread;
use redb::WriteTransaction;
use serde::{Deserialize, Serialize};

use super::super::Committed;
use super::read::{ArchiveRead, Rows, paired, unpack_row};
use super::tables::{self as t, BUCKETS_KEPT, damaged, pack, pair, unpack};
use super::{FirstOutcome, RememberedOutcome};
use crate::storage::error::StoreResult;

/// What of a claim changes: with the rows of the claim, one of its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimState {
    status: ClaimStatus,
    /// How many of its attestations it has.
    attestations: u64,
    /// Whether it has its refutation.
    is_refuted: bool,
    superseded_by: Option<ClaimId>,
}

impl ClaimState {
    /// That of `claim`.
    pub fn of(claim: &Claim) -> Self {
        Self {
            status: claim.status,
            attestations: claim.attestations.len() as u64,
            is_refuted: claim.refutation.is_some(),
            superseded_by: claim.superseded_by,
        }
    }
}

/// A [`RememberedOutcome`] as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRecord {
    /// The bucket by which it expires.
    pub(super) bucket: u32,
    pub(super) content: [u8; 16],
    pub(super) outcome: FirstRecord,
}

/// A [`FirstOutcome`] as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FirstRecord {
    Act { thread: ThreadId, entry: u64 },
    Claim { entry: u64, thread: ThreadId, claim: ClaimId, state: ClaimState },
    Published(Box<[u8]>),
    Other(StoredOutcome),
}

impl OutcomeRecord {
    pub(super) fn of(remembered: RememberedOutcome, bucket: u32) -> Self {
        let outcome = match remembered.outcome {
            FirstOutcome::Act { thread, entry } => FirstRecord::Act { thread, entry },
            FirstOutcome::Claim { entry, claim } => FirstRecord::Claim {
                entry,
                thread: claim.thread,
                claim: claim.id,
                state: ClaimState::of(&claim),
            },
            FirstOutcome::Published(answer) => FirstRecord::Published(answer),
            FirstOutcome::Other(outcome) => FirstRecord::Other(outcome),
        };
        Self { bucket, content: remembered.content, outcome }
    }
}

/// A thread as it is stored: without its claims, and their states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    thread: Thread,
    claims: Vec<(ClaimId, ClaimState)>,
}

impl Snapshot {
    pub(super) fn of(mut thread: Thread) -> Self {
        let claims = thread.take_claims();
        let claims = claims.iter().map(|claim| (claim.id, ClaimState::of(claim))).collect();
        Self { thread, claims }
    }
}

/// The rows of the claims of a slice.
#[derive(Default)]
pub(super) struct ClaimRows<'a> {
    made: BTreeMap<[u8; 16], &'a Claim>,
    states: BTreeMap<[u8; 16], ClaimState>,
    attestations: BTreeMap<[u8; 16], &'a Attestation>,
    refutations: BTreeMap<u64, &'a Refutation>,
}

impl<'a> ClaimRows<'a> {
    pub(super) fn take(&mut self, committed: &'a Committed, act: &'a Act) {
        for claim in &committed.claims {
            self.states.insert(pair(act.thread.0, claim.id.0), ClaimState::of(claim));
        }
        match &act.change {
            Change::Assert(claim) => {
                self.made.insert(pair(act.thread.0, claim.id.0), claim);
            }
            Change::Attest(id, attestation) => {
                let after = committed.claims.first().map_or(0, |it| it.attestations.len());
                self.attestations.insert(pair(id.0, after.saturating_sub(1) as u64), attestation);
            }
            Change::Refute(id, refutation) => {
                self.refutations.insert(id.0, refutation);
            }
            Change::Message(_) | Change::Mark => {}
        }
    }

    pub(super) fn write(&self, transaction: &WriteTransaction) -> StoreResult<()> {
        if self.states.is_empty() {
            return Ok(());
        }
        let mut claims = transaction.open_table(t::CLAIMS)?;
        let mut threads = transaction.open_table(t::CLAIM_THREADS)?;
        for (key, claim) in &self.made {
            claims.insert(key, pack(claim).as_slice())?;
            threads.insert(claim.id.0, claim.thread.0)?;
        }
        let mut states = transaction.open_table(t::CLAIM_STATES)?;
        for (key, state) in &self.states {
            states.insert(key, pack(state).as_slice())?;
        }
        let mut attestations = transaction.open_table(t::ATTESTATIONS)?;
        for (key, attestation) in &self.attestations {
            attestations.insert(key, pack(attestation).as_slice())?;
        }
        let mut refutations = transaction.open_table(t::REFUTATIONS)?;
        for (claim, refutation) in &self.refutations {
            refutations.insert(claim, pack(refutation).as_slice())?;
        }
        Ok(())
    }
}

impl ArchiveRead {
    pub(crate) fn claim(&self, thread: ThreadId, id: ClaimId) -> StoreResult<Option<Claim>> {
        let Some(state) = unpack_row("claim_states", self.claim_states.get(&pair(thread.0, id.0)))?
        else {
            return Ok(None);
        };
        self.claim_in(thread, id, state).map(Some)
    }

    /// The claim `id` as it was in one of its states.
    fn claim_in(&self, thread: ThreadId, id: ClaimId, state: ClaimState) -> StoreResult<Claim> {
        let made = unpack_row("claims", self.claims.get(&pair(thread.0, id.0)))?;
        self.completed(made.ok_or_else(|| damaged(format!("the claim {id} is missing")))?, state)
    }

    /// The claim `made` with the parts that it has in one of its states.
    fn completed(&self, made: Claim, state: ClaimState) -> StoreResult<Claim> {
        let mut claim = made;
        let lacks = |what: &str| damaged(format!("the claim {} lacks {what}", claim.id));
        if state.is_refuted {
            let row = unpack_row("refutations", self.refutations.get(claim.id.0))?;
            claim.refutation = Some(row.ok_or_else(|| lacks("its refutation"))?);
        }
        if state.attestations > 0 {
            let (from, to) = (pair(claim.id.0, 0), pair(claim.id.0, state.attestations));
            let rows = self.attestations.range::<&[u8; 16]>(&from..&to)?;
            let read = rows.map(|row| unpack("attestations", row?.1.value()));
            let attestations = read.collect::<StoreResult<Vec<Arc<Attestation>>>>()?;
            if attestations.len() as u64 != state.attestations {
                return Err(lacks("an attestation"));
            }
            claim.attestations = attestations;
        }
        claim.status = state.status;
        claim.superseded_by = state.superseded_by;
        Ok(claim)
    }

    /// Claims of `thread` after `place`, in order.
    pub(crate) fn claims(&self, thread: ThreadId, place: u64) -> StoreResult<Rows<'_, Arc<Claim>>> {
        let made = paired(&self.claims, thread, place, |row| unpack("claims", row.value()))?;
        let mut states =
            paired(&self.claim_states, thread, place, |row| unpack("claim_states", row.value()))?;
        Ok(Box::new(made.map(move |row| {
            let (id, made) = row?;
            match states.next().transpose()? {
                Some((of, state)) if of == id => Ok((id, self.completed(made, state)?.into())),
                _ => Err(damaged(format!("the claim {} has no state", ClaimId(id)))),
            }
        })))
    }

    pub(crate) fn outcome(&self, digest: &[u8; 16]) -> StoreResult<Option<RememberedOutcome>> {
        let record = unpack_row::<OutcomeRecord>("outcomes", self.outcomes.get(digest))?;
        let oldest = self.progress.bucket.saturating_sub(BUCKETS_KEPT);
        let record = record.filter(|record| record.bucket >= oldest);
        record.map(|record| self.remembered(record)).transpose()
    }

    /// The outcome that `record` stores.
    pub(super) fn remembered(&self, record: OutcomeRecord) -> StoreResult<RememberedOutcome> {
        let outcome = match record.outcome {
            FirstRecord::Act { thread, entry } => FirstOutcome::Act { thread, entry },
            FirstRecord::Claim { entry, thread, claim, state } => {
                FirstOutcome::Claim { entry, claim: self.claim_in(thread, claim, state)?.into() }
            }
            FirstRecord::Published(answer) => FirstOutcome::Published(answer),
            FirstRecord::Other(outcome) => FirstOutcome::Other(outcome),
        };
        Ok(RememberedOutcome { content: record.content, outcome })
    }

    pub(crate) fn snapshot(&self, thread: ThreadId) -> StoreResult<Option<Thread>> {
        let row = unpack_row("snapshots", self.snapshots.get(thread.0))?;
        let Some(Snapshot { thread: mut stored, claims }) = row else { return Ok(None) };
        for (id, state) in claims {
            stored.put_claims([Arc::new(self.claim_in(thread, id, state)?)]);
        }
        Ok(Some(stored))
    }
}
