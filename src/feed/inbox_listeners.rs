//! The listeners of one inbox: feeds and held reads, each found, added and removed in a time that
//! does not depend on how many there are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use parley_protocol::feed::{Frame, turn_frame};
use parley_protocol::identity::Participant;
use tokio::sync::Notify;

use crate::feed::publication::Publication;
use crate::feed::subscriber::{CloseReason, Subscriber};

/// A listener of an inbox.
#[derive(Clone)]
pub enum InboxListener {
    /// A feed.
    Feed(Arc<Subscriber>),
    /// A held `read_inbox`, woken when a turn comes.
    Held {
        /// Wakes it.
        notify: Arc<Notify>,
        /// Whether a question to anyone wakes it.
        anyone: bool,
    },
}

impl InboxListener {
    /// The address that tells it from others while it is listed.
    fn key(&self) -> usize {
        match self {
            Self::Feed(subscriber) => Arc::as_ptr(subscriber).addr(),
            Self::Held { notify, .. } => Arc::as_ptr(notify).addr(),
        }
    }

    /// Whether questions to anyone reach it.
    pub fn anyone(&self) -> bool {
        match self {
            Self::Feed(subscriber) => subscriber.subscription.anyone,
            Self::Held { anyone, .. } => *anyone,
        }
    }

    /// Passes on an act that changes the turn of `participant`.
    pub fn publish(&self, participant: &Participant, publication: &Arc<Publication>) {
        let Some(frame) = turn_frame(publication.act(), participant, self.anyone()) else {
            return;
        };
        match self {
            Self::Feed(subscriber) => subscriber.publish(publication, [frame]),
            Self::Held { notify, .. } if frame == Frame::Awaiting => notify.notify_one(),
            Self::Held { .. } => {}
        }
    }

    /// Closes a feed, wakes a held read.
    pub fn close(&self, why: CloseReason) {
        match self {
            Self::Feed(subscriber) => subscriber.close(why),
            Self::Held { notify, .. } => notify.notify_one(),
        }
    }
}

/// Listeners in the order in which they came.
#[derive(Default)]
pub struct InboxListeners {
    in_order: BTreeMap<u64, InboxListener>,
    /// Their places, by key.
    places: HashMap<usize, u64, RandomState>,
    next: u64,
}

impl InboxListeners {
    /// Adds a listener, once.
    pub fn add(&mut self, listener: InboxListener) {
        self.next += 1;
        self.places.insert(listener.key(), self.next);
        self.in_order.insert(self.next, listener);
    }

    /// Removes a listener; whether it was there.
    pub fn remove(&mut self, listener: &InboxListener) -> bool {
        let place = self.places.remove(&listener.key());
        place.is_some_and(|place| self.in_order.remove(&place).is_some())
    }

    /// Whether the listener is there.
    pub fn has(&self, listener: &InboxListener) -> bool {
        self.places.contains_key(&listener.key())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &InboxListener> {
        self.in_order.values()
    }
}
