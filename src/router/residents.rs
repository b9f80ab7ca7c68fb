//! Which threads are awake: a sharded map that the routers publish and every call reads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::ids::ThreadId;
use ractor::{ActorId, ActorRef};

use crate::thread::Request;

/// Shards, and so routers: a power of two.
pub const SHARDS: usize = 16;

/// A thread that is awake.
#[derive(Clone)]
pub struct Resident {
    /// Its actor.
    pub actor: ActorRef<Request>,
    /// The tick of its last request.
    used: Arc<AtomicU64>,
}

/// All threads that are awake.
#[derive(Default)]
pub struct Residents {
    shards: [Mutex<HashMap<ThreadId, Resident>>; SHARDS],
    count: AtomicUsize,
    /// Seconds since the start, counted by the sweeper: the only clock that idling needs.
    tick: AtomicU64,
}

/// The shard of a thread.
pub fn shard_of(thread: ThreadId) -> usize {
    usize::try_from(thread.0).unwrap_or_default() % SHARDS
}

impl Residents {
    fn shard(&self, shard: usize) -> MutexGuard<'_, HashMap<ThreadId, Resident>> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The actor of `thread`, if it is awake; counts as a use.
    pub fn get(&self, thread: ThreadId) -> Option<ActorRef<Request>> {
        let shard = self.shard(shard_of(thread));
        let resident = shard.get(&thread)?;
        resident.used.store(self.tick(), Ordering::Relaxed);
        Some(resident.actor.clone())
    }

    /// Publishes the actor of `thread`.
    pub fn insert(&self, thread: ThreadId, actor: ActorRef<Request>) {
        let used = Arc::new(AtomicU64::new(self.tick()));
        if self.shard(shard_of(thread)).insert(thread, Resident { actor, used }).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets the actor of `thread`, if it is still `actor`.
    pub fn remove(&self, thread: ThreadId, actor: ActorId) {
        let mut shard = self.shard(shard_of(thread));
        if shard.get(&thread).is_some_and(|resident| resident.actor.get_id() == actor) {
            shard.remove(&thread);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How many are awake.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Seconds since the start.
    pub fn tick(&self) -> u64 {
        self.tick.load(Ordering::Relaxed)
    }

    /// A second has passed.
    pub fn advance(&self) {
        self.tick.fetch_add(1, Ordering::Relaxed);
    }

    /// The actors to send to sleep: those idle for more than `idle_ticks`, and of the rest those
    /// used longest ago, until at most `resident_max` stay; in an order that depends on nothing
    /// but them.
    pub fn sleepy(&self, idle_ticks: u64, resident_max: usize) -> Vec<ActorRef<Request>> {
        let now = self.tick();
        let mut sleepy = Vec::new();
        let mut awake = Vec::new();
        let crowded = self.count() > resident_max;
        for shard in 0..SHARDS {
            for (thread, resident) in &*self.shard(shard) {
                let used = resident.used.load(Ordering::Relaxed);
                if now.saturating_sub(used) > idle_ticks {
                    sleepy.push((used, *thread, resident.actor.clone()));
                } else if crowded {
                    awake.push((used, *thread, resident.actor.clone()));
                }
            }
        }
        let excess = awake.len().saturating_sub(resident_max);
        if excess > 0 {
            awake.select_nth_unstable_by_key(excess - 1, |(used, thread, _)| (*used, *thread));
            sleepy.extend(awake.drain(..excess));
        }
        sleepy.sort_unstable_by_key(|(used, thread, _)| (*used, *thread));
        sleepy.into_iter().map(|(.., actor)| actor).collect()
    }
}
