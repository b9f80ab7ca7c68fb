//! Admission: bounds the rate of each identity's writes, and the calls under way (parley.md §9,
//! operations.md §2). A call that is refused here has changed nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parley_protocol::identity::Identity;
use parley_protocol::limits::Limits;
use parley_protocol::rate::RateBucket;
use parley_protocol::refusal::{Refusal, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Moment;

const SHARDS: usize = 16;
/// Buckets of a shard among which full ones are not looked for.
const SWEPT_MIN: usize = 64;

/// The bounds on calls under way.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionBounds {
    /// Writes under way or waiting for their commit.
    pub writes_max: usize,
    /// Reads that wait for a thread of their pool.
    pub reads_max: usize,
    /// Milliseconds for which a call waits for a permit before 503 `overloaded`.
    pub wait_ms: u64,
}

/// The buckets of identities that wrote of late. A full one is forgotten, which changes nothing.
#[derive(Default)]
struct Buckets {
    by_identity: HashMap<Identity, RateBucket>,
    /// How many there may be before full ones are looked for.
    swept_at: usize,
}

impl Buckets {
    /// The bucket of `identity`.
    fn of(&mut self, identity: &Identity, limits: &Limits, now: Moment) -> &mut RateBucket {
        let is_new = !self.by_identity.contains_key(identity);
        if is_new && self.by_identity.len() >= self.swept_at.max(SWEPT_MIN) {
            self.by_identity.retain(|_, bucket| !bucket.is_full(limits, now.0));
            // Twice as many: so each new one pays for looking at two.
            self.swept_at = self.by_identity.len() * 2;
        }
        let full = || RateBucket::full(limits, now.0);
        self.by_identity.entry(Arc::clone(identity)).or_insert_with(full)
    }
}

/// The permits, and the rate of each identity.
///
/// A write is counted first, by [`Admission::count_write`], then takes its permit; a permit is free
/// again when it is dropped, and there are never more than the bounds say.
pub struct Admission {
    writes: Arc<Semaphore>,
    wait: Duration,
    limits: Arc<Limits>,
    buckets: [Mutex<Buckets>; SHARDS],
}

impl Admission {
    /// All permits free, all buckets full.
    pub fn new(bounds: AdmissionBounds, limits: Arc<Limits>) -> Self {
        Self {
            writes: Arc::new(Semaphore::new(bounds.writes_max)),
            wait: Duration::from_millis(bounds.wait_ms),
            limits,
            buckets: Default::default(),
        }
    }

    /// Counts a write of `identity`, or refuses it with 429 `rate_limited`.
    pub fn count_write(&self, identity: &Identity, now: Moment) -> Result<()> {
        if self.limits.writes_per_minute == 0 {
            return Ok(());
        }
        let shard = identity.bytes().fold(0, |sum: usize, byte| sum.wrapping_add(byte.into()));
        let mut shard = self.buckets[shard % SHARDS].lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = shard.of(identity, &self.limits, now);
        bucket.take(&self.limits, now.0).map_err(Refusal::write_rate)
    }

    /// How many permits are free.
    pub fn free(&self) -> usize {
        self.writes.available_permits()
    }

    /// A permit, or 503 `overloaded` if none becomes free in time.
    pub async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        let semaphore = &self.writes;
        if let Ok(permit) = Arc::clone(semaphore).try_acquire_owned() {
            return Ok(permit);
        }
        // On the heap: few calls wait, and the future of each would be larger.
        let waited = tokio::time::timeout(self.wait, Arc::clone(semaphore).acquire_owned());
        match Box::pin(waited).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Refusal::overloaded()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: identities that have stopped writing are forgotten, those that write are not. Method:
    /// a hundred thousand that write once each, over a day, beside one that spends its burst.
    #[test]
    fn forgotten() {
        let limits = Limits { writes_per_minute: 60, writes_burst: 2, ..Limits::default() };
        let bounds = AdmissionBounds { writes_max: 1, reads_max: 1, wait_ms: 0 };
        let admission = Admission::new(bounds, Arc::new(limits));
        let busy: Identity = "local:busy".into();
        for number in 0..100_000 {
            let now = Moment(number * 1_000);
            admission.count_write(&format!("local:{number}").into(), now).unwrap();
            admission.count_write(&busy, now).unwrap();
            if number > 0 {
                assert!(admission.count_write(&busy, now).is_err(), "{number}: it is remembered");
            } else {
                admission.count_write(&busy, now).unwrap();
            }
        }
        let shard = |one: &Mutex<Buckets>| one.lock().unwrap().by_identity.len();
        let kept: usize = admission.buckets.iter().map(shard).sum();
        assert!(kept <= SHARDS * (SWEPT_MIN + 1), "{kept} buckets");
    }
}
