//! From committed entries, in their one order, to listeners.
//!
//! Scopes `threads` and `all` are served here; the turns of scope `inbox` go through the inbox
//! actor of their participant. A listener that replays is not live: it joins once it is near the
//! head, and what lies between comes from the ring of recent acts, under the same lock.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::entry::{Act, Due};
use parley_protocol::feed::{Frame, Scope, act_frames, turn_frame};
use parley_protocol::ids::{ThreadId, TokenId};
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::time::Millis;
use parley_protocol::who::{Identity, Participant};

use super::outlet::{Close, Item, Outlet, Subscription};
use super::told::Told;
use crate::inbox::Inboxes;
use crate::journal::Committed;

/// Acts that are kept for listeners on their way from replay to live.
pub const RING_ACTS_MAX: usize = 4_096;

/// Acts that a listener may lack when it joins: what it lacks is handed to it and written while
/// live frames fill its queue already, so it must be little.
pub const JOIN_ACTS_MAX: usize = 256;

/// How a listener joined.
pub struct Joined {
    /// The acts between the place it asked for and now, in order, to be written first.
    pub missed: Vec<Arc<Told>>,
    /// The number of the entry up to which they go.
    pub looked: u64,
}

/// Caps on listeners.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// In all: 503 `overloaded`.
    pub connections_max: usize,
    /// Of one identity: 429 `rate_limited`.
    pub per_identity_max: usize,
    /// Live frames that a listener's queue holds.
    pub buffer: usize,
}

/// The hub. One lock, held for one batch or one joining at a time.
pub struct Hub {
    index: Mutex<Index>,
    inboxes: Inboxes,
    /// The caps in force.
    pub caps: Caps,
}

#[derive(Default)]
struct Index {
    /// The number of the last entry delivered.
    delivered: u64,
    ring: VecDeque<Arc<Told>>,
    /// The number of the last entry that the ring has lost, or began after.
    ring_after: u64,
    all: Vec<Arc<Outlet>>,
    threads: HashMap<ThreadId, Vec<Arc<Outlet>>>,
    seats: Vec<Arc<Outlet>>,
    per_identity: HashMap<Identity, usize>,
    stopping: bool,
}

impl Hub {
    /// A hub whose first entry will be the one after `delivered`.
    pub fn new(inboxes: Inboxes, caps: Caps, delivered: u64) -> Self {
        let index = Index { delivered, ring_after: delivered, ..Index::default() };
        Self { index: Mutex::new(index), inboxes, caps }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
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
        for committed in batch {
            if let Some(told) = Told::of(committed, now) {
                index.tell(&told);
                self.inboxes.tell(&told);
                index.keep(told);
            }
            index.delivered = committed.number;
        }
    }

    /// A seat for a listener, within the caps; it hears nothing until it joins.
    ///
    /// # Errors
    /// 503 `overloaded`, 429 `rate_limited`, 503 `shutting_down`.
    pub fn seat(&self, outlet: &Arc<Outlet>) -> Result<()> {
        let mut index = self.index();
        if index.stopping {
            let detail = "The server is shutting down. Connect again in a moment.";
            return Err(Refusal::new(Reason::ShuttingDown, detail).retry_after(1_000));
        }
        if index.seats.len() >= self.caps.connections_max {
            let detail = "The server has as many listeners as it takes. Try again later.";
            return Err(Refusal::new(Reason::Overloaded, detail).retry_after(1_000));
        }
        let identity = Arc::clone(&outlet.subscription.participant.identity);
        let count = index.per_identity.entry(identity).or_default();
        if *count >= self.caps.per_identity_max {
            let detail = "This identity has as many feeds open as it may. Close one, or follow \
                          more with one feed.";
            return Err(Refusal::new(Reason::RateLimited, detail).retry_after(1_000));
        }
        *count += 1;
        index.seats.push(Arc::clone(outlet));
        metrics::gauge!("parley_feed_connections").set(index.seats.len() as f64);
        Ok(())
    }

    /// Makes a seated listener live after the entry numbered `after`, as if it had been live
    /// since; `None` starts now. Gives nothing if `after` lies too far back: it replays more of
    /// the log then and tries again.
    pub fn join(
        &self,
        outlet: &Arc<Outlet>,
        threads: &[ThreadId],
        after: Option<u64>,
    ) -> Option<Joined> {
        let mut index = self.index();
        let after = after.unwrap_or(index.delivered);
        let begun = index.ring.partition_point(|told| told.number() <= after);
        if after < index.ring_after || index.ring.len() - begun > JOIN_ACTS_MAX {
            return None;
        }
        let missed = index.ring.range(begun..).cloned().collect();
        match outlet.subscription.scope {
            Scope::All => index.all.push(Arc::clone(outlet)),
            Scope::Threads => index.follow(outlet, threads),
            // Under the lock: whatever is delivered next comes after this in the actor's mailbox.
            Scope::Inbox => self.inboxes.join(outlet),
        }
        Some(Joined { missed, looked: index.delivered })
    }

    /// Follows further threads from now on.
    pub fn follow(&self, outlet: &Arc<Outlet>, threads: &[ThreadId]) {
        self.index().follow(outlet, threads);
    }

    /// Follows these threads no longer.
    pub fn unfollow(&self, outlet: &Arc<Outlet>, threads: &[ThreadId]) {
        self.index().unfollow(outlet, threads);
    }

    /// Queues, behind all that was told before, up to where the hub has looked.
    pub fn mark(&self, outlet: &Arc<Outlet>) {
        let index = self.index();
        let looked = Item::Looked(index.delivered);
        match outlet.subscription.scope {
            Scope::Inbox => self.inboxes.mark(outlet, looked),
            Scope::All | Scope::Threads => outlet.push(looked),
        }
    }

    /// Gives the seat back.
    pub fn leave(&self, outlet: &Arc<Outlet>, threads: &[ThreadId]) {
        outlet.leave();
        let mut index = self.index();
        let seats = index.seats.len();
        index.seats.retain(|seat| !Arc::ptr_eq(seat, outlet));
        if index.seats.len() < seats {
            let identity = &outlet.subscription.participant.identity;
            if let Some(count) = index.per_identity.get_mut(identity) {
                *count -= 1;
                if *count == 0 {
                    index.per_identity.remove(identity);
                }
            }
        }
        metrics::gauge!("parley_feed_connections").set(index.seats.len() as f64);
        match outlet.subscription.scope {
            Scope::All => index.all.retain(|seat| !Arc::ptr_eq(seat, outlet)),
            Scope::Threads => index.unfollow(outlet, threads),
            Scope::Inbox => self.inboxes.leave(outlet),
        }
    }

    /// Cuts the feeds of a token that was revoked.
    pub fn revoke(&self, token: TokenId) {
        for seat in &self.index().seats {
            if seat.subscription.token == token {
                seat.close(Close::Revoked);
            }
        }
    }

    /// Cuts the feeds whose token has expired.
    pub fn expire(&self, now: Millis) {
        for seat in &self.index().seats {
            if seat.subscription.expires_at.is_some_and(|at| at <= now) {
                seat.close(Close::Revoked);
            }
        }
    }

    /// Ends all feeds; none is seated any more.
    pub fn stop(&self) {
        let mut index = self.index();
        index.stopping = true;
        for seat in &index.seats {
            seat.close(Close::ShuttingDown);
        }
    }
}

impl Index {
    fn tell(&self, told: &Arc<Told>) {
        for outlet in &self.all {
            tell_one(outlet, told);
        }
        for outlet in self.threads.get(&told.act().thread).into_iter().flatten() {
            tell_acts(outlet, told);
        }
    }

    fn keep(&mut self, told: Arc<Told>) {
        if self.ring.len() >= RING_ACTS_MAX
            && let Some(lost) = self.ring.pop_front()
        {
            self.ring_after = lost.number();
        }
        self.ring.push_back(told);
    }

    fn follow(&mut self, outlet: &Arc<Outlet>, threads: &[ThreadId]) {
        for thread in threads {
            let followers = self.threads.entry(*thread).or_default();
            if !followers.iter().any(|other| Arc::ptr_eq(other, outlet)) {
                followers.push(Arc::clone(outlet));
            }
        }
    }

    fn unfollow(&mut self, outlet: &Arc<Outlet>, threads: &[ThreadId]) {
        for thread in threads {
            if let Some(followers) = self.threads.get_mut(thread) {
                followers.retain(|other| !Arc::ptr_eq(other, outlet));
                if followers.is_empty() {
                    self.threads.remove(thread);
                }
            }
        }
    }
}

fn tell_acts(outlet: &Outlet, told: &Arc<Told>) {
    for frame in act_frames(told.act()) {
        outlet.push(Item::Frame(frame, Arc::clone(told)));
    }
}

/// The frames that a listener which follows `threads` is told of one act, in order.
pub fn frames_for(subscription: &Subscription, act: &Act, threads: &[ThreadId]) -> Vec<Frame> {
    let follows = match subscription.scope {
        Scope::All => true,
        Scope::Threads => threads.contains(&act.thread),
        Scope::Inbox => false,
    };
    let mut frames = Vec::new();
    if follows {
        frames.extend(act_frames(act));
    }
    if subscription.scope.tells_turns() {
        frames.extend(turn_frame(act, &subscription.participant, subscription.anyone));
    }
    frames
}

fn tell_one(outlet: &Outlet, told: &Arc<Told>) {
    for frame in frames_for(&outlet.subscription, told.act(), &[]) {
        outlet.push(Item::Frame(frame, Arc::clone(told)));
    }
}

/// The participants whose directed turn an act may change, as inbox actors are found: each due
/// one, and the bare line of it.
pub fn directed(told: &Told) -> impl Iterator<Item = Participant> {
    let act = told.act();
    let now = act.awaiting.as_ref().filter(|_| act.awaiting_set);
    let both = [now, act.awaiting_was.as_ref()];
    let mut found: Vec<Participant> = Vec::new();
    for due in both.into_iter().flatten().map(|awaiting| &awaiting.due) {
        let Due::Participant(due) = due else { continue };
        let line = Participant { identity: Arc::clone(&due.identity), extension: None };
        for participant in [due.clone(), line] {
            if !found.contains(&participant) {
                found.push(participant);
            }
        }
    }
    found.into_iter()
}

/// Whether an act puts a question to anyone, or settles one.
pub fn concerns_anyone(told: &Told) -> bool {
    let act = told.act();
    let set = act.awaiting_set.then_some(act.awaiting.as_ref()).flatten();
    [set, act.awaiting_was.as_ref()]
        .into_iter()
        .flatten()
        .any(|awaiting| awaiting.due == Due::Anyone)
}
