//! Publishes committed entries, in their one order, to the queues of listeners.
//!
//! Listeners of the scopes `threads` and `all` are served here; the turns of scope `inbox` go
//! through the inbox actor of their participant. A listener that is behind gets no items: it
//! replays the log at its pace, then the ring of recent acts, and goes live under the lock that
//! orders deliveries.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::{Frame, Scope, act_frames, turn_frame};
use parley_protocol::identity::Identity;
use parley_protocol::ids::{ThreadId, TokenId};
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::time::Millis;

use crate::feed::inbox::Inboxes;
use crate::feed::publication::Publication;
use crate::feed::subscriber::{CloseReason, FeedItem, Subscriber, Subscription};
use crate::feed::{lock, release};
use crate::journal::Committed;
use crate::metric;

/// Acts kept in the ring.
pub const RING_ACTS_MAX: usize = 4_096;
/// Bytes that the ring keeps in memory, at most, unless a single act weighs more.
pub const RING_BYTES_MAX: u64 = 32 << 20;
/// Acts given from the ring at a time, and so the most that a listener lacks when it goes live:
/// they are queued whatever the bound of its queue.
pub const CATCH_UP_ACTS_MAX: usize = 64;
/// Entries without an item for a feed after which it gets a watermark.
pub const WATERMARK_ENTRIES: u64 = 100_000;
/// Entries between two searches for such feeds.
const WATERMARK_CHECK_ENTRIES: u64 = 4_096;

/// The outcome of [`Hub::catch_up`].
pub enum CatchUp {
    /// The ring does not reach back to the place; the log must be read.
    Far,
    /// The next acts, in order; the ring holds more.
    Near(Vec<Arc<Publication>>),
    /// The listener is live; its queue holds the frames that it lacked up to the entry of this
    /// number.
    Live(u64),
}

/// The place that a replay has reached.
#[derive(Clone, Copy, Debug)]
pub struct FeedPlace {
    /// The cursor from which it began: frames up to it were given before.
    pub since: Position,
    /// The last entry of which every frame was given.
    pub after: u64,
}

impl FeedPlace {
    /// The place of a cursor.
    pub fn at(since: Position) -> Self {
        let whole = since >= Position::after(since.entry());
        let after = if whole { since.entry() } else { since.entry().saturating_sub(1) };
        Self { since, after }
    }

    /// Whether a frame of the entry `number` was not given before it began.
    pub fn lacks(self, frame: Frame, number: u64) -> bool {
        frame.position(number) > self.since
    }

    /// The position up to which every frame was given.
    pub fn watermark(self) -> Position {
        Position::after(self.after).max(self.since)
    }
}

/// Caps on listeners.
#[derive(Clone, Copy, Debug)]
pub struct FeedCaps {
    /// Listeners in all; beyond, 503 `overloaded`.
    pub connections_max: usize,
    /// Listeners of one identity; beyond, 429 `rate_limited`.
    pub per_identity_max: usize,
    /// Live items that a listener's queue holds.
    pub buffer: usize,
}

/// Items queued under one hold of the lock by [`Hub::deliver`], about.
const ITEMS_AT_ONCE: usize = 1_024;

/// The registry of listeners and the ring of recent acts, under one lock that is held for one
/// listener or for about [`ITEMS_AT_ONCE`] items at a time.
///
/// [`Hub::deliver`] is called with every batch in order, and only by the publishing hop; the number
/// of the last entry delivered only rises. A listener is registered, then goes live once, by
/// [`Hub::join`] or by [`Hub::catch_up`], and leaves once. From the moment at which it is live its
/// queue gets every entry after the number given, without a gap, until it is full; then `catch_up`
/// again. A registered listener counts against the caps until it leaves.
pub struct Hub {
    index: Mutex<HubIndex>,
    inboxes: Inboxes,
    /// The caps in force.
    pub caps: FeedCaps,
}

#[derive(Default)]
struct HubIndex {
    /// The number of the last entry delivered.
    delivered: u64,
    /// Each with its weight.
    ring: VecDeque<(u64, Arc<Publication>)>,
    ring_bytes: u64,
    /// The number of the entry after which the ring begins.
    ring_after: u64,
    all: Vec<Arc<Subscriber>>,
    threads: HashMap<ThreadId, Vec<Arc<Subscriber>>>,
    /// All registered, in the order of registration.
    registrations: BTreeMap<u64, Arc<Subscriber>>,
    /// The number of the last registration.
    registered: u64,
    per_identity: HashMap<Identity, usize>,
    stopping: bool,
}

impl Hub {
    /// A hub without listeners, whose first entry is the one after `delivered`.
    pub fn new(inboxes: Inboxes, caps: FeedCaps, delivered: u64) -> Self {
        let index = HubIndex { delivered, ring_after: delivered, ..HubIndex::default() };
        Self { index: Mutex::new(index), inboxes, caps }
    }

    /// The number of the last entry delivered.
    pub fn delivered(&self) -> u64 {
        lock(&self.index).delivered
    }

    /// Queues the frames of a batch of committed entries for every live listener that they concern.
    /// It waits for no listener, and lets others in between entries.
    pub fn deliver(&self, batch: &[Arc<Committed>], now: Millis) {
        let before = self.delivered();
        let mut rest = batch;
        while !rest.is_empty() {
            let mut index = lock(&self.index);
            let count = (ITEMS_AT_ONCE / (index.registrations.len() + 1)).clamp(1, rest.len());
            let entries;
            (entries, rest) = rest.split_at(count);
            for committed in entries {
                if let Some(publication) = Publication::of(committed, now) {
                    index.publish(&publication);
                    self.inboxes.publish(&publication);
                    index.keep(publication);
                }
                index.delivered = committed.number;
            }
            drop(index);
            if !rest.is_empty() {
                std::thread::yield_now();
            }
        }
        let index = lock(&self.index);
        if before / WATERMARK_CHECK_ENTRIES != index.delivered / WATERMARK_CHECK_ENTRIES {
            self.advance_watermarks(&index);
        }
    }

    /// Passes over the entries up to `upto`, which were not delivered: every live listener is
    /// behind and reads them in the log, and held inbox reads look again.
    pub fn skip(&self, upto: u64) {
        let mut index = lock(&self.index);
        index.ring.clear();
        index.ring_after = upto;
        index.delivered = upto;
        for subscriber in index.registrations.values() {
            subscriber.fall_behind();
        }
        self.inboxes.wake_held();
    }

    /// Queues a watermark for feeds without an item for long, behind their earlier items.
    fn advance_watermarks(&self, index: &HubIndex) {
        let delivered = index.delivered;
        let quiet = |subscriber: &&Arc<Subscriber>| {
            delivered.saturating_sub(subscriber.published_upto()) >= WATERMARK_ENTRIES
        };
        for subscriber in index.registrations.values().filter(quiet) {
            match subscriber.subscription.scope {
                Scope::Inbox => self.inboxes.watermark(subscriber, delivered),
                Scope::All | Scope::Threads => subscriber.watermark(delivered),
            }
        }
    }

    /// Registers a listener, within the caps; its queue gets no items until it goes live.
    ///
    /// # Errors
    /// 503 `overloaded`, 429 `rate_limited`, 503 `shutting_down`.
    pub fn register(&self, subscriber: &Arc<Subscriber>) -> Result<()> {
        let mut index = lock(&self.index);
        if index.stopping {
            return Err(Refusal::feed_stopping());
        }
        let identity = &subscriber.subscription.participant.identity;
        let count = index.per_identity.get(identity).copied().unwrap_or_default();
        if count >= self.caps.per_identity_max {
            return Err(Refusal::feeds_of_identity());
        }
        if index.registrations.len() >= self.caps.connections_max {
            return Err(Refusal::feeds_full());
        }
        index.per_identity.insert(Arc::clone(identity), count + 1);
        index.registered += 1;
        let number = subscriber.register(index.registered);
        index.registrations.insert(number, Arc::clone(subscriber));
        index.gauge();
        Ok(())
    }

    /// Makes a registered listener live now; gives the number of the entry after which it begins.
    pub fn join(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) -> u64 {
        let mut index = lock(&self.index);
        subscriber.catch_up([], index.delivered);
        self.go_live(&mut index, subscriber, threads);
        index.delivered
    }

    /// Gives the acts after `place`, as far as the ring holds them. If they are few, their frames
    /// are queued instead, and the listener is live from then on: again if it `was_live`, else for
    /// the first time, at the end of its replay.
    pub fn catch_up(
        &self,
        subscriber: &Arc<Subscriber>,
        threads: &[ThreadId],
        place: FeedPlace,
        was_live: bool,
    ) -> CatchUp {
        let mut index = lock(&self.index);
        if place.after < index.ring_after {
            return CatchUp::Far;
        }
        let begun =
            index.ring.partition_point(|(_, publication)| publication.number() <= place.after);
        let end = index.ring.len().min(begun + CATCH_UP_ACTS_MAX);
        let acts = index.ring.range(begun..end).map(|(_, publication)| publication);
        if end < index.ring.len() {
            return CatchUp::Near(acts.cloned().collect());
        }
        let mut missed = Vec::new();
        for publication in acts {
            let frames = frames_for(&subscriber.subscription, publication.act(), threads);
            let frames = frames.filter(|frame| place.lacks(*frame, publication.number()));
            missed.extend(frames.map(|frame| FeedItem::Frame(frame, Arc::clone(publication))));
        }
        let delivered = index.delivered;
        missed.extend((!was_live).then_some(FeedItem::CaughtUp(delivered)));
        subscriber.catch_up(missed, delivered);
        if !was_live {
            self.go_live(&mut index, subscriber, threads);
        }
        CatchUp::Live(delivered)
    }

    fn go_live(&self, index: &mut HubIndex, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        match subscriber.subscription.scope {
            Scope::All => index.all.push(Arc::clone(subscriber)),
            Scope::Threads => index.follow(subscriber, threads),
            // Under the lock: the next delivery comes after this in the actor's mailbox.
            Scope::Inbox => self.inboxes.join(subscriber),
        }
    }

    /// Follows further threads from now on, and queues the answer, for a live listener.
    pub fn follow(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        let mut index = lock(&self.index);
        index.follow(subscriber, threads);
        subscriber.following(index.delivered);
    }

    /// Follows these threads no longer, and queues the answer, for a live listener.
    pub fn unfollow(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        let mut index = lock(&self.index);
        index.unfollow(subscriber, threads);
        subscriber.following(index.delivered);
    }

    /// Removes a listener, which may have left already.
    pub fn leave(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        let mut index = lock(&self.index);
        let number = subscriber.registration();
        if number.is_some_and(|number| index.registrations.remove(&number).is_some()) {
            let identity = &subscriber.subscription.participant.identity;
            release(&mut index.per_identity, identity);
        }
        index.gauge();
        match subscriber.subscription.scope {
            Scope::All => index.all.retain(|other| !Arc::ptr_eq(other, subscriber)),
            Scope::Threads => index.unfollow(subscriber, threads),
            Scope::Inbox => self.inboxes.leave(subscriber),
        }
    }

    /// Closes the feeds of a revoked token.
    pub fn revoke(&self, token: TokenId) {
        lock(&self.index).close(CloseReason::Revoked, |it| it.token == token);
    }

    /// Closes the feeds whose token has expired.
    pub fn expire(&self, now: Millis) {
        let is_expired = |it: &Subscription| it.expires_at.is_some_and(|at| at <= now);
        lock(&self.index).close(CloseReason::Revoked, is_expired);
    }

    /// Closes all feeds; none registers from then on.
    pub fn stop(&self) {
        let mut index = lock(&self.index);
        index.stopping = true;
        index.close(CloseReason::ShuttingDown, |_| true);
    }
}

impl HubIndex {
    fn close(&self, why: CloseReason, is_concerned: impl Fn(&Subscription) -> bool) {
        let all = self.registrations.values();
        for subscriber in all.filter(|subscriber| is_concerned(&subscriber.subscription)) {
            subscriber.close(why);
        }
    }

    fn publish(&self, publication: &Arc<Publication>) {
        let followers = self.threads.get(&publication.act().thread);
        if self.all.is_empty() && followers.is_none() {
            return;
        }
        let frames: Vec<Frame> = act_frames(publication.act()).collect();
        for subscriber in &self.all {
            let Subscription { participant, anyone, .. } = &subscriber.subscription;
            let turn = turn_frame(publication.act(), participant, *anyone);
            subscriber.publish(publication, frames.iter().copied().chain(turn));
        }
        for subscriber in followers.into_iter().flatten() {
            subscriber.publish(publication, frames.iter().copied());
        }
    }

    fn keep(&mut self, publication: Arc<Publication>) {
        let weight = publication.weight();
        self.ring_bytes += weight;
        self.ring.push_back((weight, publication));
        while self.ring.len() > RING_ACTS_MAX
            || (self.ring_bytes > RING_BYTES_MAX && self.ring.len() > 1)
        {
            let Some((weight, lost)) = self.ring.pop_front() else { break };
            self.ring_bytes -= weight;
            self.ring_after = lost.number();
        }
    }

    fn follow(&mut self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        for thread in threads {
            let followers = self.threads.entry(*thread).or_default();
            if !followers.iter().any(|other| Arc::ptr_eq(other, subscriber)) {
                followers.push(Arc::clone(subscriber));
            }
        }
    }

    fn unfollow(&mut self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        for thread in threads {
            if let Some(followers) = self.threads.get_mut(thread) {
                followers.retain(|other| !Arc::ptr_eq(other, subscriber));
                if followers.is_empty() {
                    self.threads.remove(thread);
                }
            }
        }
    }

    fn gauge(&self) {
        metrics::gauge!(metric::FEED_CONNECTIONS).set(self.registrations.len() as f64);
    }
}

/// The frames of one act for a listener that follows `threads`, which are sorted, in order.
pub fn frames_for<'a>(
    subscription: &'a Subscription,
    act: &'a Act,
    threads: &[ThreadId],
) -> impl Iterator<Item = Frame> + use<'a> {
    let Subscription { participant, scope, anyone, .. } = subscription;
    let follows = match scope {
        Scope::All => true,
        Scope::Threads => threads.binary_search(&act.thread).is_ok(),
        Scope::Inbox => false,
    };
    let turn = scope.tells_turns().then(|| turn_frame(act, participant, *anyone)).flatten();
    follows.then(|| act_frames(act)).into_iter().flatten().chain(turn)
}

#[cfg(test)]
mod tests;
