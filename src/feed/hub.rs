//! From committed entries, in their one order, to listeners.
//!
//! Scopes `threads` and `all` are served here; the turns of scope `inbox` go through the inbox
//! actor of their participant. A listener that is behind is not told anything: it catches up at
//! its own pace, at last out of the ring of recent acts, and under the lock that also guards the
//! deliveries it is made live where it has come to.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::{Frame, Scope, act_frames, turn_frame};
use parley_protocol::identity::Identity;
use parley_protocol::ids::{ThreadId, TokenId};
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::time::Millis;

use crate::feed::inbox::Inboxes;
use crate::feed::publication::Publication;
use crate::feed::subscriber::{CloseReason, FeedItem, Subscriber, Subscription};
use crate::interference::{Flaw, Interference, plants};
use crate::journal::Committed;
use crate::metric;

/// Acts that are kept for listeners who come near the head.
pub const RING_ACTS_MAX: usize = 4_096;
/// Acts that a listener is given from the ring at a time, and so lacks at most when it goes live:
/// they are put in its queue whatever its bound.
pub const CATCH_UP_ACTS_MAX: usize = 64;
/// Entries without anything to tell after which a feed is told how far the hub has looked.
pub const WATERMARK_ENTRIES: u64 = 100_000;
/// Entries between two looks at which feeds had nothing to tell for so long.
const WATERMARK_CHECK_ENTRIES: u64 = 4_096;

/// What a listener that comes near the head is given.
pub enum CatchUp {
    /// The ring does not reach back so far: the log does.
    Far,
    /// The next acts, in order; there are more.
    Near(Vec<Arc<Publication>>),
    /// The listener is live: in its queue is what it lacked up to the entry of this number.
    Live(u64),
}

/// How far a listener has come.
#[derive(Clone, Copy, Debug)]
pub struct FeedPlace {
    /// It was given its frames up to here.
    pub since: Position,
    /// Entries up to this one have been looked at wholly.
    pub after: u64,
}

impl FeedPlace {
    /// The place of a cursor.
    pub fn at(since: Position) -> Self {
        let whole = since >= Position::after(since.entry());
        let after = if whole { since.entry() } else { since.entry().saturating_sub(1) };
        Self { since, after }
    }

    /// Whether a frame of the entry `number` lies beyond.
    pub fn lacks(self, frame: Frame, number: u64) -> bool {
        frame.position(number) > self.since
    }

    /// The position up to which it has looked.
    pub fn watermark(self) -> Position {
        Position::after(self.after).max(self.since)
    }
}

/// Caps on listeners.
#[derive(Clone, Copy, Debug)]
pub struct FeedCaps {
    /// In all: 503 `overloaded`.
    pub connections_max: usize,
    /// Of one identity: 429 `rate_limited`.
    pub per_identity_max: usize,
    /// Live frames that a listener's queue holds.
    pub buffer: usize,
}

/// The hub. One lock, held for one batch or one joining at a time.
pub struct Hub {
    index: Mutex<HubIndex>,
    inboxes: Inboxes,
    /// The caps in force.
    pub caps: FeedCaps,
    /// Tests only.
    interference: Option<Arc<dyn Interference>>,
}

#[derive(Default)]
struct HubIndex {
    /// The number of the last entry delivered.
    delivered: u64,
    ring: VecDeque<Arc<Publication>>,
    /// The number of the last entry that the ring has lost, or began after.
    ring_after: u64,
    all: Vec<Arc<Subscriber>>,
    threads: HashMap<ThreadId, Vec<Arc<Subscriber>>>,
    /// Everyone seated, in the order in which they came.
    registrations: BTreeMap<u64, Arc<Subscriber>>,
    /// The last number given to a seat.
    register: u64,
    per_identity: HashMap<Identity, usize>,
    stopping: bool,
}

impl Hub {
    /// A hub whose first entry will be the one after `delivered`.
    pub fn new(inboxes: Inboxes, caps: FeedCaps, delivered: u64) -> Self {
        let index = HubIndex { delivered, ring_after: delivered, ..HubIndex::default() };
        Self { index: Mutex::new(index), inboxes, caps, interference: None }
    }

    /// The same, with what a test puts in its way.
    pub fn with_interference(self, interference: Option<Arc<dyn Interference>>) -> Self {
        Self { interference, ..self }
    }

    fn index(&self) -> MutexGuard<'_, HubIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The inbox actors.
    pub fn inboxes(&self) -> &Inboxes {
        &self.inboxes
    }

    /// The number of the last entry delivered.
    pub fn delivered(&self) -> u64 {
        self.index().delivered
    }

    /// Tells everyone concerned of a batch of committed entries. Never waits for a listener.
    pub fn deliver(&self, batch: &[Arc<Committed>], now: Millis) {
        let mut index = self.index();
        let before = index.delivered;
        for committed in batch {
            if let Some(told) = Publication::of(committed, now) {
                if !plants(self.interference.as_ref(), Flaw::DropNotification) {
                    index.publish(&told);
                    self.inboxes.publish(&told);
                }
                index.keep(told);
            }
            index.delivered = committed.number;
        }
        if before / WATERMARK_CHECK_ENTRIES != index.delivered / WATERMARK_CHECK_ENTRIES {
            self.advance_watermarks(&index);
        }
    }

    /// Tells feeds that had nothing to tell for long how far the hub has looked, behind all that
    /// was told before.
    fn advance_watermarks(&self, index: &HubIndex) {
        let looked = index.delivered;
        let quiet = |subscriber: &&Arc<Subscriber>| {
            looked.saturating_sub(subscriber.published_upto()) >= WATERMARK_ENTRIES
        };
        for subscriber in index.registrations.values().filter(quiet) {
            match subscriber.subscription.scope {
                Scope::Inbox => self.inboxes.mark(subscriber, looked),
                Scope::All | Scope::Threads => subscriber.watermark(looked),
            }
        }
    }

    /// A seat for a listener, within the caps; it hears nothing until it goes live.
    ///
    /// # Errors
    /// 503 `overloaded`, 429 `rate_limited`, 503 `shutting_down`.
    pub fn register(&self, subscriber: &Arc<Subscriber>) -> Result<()> {
        let mut index = self.index();
        if index.stopping {
            let detail = "The server is shutting down. Connect again in a moment.";
            return Err(Refusal::new(Reason::ShuttingDown, detail).retry_after(1_000));
        }
        let identity = &subscriber.subscription.participant.identity;
        let count = index.per_identity.get(identity).copied().unwrap_or_default();
        if count >= self.caps.per_identity_max {
            let detail = "This identity has as many feeds open as it may. Close one, or follow \
                          more with one feed.";
            return Err(Refusal::new(Reason::RateLimited, detail).retry_after(1_000));
        }
        if index.registrations.len() >= self.caps.connections_max {
            let detail = "The server has as many listeners as it takes. Try again later.";
            return Err(Refusal::new(Reason::Overloaded, detail).retry_after(1_000));
        }
        index.per_identity.insert(Arc::clone(identity), count + 1);
        index.register += 1;
        let number = subscriber.register(index.register);
        index.registrations.insert(number, Arc::clone(subscriber));
        index.gauge();
        Ok(())
    }

    /// Makes a seated listener live now; gives the number of the entry after which it begins.
    pub fn join(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) -> u64 {
        let mut index = self.index();
        subscriber.catch_up([], index.delivered);
        self.go_live(&mut index, subscriber, threads);
        index.delivered
    }

    /// What a listener that has looked up to `place` lacks, as far as the ring holds it. Where
    /// that is little it is put in the listener's queue, and the listener goes live, as if it had
    /// been since: again, if it was before, or for the first time, at the end of its replay.
    pub fn catch_up(
        &self,
        subscriber: &Arc<Subscriber>,
        threads: &[ThreadId],
        place: FeedPlace,
        was_live: bool,
    ) -> CatchUp {
        let mut index = self.index();
        if place.after < index.ring_after {
            return CatchUp::Far;
        }
        let begun = index.ring.partition_point(|told| told.number() <= place.after);
        let end = index.ring.len().min(begun + CATCH_UP_ACTS_MAX);
        let acts = index.ring.range(begun..end);
        if end < index.ring.len() {
            return CatchUp::Near(acts.cloned().collect());
        }
        let mut missed = Vec::new();
        for told in acts {
            let frames = frames_for(&subscriber.subscription, told.act(), threads);
            let frames = frames.filter(|frame| place.lacks(*frame, told.number()));
            missed.extend(frames.map(|frame| FeedItem::Frame(frame, Arc::clone(told))));
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
            // Under the lock: whatever is delivered next comes after this in the actor's mailbox.
            Scope::Inbox => self.inboxes.join(subscriber),
        }
    }

    /// Follows further threads from now on, and queues the answer.
    pub fn follow(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        let mut index = self.index();
        index.follow(subscriber, threads);
        subscriber.following(index.delivered);
    }

    /// Follows these threads no longer, and queues the answer.
    pub fn unfollow(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        let mut index = self.index();
        index.unfollow(subscriber, threads);
        subscriber.following(index.delivered);
    }

    /// Gives the seat back.
    pub fn leave(&self, subscriber: &Arc<Subscriber>, threads: &[ThreadId]) {
        let mut index = self.index();
        if subscriber
            .registration()
            .is_some_and(|register| index.registrations.remove(&register).is_some())
        {
            let identity = &subscriber.subscription.participant.identity;
            if let Some(count) = index.per_identity.get_mut(identity) {
                *count -= 1;
                if *count == 0 {
                    index.per_identity.remove(identity);
                }
            }
        }
        index.gauge();
        match subscriber.subscription.scope {
            Scope::All => index.all.retain(|register| !Arc::ptr_eq(register, subscriber)),
            Scope::Threads => index.unfollow(subscriber, threads),
            Scope::Inbox => self.inboxes.leave(subscriber),
        }
    }

    /// Cuts the feeds of a token that was revoked.
    pub fn revoke(&self, token: TokenId) {
        for register in self.index().registrations.values() {
            if register.subscription.token == token {
                register.close(CloseReason::Revoked);
            }
        }
    }

    /// Cuts the feeds whose token has expired.
    pub fn expire(&self, now: Millis) {
        for register in self.index().registrations.values() {
            if register.subscription.expires_at.is_some_and(|at| at <= now) {
                register.close(CloseReason::Revoked);
            }
        }
    }

    /// Ends all feeds; none is seated any more.
    pub fn stop(&self) {
        let mut index = self.index();
        index.stopping = true;
        for register in index.registrations.values() {
            register.close(CloseReason::ShuttingDown);
        }
    }
}

impl HubIndex {
    fn publish(&self, told: &Arc<Publication>) {
        let followers = self.threads.get(&told.act().thread);
        if self.all.is_empty() && followers.is_none() {
            return;
        }
        let frames: Vec<Frame> = act_frames(told.act()).collect();
        for subscriber in &self.all {
            let Subscription { participant, anyone, .. } = &subscriber.subscription;
            let turn = turn_frame(told.act(), participant, *anyone);
            subscriber.publish(told, frames.iter().copied().chain(turn));
        }
        for subscriber in followers.into_iter().flatten() {
            subscriber.publish(told, frames.iter().copied());
        }
    }

    fn keep(&mut self, told: Arc<Publication>) {
        if self.ring.len() >= RING_ACTS_MAX
            && let Some(lost) = self.ring.pop_front()
        {
            self.ring_after = lost.number();
        }
        self.ring.push_back(told);
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

/// The frames that a listener which follows `threads`, sorted, is told of one act, in order.
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
mod tests {
    use super::*;

    use parley_protocol::entry::{Entry, KeyUse, StoredOutcome};
    use parley_protocol::identity::Participant;

    use crate::feed::subscriber::Taken;

    fn subscriber(scope: Scope) -> Arc<Subscriber> {
        let subscription = Subscription {
            participant: Participant { identity: "local:ada".into(), extension: None },
            scope,
            anyone: true,
            token: TokenId(1),
            expires_at: None,
        };
        Subscriber::new(subscription, 8)
    }

    /// Entries of which no feed tells, up to the number `upto`.
    fn pass(hub: &Hub, upto: u64) {
        let from = hub.delivered() + 1;
        let key = KeyUse { key: [0; 16], content: [0; 16] };
        let outcome = || StoredOutcome::Unchanged(ThreadId(1));
        let entries = (from..=upto).map(|number| {
            let entry = Entry::Outcome(Millis(1), key, outcome());
            Arc::new(Committed { number, entry, summary: None, claims: Vec::new() })
        });
        hub.deliver(&entries.collect::<Vec<_>>(), Millis(1));
    }

    /// Goal: a feed that had nothing to tell for 100 000 entries is told how far the hub has
    /// looked, in whatever scope, and one that does not listen yet is not. Method: so many entries
    /// that tell nothing, in two parts.
    #[tokio::test]
    async fn marks() {
        let inboxes = Inboxes::start().await.unwrap();
        let caps = FeedCaps { connections_max: 8, per_identity_max: 8, buffer: 8 };
        let hub = Hub::new(inboxes, caps, 10);
        let listeners = [Scope::All, Scope::Threads, Scope::Inbox].map(subscriber);
        let registration = subscriber(Scope::All);
        hub.register(&registration).unwrap();
        for listener in &listeners {
            hub.register(listener).unwrap();
            assert_eq!(hub.join(listener, &[ThreadId(1)]), 10);
        }
        pass(&hub, WATERMARK_ENTRIES - WATERMARK_CHECK_ENTRIES);
        pass(&hub, WATERMARK_ENTRIES + 2 * WATERMARK_CHECK_ENTRIES);
        for listener in &listeners {
            let Ok(Taken::Items(items)) = listener.take(8).await else { panic!("no mark") };
            assert!(
                matches!(items[..], [FeedItem::Watermark(number)] if number > WATERMARK_ENTRIES)
            );
        }
        registration.close(CloseReason::ShuttingDown);
        assert_eq!(registration.take(8).await.err(), Some(CloseReason::ShuttingDown));
    }
}
