//! The one task after the writer: replies go out in the order of the queue, then whoever listens
//! is told. It runs on the callers' runtime, so that waking them costs no foreign thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::refusal::Result;
use tokio::sync::{mpsc, oneshot};

use super::queue::JournalQueue;
use super::{Committed, Lease, QueueItem, ReplyPort, WriteOutcome};

/// What one commit brought.
#[derive(Debug)]
pub struct CommittedBatch {
    /// The entries, in order; never empty.
    pub committed: Vec<Arc<Committed>>,
}

impl CommittedBatch {
    /// The number of its last entry.
    pub fn upto(&self) -> u64 {
        self.committed.last().map_or(0, |committed| committed.number)
    }
}

/// An answer that may leave now.
#[derive(Debug)]
pub(super) enum ReadyReply {
    Reply(ReplyPort, Result<WriteOutcome>),
    Lease(oneshot::Sender<Result<Lease>>, Lease),
}

impl ReadyReply {
    fn send(self, queue: &JournalQueue) {
        match self {
            Self::Reply(reply, result) => reply.send(result),
            // An actor that went away meanwhile must not leave its lease behind.
            Self::Lease(sender, lease) => {
                if sender.send(Ok(lease)).is_err() {
                    queue.submit(QueueItem::Release(lease));
                }
            }
        }
    }
}

/// What the writer hands on.
#[derive(Debug)]
pub(super) struct OutgoingBatch {
    pub batch: Option<Arc<CommittedBatch>>,
    pub answers: Vec<ReadyReply>,
}

#[derive(Debug)]
struct BatchListenersState {
    published: u64,
    senders: Vec<mpsc::Sender<Arc<CommittedBatch>>>,
    /// Whether the publisher is done.
    has_ended: bool,
}

/// Who is told of every batch.
#[derive(Debug)]
pub(super) struct BatchListeners(Mutex<BatchListenersState>);

/// Every batch from a place in the order on, in order, without gaps.
#[derive(Debug)]
pub struct BatchStream {
    /// Batches begin with the entry after this one.
    pub after: u64,
    /// The batches. Whoever takes them must not wait for a client meanwhile: once the queue is
    /// full, the journal waits too.
    pub batches: mpsc::Receiver<Arc<CommittedBatch>>,
}

impl BatchListeners {
    pub fn new(published: u64) -> Self {
        Self(Mutex::new(BatchListenersState { published, senders: Vec::new(), has_ended: false }))
    }

    fn state(&self) -> MutexGuard<'_, BatchListenersState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn listen(&self, batches_max: usize) -> BatchStream {
        let (sender, batches) = mpsc::channel(batches_max);
        let mut state = self.state();
        if !state.has_ended {
            state.senders.push(sender);
        }
        BatchStream { after: state.published, batches }
    }

    /// Ends the listening of all: nothing will come any more.
    fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.senders.clear();
    }

    /// Whoever must be told of the batch that ends with `upto`.
    fn senders_after(&self, upto: u64) -> Vec<mpsc::Sender<Arc<CommittedBatch>>> {
        let mut state = self.state();
        state.published = upto;
        state.senders.retain(|sender| !sender.is_closed());
        state.senders.clone()
    }
}

/// The publisher; ends when the writer has.
pub struct Publisher {
    pub(super) inbox: mpsc::Receiver<OutgoingBatch>,
    pub(super) listeners: Arc<BatchListeners>,
    pub(super) queue: Arc<JournalQueue>,
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

    async fn publish(&self, outgoing: OutgoingBatch) {
        for answer in outgoing.answers {
            answer.send(&self.queue);
        }
        let Some(batch) = outgoing.batch else { return };
        for sender in self.listeners.senders_after(batch.upto()) {
            // One that has gone is left out the next time.
            drop(sender.send(Arc::clone(&batch)).await);
        }
    }
}
