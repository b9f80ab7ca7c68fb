//! The active threads: a sharded map from a thread to its actor, written by the routers and read by
//! every call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use parley_protocol::ids::ThreadId;
use ractor::{ActorId, ActorRef};

use crate::threads::actor::ThreadRequest;

/// Shards, each with a router: a power of two.
pub const SHARDS: usize = 16;

/// A thread with an actor.
struct ActiveThread {
    actor: ActorRef<ThreadRequest>,
    /// The tick of its last use.
    used: u64,
}

type ThreadShard = HashMap<ThreadId, ActiveThread, RandomState>;

/// The map. The routers alone insert and remove, each in its own shard; ticks only rise.
#[derive(Default)]
pub struct ActiveThreads {
    shards: [Mutex<ThreadShard>; SHARDS],
    count: AtomicUsize,
    /// Sweeps since the start, in the server one a second: the clock of idling.
    tick: AtomicU64,
}

/// The shard of a thread.
pub fn shard_of(thread: ThreadId) -> usize {
    usize::try_from(thread.0).unwrap_or_default() % SHARDS
}

impl ActiveThreads {
    fn shard(&self, shard: usize) -> MutexGuard<'_, ThreadShard> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `then` with the actor of `thread`, under the lock of its shard, and counts a use;
    /// `None` if the thread has no actor.
    pub fn with<T>(
        &self,
        thread: ThreadId,
        then: impl FnOnce(&ActorRef<ThreadRequest>) -> T,
    ) -> Option<T> {
        let mut shard = self.shard(shard_of(thread));
        let active = shard.get_mut(&thread)?;
        active.used = self.tick();
        Some(then(&active.actor))
    }

    /// Inserts the actor of `thread`.
    pub fn insert(&self, thread: ThreadId, actor: ActorRef<ThreadRequest>) {
        let active = ActiveThread { actor, used: self.tick() };
        if self.shard(shard_of(thread)).insert(thread, active).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes the actor of `thread`, if it is still `actor`.
    pub fn remove(&self, thread: ThreadId, actor: ActorId) {
        let mut shard = self.shard(shard_of(thread));
        if shard.get(&thread).is_some_and(|active| active.actor.get_id() == actor) {
            shard.remove(&thread);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How many threads are active.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The present tick.
    pub fn tick(&self) -> u64 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Adds a tick.
    pub fn advance(&self) {
        self.tick.fetch_add(1, Ordering::Relaxed);
    }

    /// The actors to passivate: those idle for more than `idle_ticks`, and of the rest those used
    /// longest ago, until at most `resident_max` stay. Ordered by last use, then thread.
    pub fn idle(&self, idle_ticks: u64, resident_max: usize) -> Vec<ActorRef<ThreadRequest>> {
        let now = self.tick();
        let mut idle = Vec::new();
        let mut recent = Vec::new();
        let crowded = self.count() > resident_max;
        for shard in 0..SHARDS {
            for (thread, active) in &*self.shard(shard) {
                let used = active.used;
                if now.saturating_sub(used) > idle_ticks {
                    idle.push((used, *thread, active.actor.clone()));
                } else if crowded {
                    recent.push((used, *thread, active.actor.clone()));
                }
            }
        }
        let excess = recent.len().saturating_sub(resident_max);
        if excess > 0 {
            recent.select_nth_unstable_by_key(excess - 1, |(used, thread, _)| (*used, *thread));
            idle.extend(recent.drain(..excess));
        }
        idle.sort_unstable_by_key(|(used, thread, _)| (*used, *thread));
        idle.into_iter().map(|(.., actor)| actor).collect()
    }
}
