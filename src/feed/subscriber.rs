//! One listener's bounded queue: filled by the hub or an inbox actor, emptied by its connection.
//!
//! Filling never waits. A full queue takes no more and is *behind*: its listener empties it, then
//! catches up from the hub's ring or the log. Its connection judges whether the listener is too
//! slow, because it alone knows whether the peer takes the bytes written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use parley_protocol::feed::{Frame, Scope};
use parley_protocol::identity::Participant;
use parley_protocol::ids::TokenId;
use parley_protocol::time::Millis;
use tokio::sync::Notify;

use super::lock;
use super::publication::Publication;

/// Items above which an emptied queue frees its memory.
const KEPT_ITEMS: usize = 16;

/// The request of a listener.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// The listener; its turns are shown.
    pub participant: Participant,
    /// The scope followed.
    pub scope: Scope,
    /// Whether turns include questions to anyone.
    pub anyone: bool,
    /// The token under which the feed was opened: it ends when that is revoked.
    pub token: TokenId,
    /// The time at which the token expires, and the feed ends.
    pub expires_at: Option<Millis>,
}

/// Why a feed ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The listener does not take the frames sent: 4008.
    SlowConsumer,
    /// The token is revoked or has expired: 4001.
    Revoked,
    /// The server stops: 1001.
    ShuttingDown,
    /// The inbox actor failed, or the log cannot be read; the listener may resume from its cursor:
    /// 1011.
    Failed,
}

/// An item of a queue.
#[derive(Clone)]
pub enum FeedItem {
    /// A frame of an act.
    Frame(Frame, Arc<Publication>),
    /// The hub has passed the entry with this number: no frame up to it is still to come.
    Watermark(u64),
    /// The threads followed have changed, after the entry with this number.
    Following(u64),
    /// The replay ends, after the entry with this number.
    CaughtUp(u64),
}

/// The outcome of [`Subscriber::take`].
pub enum Taken {
    /// Items, in the order in which they were queued; at least one.
    Items(Vec<FeedItem>),
    /// The queue is empty, and items after the last found no room.
    Behind,
}

#[derive(Default)]
struct SubscriberQueue {
    items: VecDeque<FeedItem>,
    close: Option<CloseReason>,
    /// An item found no room: none is queued until [`Subscriber::catch_up`].
    behind: bool,
}

/// A listener's queue.
///
/// The hub registers it once, then calls `catch_up`: from then on publishing queues items, until
/// the queue is full and so behind, or closed. Behind ends with the next `catch_up`, closed never.
/// Entries are queued in the order of their numbers; the queue holds `bound` items at most, and
/// beyond them the few of one `catch_up`. One task calls `take` and `closed`, not both at once.
pub struct Subscriber {
    /// The request of its listener.
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
        // Before it joins it lacks no watermark.
        let published_upto = AtomicU64::new(u64::MAX);
        let register = OnceLock::new();
        Arc::new(Self { subscription, queue, filled, bound, published_upto, register })
    }

    /// Registers it in the hub under `number`, unless it has a number; gives its number.
    pub(super) fn register(&self, number: u64) -> u64 {
        *self.register.get_or_init(|| number)
    }

    /// The number under which it was registered, if it was.
    pub(super) fn registration(&self) -> Option<u64> {
        self.register.get().copied()
    }

    /// Queues frames of an act.
    pub fn publish(&self, publication: &Arc<Publication>, frames: impl IntoIterator<Item = Frame>) {
        let frames =
            frames.into_iter().map(|frame| FeedItem::Frame(frame, Arc::clone(publication)));
        self.push(publication.number(), frames);
    }

    /// Queues that the hub has passed the entry `number`.
    pub fn watermark(&self, number: u64) {
        self.push(number, [FeedItem::Watermark(number)]);
    }

    /// Queues the answer to a change of the threads followed.
    pub fn following(&self, number: u64) {
        self.push(number, [FeedItem::Following(number)]);
    }

    /// Queues items of one entry; the first that finds no room puts the listener behind.
    fn push(&self, number: u64, items: impl IntoIterator<Item = FeedItem>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        {
            let mut queue = lock(&self.queue);
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

    /// The number of the last entry of which an item was queued.
    pub fn published_upto(&self) -> u64 {
        self.published_upto.load(Ordering::Relaxed)
    }

    /// Ends the feed, for the first reason given. The items queued are dropped, unless the server
    /// stops.
    pub fn close(&self, why: CloseReason) {
        {
            let mut queue = lock(&self.queue);
            let first = *queue.close.get_or_insert(why);
            if first != CloseReason::ShuttingDown {
                queue.items = VecDeque::new();
            }
        }
        self.filled.notify_one();
    }

    /// The reason for which the feed is to end, if it is.
    pub fn closing(&self) -> Option<CloseReason> {
        lock(&self.queue).close
    }

    /// Waits until the feed is to end.
    pub async fn closed(&self) -> CloseReason {
        loop {
            if let Some(close) = self.closing() {
                return close;
            }
            self.filled.notified().await;
        }
    }

    /// Puts the listener behind: items after those queued are to be read in the log. One that is
    /// not live yet reads it anyway.
    pub(super) fn fall_behind(&self) {
        lock(&self.queue).behind = true;
        self.filled.notify_one();
    }

    /// Whether an item found no room since the last [`Subscriber::catch_up`].
    pub fn is_behind(&self) -> bool {
        lock(&self.queue).behind
    }

    /// Whether every item queued was taken, and none found no room.
    pub(super) fn is_empty(&self) -> bool {
        let queue = lock(&self.queue);
        queue.items.is_empty() && !queue.behind
    }

    /// Queues the items `missed`, whatever its bound, and from then on the entries after `number`.
    /// The hub calls it, under the lock that orders entries.
    pub(super) fn catch_up(&self, missed: impl IntoIterator<Item = FeedItem>, number: u64) {
        {
            let mut queue = lock(&self.queue);
            if queue.close.is_none() {
                queue.behind = false;
                queue.items.extend(missed);
            }
        }
        self.published_upto.store(number, Ordering::Relaxed);
        self.filled.notify_one();
    }

    /// Takes up to `max` items, waiting for the first. Loses no item if it is dropped.
    ///
    /// # Errors
    /// The reason for which the feed ends, once the queue is empty.
    pub async fn take(&self, max: usize) -> Result<Taken, CloseReason> {
        loop {
            {
                let mut queue = lock(&self.queue);
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
pub(super) mod tests {
    use super::*;

    pub fn subscriber(scope: Scope, bound: usize) -> Arc<Subscriber> {
        let subscription = Subscription {
            participant: Participant { identity: "local:ada".into(), extension: None },
            scope,
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
            FeedItem::Frame(_, publication) => publication.number(),
            FeedItem::Watermark(number)
            | FeedItem::Following(number)
            | FeedItem::CaughtUp(number) => *number,
        }
    }

    /// Goal: a full queue keeps what it has, takes no more until its listener has caught up, and
    /// never grows. Method: three items into a queue of two.
    #[tokio::test]
    async fn full() {
        let subscriber = subscriber(Scope::Inbox, 2);
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
        let [stopped, revoked] = [2, 2].map(|bound| subscriber(Scope::Inbox, bound));
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
