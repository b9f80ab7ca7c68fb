//! Leases: the right to append to a thread, of one actor at a time, in the order of `seq`.
//!
//! On one node they guard against two actors for one thread; across nodes a database will grant
//! them.

use std::collections::HashMap;

use parley_protocol::ids::ThreadId;

use super::Lease;

/// The last lease granted for a thread.
#[derive(Clone, Copy, Debug)]
struct HeldLease {
    epoch: u64,
    /// `None` until the first act under it.
    next_seq: Option<u64>,
}

/// The leases granted. Their number is bounded by that of the actors that hold one.
#[derive(Debug, Default)]
pub struct Leases {
    last_epoch: u64,
    held: HashMap<ThreadId, HeldLease>,
}

impl Leases {
    /// Grants the lease of `thread`; an earlier one is stale from now on.
    pub fn acquire(&mut self, thread: ThreadId) -> Lease {
        self.last_epoch += 1;
        let epoch = self.last_epoch;
        self.held.insert(thread, HeldLease { epoch, next_seq: None });
        Lease { thread, epoch }
    }

    /// Releases `lease`, unless it is stale.
    pub fn release(&mut self, lease: Lease) {
        if self.holds(lease) {
            self.held.remove(&lease.thread);
        }
    }

    /// Whether `lease` is the last one granted for its thread.
    pub fn holds(&self, lease: Lease) -> bool {
        self.held.get(&lease.thread).is_some_and(|held| held.epoch == lease.epoch)
    }

    /// Admits the act `seq` of the thread under `lease`; `false` if the lease is stale or `seq` is
    /// not the next one, and then for every later act under it too.
    pub fn admit(&mut self, lease: Lease, seq: u64) -> bool {
        let Some(held) = self.held.get_mut(&lease.thread) else {
            return false;
        };
        if held.epoch != lease.epoch || held.next_seq.is_some_and(|next| next != seq) {
            return false;
        }
        held.next_seq = Some(seq + 1);
        true
    }

    /// Makes all leases stale.
    pub fn void(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadId = ThreadId(7);

    /// Goal: only the last holder of a thread appends, and in order. Method: two holders in turn.
    #[test]
    fn one_at_a_time() {
        let mut leases = Leases::default();
        let first = leases.acquire(THREAD);
        assert!(leases.admit(first, 3));
        assert!(!leases.admit(first, 3) && !leases.admit(first, 5) && leases.admit(first, 4));
        let second = leases.acquire(THREAD);
        assert!(!leases.admit(first, 5) && leases.admit(second, 5));
        leases.release(first);
        assert!(leases.holds(second));
        leases.release(second);
        assert!(!leases.admit(second, 6));
        let third = leases.acquire(THREAD);
        leases.void();
        assert!(!leases.admit(third, 6));
    }
}
