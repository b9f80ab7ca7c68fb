//! One listener's bounded queue: filled by the hub or an inbox actor, emptied by its connection.
//!
//! Whoever fills it never waits. A queue that is full takes no more and is *behind*: its listener
//! takes what is in it, then catches up from what is kept of the order anyway. Whether a listener
//! is too slow is judged by its connection, which knows if the peer takes what is written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use parley_protocol::feed::{Frame, Scope};
use parley_protocol::identity::Participant;
use parley_protocol::ids::TokenId;
use parley_protocol::time::Millis;
use tokio::sync::Notify;

use super::publication::Publication;

/// Items above which an empty queue gives its memory back.
const KEPT_ITEMS: usize = 16;

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
pub enum CloseReason {
    /// The listener does not take what is sent: 4008.
    SlowConsumer,
    /// The token is revoked or has expired: 4001.
    Revoked,
    /// The server stops: 1001.
    ShuttingDown,
    /// The inbox actor failed, or the log cannot be read; the listener resumes from its cursor:
    /// 1011.
    Failed,
}

/// What comes out of a queue.
#[derive(Clone)]
pub enum FeedItem {
    /// A frame of an act.
    Frame(Frame, Arc<Publication>),
    /// The hub has looked up to the entry with this number; nothing before it is still to come.
    Watermark(u64),
    /// The threads followed have changed, after the entry with this number.
    Following(u64),
    /// The replay ends, after the entry with this number.
    CaughtUp(u64),
}

/// What a listener takes from its queue.
pub enum Taken {
    /// What was queued, in order.
    Items(Vec<FeedItem>),
    /// All that was queued is taken, and what came after it found no room.
    Behind,
}

#[derive(Default)]
struct SubscriberQueue {
    items: VecDeque<FeedItem>,
    close: Option<CloseReason>,
    /// Something found no room: nothing is taken in until [`Subscriber::catch_up`].
    behind: bool,
}

/// A listener's queue.
pub struct Subscriber {
    /// What it follows.
    pub subscription: Subscription,
    queue: Mutex<SubscriberQueue>,
    filled: Notify,
    bound: usize,
    published_upto: AtomicU64,
    register: OnceLock<u64>,
}

impl Subscriber {
    /// An empty queue of at most `bound` live frames.
    pub fn new(subscription: Subscription, bound: usize) -> Arc<Self> {
        let (queue, filled) = (Mutex::default(), Notify::new());
        // Until it joins there is nothing that it could lack.
        let told = AtomicU64::new(u64::MAX);
        let register = OnceLock::new();
        Arc::new(Self { subscription, queue, filled, bound, published_upto: told, register })
    }

    /// The number of its seat in the hub, which gave it `number` if it had none.
    pub(super) fn register(&self, number: u64) -> u64 {
        *self.register.get_or_init(|| number)
    }

    /// The number of its seat, if it was ever seated.
    pub(super) fn registration(&self) -> Option<u64> {
        self.register.get().copied()
    }

    fn queue(&self) -> MutexGuard<'_, SubscriberQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the frames of an act that the listener is told.
    pub fn publish(&self, told: &Arc<Publication>, frames: impl IntoIterator<Item = Frame>) {
        let frames = frames.into_iter().map(|frame| FeedItem::Frame(frame, Arc::clone(told)));
        self.push(told.number(), frames);
    }

    /// Queues that the hub has looked up to the entry `number`.
    pub fn watermark(&self, number: u64) {
        self.push(number, [FeedItem::Watermark(number)]);
    }

    /// Queues an answer to a change of the threads followed.
    pub fn following(&self, number: u64) {
        self.push(number, [FeedItem::Following(number)]);
    }

    /// Queues items of one entry; from the first that finds no room on, the listener is behind.
    fn push(&self, number: u64, items: impl IntoIterator<Item = FeedItem>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        {
            let mut queue = self.queue();
            if queue.close.is_some() || queue.behind {
                return;
            }
            for item in items {
                if queue.items.len() >= self.bound {
                    queue.behind = true;
                    break;
                }
                queue.items.push_back(item);
            }
        }
        self.published_upto.store(number, Ordering::Relaxed);
        self.filled.notify_one();
    }

    /// The number of the last entry of which something was queued.
    pub fn published_upto(&self) -> u64 {
        self.published_upto.load(Ordering::Relaxed)
    }

    /// Ends the feed, for the first reason given. What stands in the queue is given up, unless
    /// the server stops.
    pub fn close(&self, why: CloseReason) {
        {
            let mut queue = self.queue();
            let first = *queue.close.get_or_insert(why);
            if first != CloseReason::ShuttingDown {
                queue.items = VecDeque::new();
            }
        }
        self.filled.notify_one();
    }

    /// Why the feed is to end, if it is.
    pub fn closing(&self) -> Option<CloseReason> {
        self.queue().close
    }

    /// Waits until the feed is to end. One wait at a time, and not beside [`Subscriber::take`].
    pub async fn closed(&self) -> CloseReason {
        loop {
            if let Some(close) = self.closing() {
                return close;
            }
            self.filled.notified().await;
        }
    }

    /// Whether the queue has taken nothing in for want of room.
    pub fn is_behind(&self) -> bool {
        self.queue().behind
    }

    /// Takes things in from the entry after `number` on, for the first time or again, behind the
    /// little that was `missed`. For the hub, which knows under its lock what that is.
    pub(super) fn catch_up(&self, missed: impl IntoIterator<Item = FeedItem>, number: u64) {
        {
            let mut queue = self.queue();
            if queue.close.is_none() {
                queue.behind = false;
                queue.items.extend(missed);
            }
        }
        self.published_upto.store(number, Ordering::Relaxed);
        self.filled.notify_one();
    }

    /// Takes up to `max` items, waiting for the first. Loses nothing if it is dropped.
    ///
    /// # Errors
    /// Why the feed ends, after what was queued before.
    pub async fn take(&self, max: usize) -> Result<Taken, CloseReason> {
        loop {
            {
                let mut queue = self.queue();
                if !queue.items.is_empty() {
                    let count = queue.items.len().min(max);
                    let items = queue.items.drain(..count).collect();
                    if queue.items.is_empty() && queue.items.capacity() > KEPT_ITEMS {
                        queue.items = VecDeque::new();
                    }
                    return Ok(Taken::Items(items));
                }
                if let Some(close) = queue.close {
                    return Err(close);
                }
                if queue.behind {
                    return Ok(Taken::Behind);
                }
            }
            self.filled.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriber(bound: usize) -> Arc<Subscriber> {
        let subscription = Subscription {
            participant: Participant { identity: "local:ada".into(), extension: None },
            scope: Scope::Inbox,
            anyone: true,
            token: TokenId(1),
            expires_at: None,
        };
        Subscriber::new(subscription, bound)
    }

    async fn taken(subscriber: &Subscriber, max: usize) -> Vec<u64> {
        match subscriber.take(max).await {
            Ok(Taken::Items(items)) => items.iter().map(number).collect(),
            Ok(Taken::Behind) => vec![u64::MAX],
            Err(_) => vec![],
        }
    }

    fn number(item: &FeedItem) -> u64 {
        match item {
            FeedItem::Frame(_, told) => told.number(),
            FeedItem::Watermark(number)
            | FeedItem::Following(number)
            | FeedItem::CaughtUp(number) => *number,
        }
    }

    /// Goal: a full queue keeps what it has, takes no more until its listener has caught up, and
    /// never grows. Method: three items into a queue of two.
    #[tokio::test]
    async fn full() {
        let subscriber = subscriber(2);
        for number in 1..=3 {
            subscriber.watermark(number);
        }
        assert!(subscriber.is_behind());
        assert_eq!(taken(&subscriber, 1).await, [1]);
        subscriber.watermark(4);
        assert_eq!(taken(&subscriber, 8).await, [2]);
        assert_eq!(taken(&subscriber, 8).await, [u64::MAX]);
        subscriber.catch_up([], 4);
        subscriber.watermark(5);
        assert_eq!(taken(&subscriber, 8).await, [5]);
    }

    /// Goal: what was queued before the server stops is still given; a revoked token gets nothing
    /// more; the first reason stands. Method: close after one item, for either reason.
    #[tokio::test]
    async fn closing() {
        let (stopped, revoked) = (subscriber(2), subscriber(2));
        for (subscriber, why) in
            [(&stopped, CloseReason::ShuttingDown), (&revoked, CloseReason::Revoked)]
        {
            subscriber.watermark(1);
            subscriber.close(why);
            subscriber.close(CloseReason::Failed);
            subscriber.watermark(2);
        }
        assert_eq!(revoked.take(8).await.err(), Some(CloseReason::Revoked));
        assert_eq!(stopped.closed().await, CloseReason::ShuttingDown);
        assert_eq!(taken(&stopped, 8).await, [1]);
        assert_eq!(stopped.take(8).await.err(), Some(CloseReason::ShuttingDown));
    }
}
