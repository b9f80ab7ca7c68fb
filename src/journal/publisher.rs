//! The task after the writer: sends answers in the order of the queue, then the committed batch to
//! its listeners. It runs on the callers' runtime, so that waking them crosses no thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::refusal::Result;
use tokio::sync::{mpsc, oneshot};

use super::queue::JournalQueue;
use super::{Committed, Lease, QueueItem, ReplyPort, WriteOutcome};

/// The entries of one commit.
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

/// An answer whose entries are on the disk.
#[derive(Debug)]
pub(super) enum ReadyReply {
    Reply(ReplyPort, Result<WriteOutcome>),
    Lease(oneshot::Sender<Result<Lease>>, Lease),
}

impl ReadyReply {
    fn send(self, queue: &JournalQueue) {
        match self {
            Self::Reply(reply, result) => reply.send(result),
            // An actor that has gone must not keep its lease.
            Self::Lease(sender, lease) => {
                if sender.send(Ok(lease)).is_err() {
                    queue.submit(QueueItem::Release(lease));
                }
            }
        }
    }
}

/// What the writer passes to the publisher at once.
#[derive(Debug)]
pub(super) struct OutgoingBatch {
    pub batch: Option<Arc<CommittedBatch>>,
    pub answers: Vec<ReadyReply>,
}

#[derive(Debug)]
struct BatchListenersState {
    published: u64,
    senders: Vec<mpsc::Sender<Arc<CommittedBatch>>>,
    /// Whether the publisher has ended.
    has_ended: bool,
}

/// The listeners of committed batches.
#[derive(Debug)]
pub(super) struct BatchListeners(Mutex<BatchListenersState>);

/// Every batch from a number on, in order, without gaps.
#[derive(Debug)]
pub struct BatchStream {
    /// The first batch begins with the entry after this one.
    pub after: u64,
    /// The batches. Their receiver must not wait for a client: once the queue is full, the journal
    /// waits too.
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

    /// Ends all streams, the future ones too.
    fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.senders.clear();
    }

    /// The listeners of the batch that ends with `upto`.
    fn senders_after(&self, upto: u64) -> Vec<mpsc::Sender<Arc<CommittedBatch>>> {
        let mut state = self.state();
        state.published = upto;
        state.senders.retain(|sender| !sender.is_closed());
        state.senders.clone()
    }
}

/// Publishes what the writer passes on; ends after the writer.
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

    /// Publishes the batches that are queued; for tests that step the writer.
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
            // A listener that has gone is removed with the next batch.
            drop(sender.send(Arc::clone(&batch)).await);
        }
    }
}
