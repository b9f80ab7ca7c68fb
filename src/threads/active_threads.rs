//! Which threads are awake: a sharded map that the routers publish and every call reads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use parley_protocol::ids::ThreadId;
use ractor::{ActorId, ActorRef};

use crate::threads::actor::ThreadRequest;

/// Shards, and so routers: a power of two.
pub const SHARDS: usize = 16;

/// A thread that is awake.
struct ActiveThread {
    actor: ActorRef<ThreadRequest>,
    /// The tick of its last request.
    used: u64,
}

type ThreadShard = HashMap<ThreadId, ActiveThread, RandomState>;

/// All threads that are awake.
#[derive(Default)]
pub struct ActiveThreads {
    shards: [Mutex<ThreadShard>; SHARDS],
    count: AtomicUsize,
    /// Seconds since the start, counted by the sweeper: the only clock that idling needs.
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

    /// What `then` makes of the actor of `thread`, if that is awake; counts as a use. Others of the
    /// shard wait meanwhile.
    pub fn with<T>(
        &self,
        thread: ThreadId,
        then: impl FnOnce(&ActorRef<ThreadRequest>) -> T,
    ) -> Option<T> {
        let mut shard = self.shard(shard_of(thread));
        let resident = shard.get_mut(&thread)?;
        resident.used = self.tick();
        Some(then(&resident.actor))
    }

    /// Publishes the actor of `thread`.
    pub fn insert(&self, thread: ThreadId, actor: ActorRef<ThreadRequest>) {
        let resident = ActiveThread { actor, used: self.tick() };
        if self.shard(shard_of(thread)).insert(thread, resident).is_none() {
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
    pub fn idle(&self, idle_ticks: u64, resident_max: usize) -> Vec<ActorRef<ThreadRequest>> {
        let now = self.tick();
        let mut idle = Vec::new();
        let mut awake = Vec::new();
        let crowded = self.count() > resident_max;
        for shard in 0..SHARDS {
            for (thread, resident) in &*self.shard(shard) {
                let used = resident.used;
                if now.saturating_sub(used) > idle_ticks {
                    idle.push((used, *thread, resident.actor.clone()));
                } else if crowded {
                    awake.push((used, *thread, resident.actor.clone()));
                }
            }
        }
        let excess = awake.len().saturating_sub(resident_max);
        if excess > 0 {
            awake.select_nth_unstable_by_key(excess - 1, |(used, thread, _)| (*used, *thread));
            idle.extend(awake.drain(..excess));
        }
        idle.sort_unstable_by_key(|(used, thread, _)| (*used, *thread));
        idle.into_iter().map(|(.., actor)| actor).collect()
    }
}
