//! The task after the writer: sends answers in the order of the queue, then the committed batch to
//! its listeners. It runs on the callers' runtime, so that waking them crosses no thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::refusal::Result;
use tokio::sync::{mpsc, oneshot};

use super::batches::{BatchSender, BatchStream, CommittedBatch, batch_queue};
use super::queue::JournalQueue;
use super::{Lease, QueueItem, ReplyPort, WriteOutcome};

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
    senders: Vec<BatchSender>,
    /// Whether the publisher has ended.
    has_ended: bool,
}

/// The listeners of committed batches.
#[derive(Debug)]
pub(super) struct BatchListeners(Mutex<BatchListenersState>);

impl BatchListeners {
    pub fn new(published: u64) -> Self {
        Self(Mutex::new(BatchListenersState { published, senders: Vec::new(), has_ended: false }))
    }

    fn state(&self) -> MutexGuard<'_, BatchListenersState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn listen(&self, batches_max: usize) -> BatchStream {
        let mut state = self.state();
        let (sender, stream) = batch_queue(state.published, batches_max);
        if !state.has_ended {
            state.senders.push(sender);
        }
        stream
    }

    /// Ends all streams, the future ones too.
    fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.senders.clear();
    }

    fn send(&self, batch: &Arc<CommittedBatch>) {
        let mut state = self.state();
        state.published = batch.upto();
        state.senders.retain(|sender| !sender.is_closed());
        for sender in &state.senders {
            sender.send(batch);
        }
    }
}

/// Publishes what the writer passes on; ends after the writer.
pub struct Publisher {
    pub(super) inbox: mpsc::Receiver<OutgoingBatch>,
    pub(super) listeners: Arc<BatchListeners>,
    pub(super) queue: Arc<JournalQueue>,
}

impl Drop for Publisher {
    /// Ends all streams, also after a panic.
    fn drop(&mut self) {
        self.listeners.end();
    }
}

impl Publisher {
    /// Publishes until the writer has ended.
    pub async fn run(mut self) {
        while self.step().await {}
    }

    /// Waits for one batch and publishes it; `false` if the writer has ended.
    pub async fn step(&mut self) -> bool {
        let Some(outgoing) = self.inbox.recv().await else {
            return false;
        };
        self.publish(outgoing);
        true
    }

    /// Publishes the batches that are queued; for tests that step the writer.
    pub fn drain(&mut self) {
        while let Ok(outgoing) = self.inbox.try_recv() {
            self.publish(outgoing);
        }
    }

    /// Sends the answers, then the batch. It waits for nobody.
    fn publish(&self, outgoing: OutgoingBatch) {
        for answer in outgoing.answers {
            answer.send(&self.queue);
        }
        if let Some(batch) = outgoing.batch {
            self.listeners.send(&batch);
        }
    }
}
