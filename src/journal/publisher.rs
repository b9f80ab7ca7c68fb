//! The one task after the writer: replies go out in the order of the queue, then whoever listens
//! is told. It runs on the callers' runtime, so that waking them costs no foreign thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::refusal::Result;
use tokio::sync::{mpsc, oneshot};

use super::queue::Queue;
use super::{Committed, Done, Item, Lease, Reply};

/// What one commit brought.
#[derive(Debug)]
pub struct Batch {
    /// The entries, in order; never empty.
    pub committed: Vec<Arc<Committed>>,
}

impl Batch {
    /// The number of its last entry.
    pub fn upto(&self) -> u64 {
        self.committed.last().map_or(0, |committed| committed.number)
    }
}

/// An answer that may leave now.
#[derive(Debug)]
pub(super) enum Answer {
    Reply(Reply, Result<Done>),
    Lease(oneshot::Sender<Result<Lease>>, Lease),
}

impl Answer {
    fn send(self, queue: &Queue) {
        match self {
            Self::Reply(reply, result) => reply.send(result),
            // An actor that went away meanwhile must not leave its lease behind.
            Self::Lease(sender, lease) => {
                if sender.send(Ok(lease)).is_err() {
                    queue.submit(Item::Release(lease));
                }
            }
        }
    }
}

/// What the writer hands on.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub batch: Option<Arc<Batch>>,
    pub answers: Vec<Answer>,
}

#[derive(Debug)]
struct Inner {
    published: u64,
    senders: Vec<mpsc::Sender<Arc<Batch>>>,
    /// Whether the publisher is done.
    has_ended: bool,
}

/// Who is told of every batch.
#[derive(Debug)]
pub(super) struct Listeners(Mutex<Inner>);

/// Every batch from a place in the order on, in order, without gaps.
#[derive(Debug)]
pub struct Listening {
    /// Batches begin with the entry after this one.
    pub after: u64,
    /// The batches. Whoever takes them must not wait for a client meanwhile: once the queue is
    /// full, the journal waits too.
    pub batches: mpsc::Receiver<Arc<Batch>>,
}

impl Listeners {
    pub fn new(published: u64) -> Self {
        Self(Mutex::new(Inner { published, senders: Vec::new(), has_ended: false }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn listen(&self, batches_max: usize) -> Listening {
        let (sender, batches) = mpsc::channel(batches_max);
        let mut inner = self.inner();
        if !inner.has_ended {
            inner.senders.push(sender);
        }
        Listening { after: inner.published, batches }
    }

    /// Ends the listening of all: nothing will come any more.
    fn end(&self) {
        let mut inner = self.inner();
        inner.has_ended = true;
        inner.senders.clear();
    }

    /// Whoever must be told of the batch that ends with `upto`.
    fn of(&self, upto: u64) -> Vec<mpsc::Sender<Arc<Batch>>> {
        let mut inner = self.inner();
        inner.published = upto;
        inner.senders.retain(|sender| !sender.is_closed());
        inner.senders.clone()
    }
}

/// The publisher; ends when the writer has.
pub struct Publisher {
    pub(super) inbox: mpsc::Receiver<Outgoing>,
    pub(super) listeners: Arc<Listeners>,
    pub(super) queue: Arc<Queue>,
}

impl Publisher {
    /// Publishes until the writer has ended.
    pub async fn run(mut self) {
        while self.step().await {}
        self.listeners.end();
    }

    /// Waits for one batch and publishes it; `false` if the writer has ended.
    pub async fn step(&mut self) -> bool {
        let Some(outgoing) = self.inbox.recv().await else {
            return false;
        };
        self.publish(outgoing).await;
        true
    }

    /// Publishes what is there already; for whoever drives the writer by hand.
    pub async fn drain(&mut self) {
        while let Ok(outgoing) = self.inbox.try_recv() {
            self.publish(outgoing).await;
        }
    }

    async fn publish(&self, outgoing: Outgoing) {
        for answer in outgoing.answers {
            answer.send(&self.queue);
        }
        let Some(batch) = outgoing.batch else { return };
        for sender in self.listeners.of(batch.upto()) {
            // One that has gone is left out the next time.
            drop(sender.send(Arc::clone(&batch)).await);
        }
    }
}
