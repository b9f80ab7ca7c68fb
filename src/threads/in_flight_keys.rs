//! Idempotency keys under way (bindings.md §1): while the first call is, later ones wait for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

const SHARDS: usize = 16;

type KeyShard = HashMap<[u8; 16], Arc<Notify>>;

/// The keys of calls that have no outcome yet. Each holds a permit of the door, which bounds them.
#[derive(Default)]
pub struct InFlightKeys {
    shards: [Mutex<KeyShard>; SHARDS],
}

/// A key that is under way; free again, and its waiters woken, when this is dropped.
pub struct InFlightKey {
    keys: Arc<InFlightKeys>,
    key: [u8; 16],
}

impl InFlightKeys {
    fn shard(&self, key: &[u8; 16]) -> MutexGuard<'_, KeyShard> {
        let shard = &self.shards[usize::from(key[0]) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other call is under way with `key`, then holds it.
    pub async fn acquire(self: &Arc<Self>, key: [u8; 16]) -> InFlightKey {
        loop {
            let first = match self.shard(&key).entry(key) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Arc::default());
                    return InFlightKey { keys: Arc::clone(self), key };
                }
                Entry::Occupied(occupied) => Arc::clone(occupied.get()),
            };
            let done = first.notified();
            // Only if the first is still there will it wake the future made just now.
            let waits = self.shard(&key).get(&key).is_some_and(|now| Arc::ptr_eq(now, &first));
            if waits {
                done.await;
            }
        }
    }
}

impl Drop for InFlightKey {
    fn drop(&mut self) {
        if let Some(waiting) = self.keys.shard(&self.key).remove(&self.key) {
            waiting.notify_waiters();
        }
    }
}
