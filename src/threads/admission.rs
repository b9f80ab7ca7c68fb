//! The door: how fast an identity may write, and how much work may wait (parley.md §9,
//! operations.md §2). What is turned away here has changed nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parley_protocol::identity::Identity;
use parley_protocol::limits::Limits;
use parley_protocol::rate::RateBucket;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const SHARDS: usize = 16;

/// How much work may wait.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionBounds {
    /// Writes under way or waiting for their commit.
    pub writes_max: usize,
    /// Reads under way.
    pub reads_max: usize,
    /// Milliseconds that a call waits for a permit before 503 `overloaded`.
    pub wait_ms: u64,
}

/// What is asked for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitClass {
    /// Answered from a view.
    Read,
    /// Goes through the journal.
    Write,
}

/// Permits and rates.
pub struct Admission {
    writes: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    wait: Duration,
    limits: Arc<Limits>,
    /// One bucket for each identity that wrote lately: as many as there are tokens at most.
    buckets: [Mutex<HashMap<Identity, RateBucket>>; SHARDS],
}

impl Admission {
    /// A door with these bounds.
    pub fn new(bounds: AdmissionBounds, limits: Arc<Limits>) -> Self {
        Self {
            writes: Arc::new(Semaphore::new(bounds.writes_max)),
            reads: Arc::new(Semaphore::new(bounds.reads_max)),
            wait: Duration::from_millis(bounds.wait_ms),
            limits,
            buckets: Default::default(),
        }
    }

    /// Counts a write of `identity`, or refuses it with 429 `rate_limited`.
    pub fn count_write(&self, identity: &Identity, now: Millis) -> Result<()> {
        if self.limits.writes_per_minute == 0 {
            return Ok(());
        }
        let shard = identity.bytes().fold(0, |sum: usize, byte| sum.wrapping_add(byte.into()));
        let mut shard = self.buckets[shard % SHARDS].lock().unwrap_or_else(PoisonError::into_inner);
        let limits = &self.limits;
        let bucket =
            shard.entry(Arc::clone(identity)).or_insert_with(|| RateBucket::full(limits, now.0));
        bucket.take(limits, now.0).map_err(|retry_after_ms| Refusal::write_rate(retry_after_ms))
    }

    fn semaphore(&self, class: PermitClass) -> &Arc<Semaphore> {
        match class {
            PermitClass::Read => &self.reads,
            PermitClass::Write => &self.writes,
        }
    }

    /// How many permits nobody holds.
    pub fn free(&self, class: PermitClass) -> usize {
        self.semaphore(class).available_permits()
    }

    /// Takes a permit out of use for good: a fault that a test plants.
    pub(crate) fn lose(&self, class: PermitClass) {
        self.semaphore(class).forget_permits(1);
    }

    /// A permit, or 503 `overloaded` if none comes free in time.
    pub async fn permit(&self, class: PermitClass) -> Result<OwnedSemaphorePermit> {
        let semaphore = self.semaphore(class);
        if let Ok(permit) = Arc::clone(semaphore).try_acquire_owned() {
            return Ok(permit);
        }
        // Apart: each call would carry the room for it.
        let waited = tokio::time::timeout(self.wait, Arc::clone(semaphore).acquire_owned());
        match Box::pin(waited).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Refusal::overloaded()),
        }
    }
}
