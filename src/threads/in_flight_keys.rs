//! In-flight idempotency keys (bindings.md §1): a call waits for an earlier one under its key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

const SHARDS: usize = 16;

type KeyShard = HashMap<[u8; 16], Arc<Notify>>;

/// The keys of calls that have no outcome yet. Each call holds a permit, which bounds them.
#[derive(Default)]
pub struct InFlightKeys {
    shards: [Mutex<KeyShard>; SHARDS],
}

/// A key in flight; when this is dropped, it is free again and its waiters are woken.
pub struct InFlightKey {
    keys: Arc<InFlightKeys>,
    key: [u8; 16],
}

impl InFlightKeys {
    fn shard(&self, key: &[u8; 16]) -> MutexGuard<'_, KeyShard> {
        let shard = &self.shards[usize::from(key[0]) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other call holds `key`, then holds it.
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
            // Only if the first call still holds the key will it wake the future made just now.
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
