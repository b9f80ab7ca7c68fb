//! One listener's bounded queue: filled by the hub or an inbox actor, emptied by its connection.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::feed::{Frame, Scope};
use parley_protocol::ids::TokenId;
use parley_protocol::time::Millis;
use parley_protocol::who::Participant;
use tokio::sync::Notify;

use super::told::Told;

/// What a listener asked to follow.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Who listens.
    pub participant: Participant,
    /// What.
    pub scope: Scope,
    /// Whether turns include questions to anyone.
    pub anyone: bool,
    /// The token that listens.
    pub token: TokenId,
    /// When the token expires.
    pub expires_at: Option<Millis>,
}

/// Why a feed ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The queue was full: 4008.
    SlowConsumer,
    /// The token is revoked or has expired: 4001.
    Revoked,
    /// The server stops: 1001.
    ShuttingDown,
    /// The inbox actor failed; the listener resumes from its cursor: 1011.
    Failed,
}

/// What comes out of a queue.
#[derive(Clone)]
pub enum Item {
    /// A frame of an act.
    Frame(Frame, Arc<Told>),
    /// The hub has looked up to the entry with this number; nothing before it is still to come.
    Looked(u64),
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    close: Option<Close>,
}

/// A listener's queue.
pub struct Outlet {
    /// What it follows.
    pub subscription: Subscription,
    queue: Mutex<Queue>,
    filled: Notify,
    bound: usize,
    gone: AtomicBool,
}

impl Outlet {
    /// An empty queue of at most `bound` live frames.
    pub fn new(subscription: Subscription, bound: usize) -> Arc<Self> {
        let (queue, filled) = (Mutex::default(), Notify::new());
        Arc::new(Self { subscription, queue, filled, bound, gone: AtomicBool::new(false) })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues `item`; a queue that is full ends the feed instead, and takes nothing more.
    pub fn push(&self, item: Item) {
        let mut queue = self.queue();
        if queue.close.is_some() {
            return;
        }
        if queue.items.len() >= self.bound {
            queue.close = Some(Close::SlowConsumer);
        } else {
            queue.items.push_back(item);
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Ends the feed. What stands in the queue is given up, unless the server stops.
    pub fn close(&self, why: Close) {
        let mut queue = self.queue();
        if queue.close.is_none() {
            queue.close = Some(why);
        }
        if why == Close::Revoked {
            queue.items.clear();
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Takes up to `max` items, waiting for the first; `Err` once the feed is to end.
    ///
    /// # Errors
    /// Why the feed ends, after what was queued before.
    pub async fn take(&self, max: usize) -> Result<Vec<Item>, Close> {
        loop {
            {
                let mut queue = self.queue();
                if !queue.items.is_empty() && queue.close != Some(Close::SlowConsumer) {
                    let count = queue.items.len().min(max);
                    return Ok(queue.items.drain(..count).collect());
                }
                if let Some(close) = queue.close {
                    return Err(close);
                }
            }
            self.filled.notified().await;
        }
    }

    /// The connection is gone: nobody will take from here.
    pub fn leave(&self) {
        self.gone.store(true, Ordering::Relaxed);
        self.close(Close::ShuttingDown);
    }

    /// Whether the connection is gone.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}
