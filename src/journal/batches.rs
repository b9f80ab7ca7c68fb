//! The queue of committed batches before one of their listeners. The publisher never waits for it:
//! a listener that is too slow loses the batches and is told so, and finds their entries in the
//! log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Committed;

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

/// What a listener receives.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// The next batch.
    Batch(Arc<CommittedBatch>),
    /// The entries up to the one with this number were not received in time: they are in the log.
    Missed(u64),
}

#[derive(Debug, Default)]
struct BatchQueueState {
    batches: VecDeque<Arc<CommittedBatch>>,
    /// The last entry before `batches` that found no room.
    missed_upto: Option<u64>,
    has_ended: bool,
}

#[derive(Debug)]
struct BatchQueue {
    state: Mutex<BatchQueueState>,
    changed: Notify,
    batches_max: usize,
}

impl BatchQueue {
    fn state(&self) -> MutexGuard<'_, BatchQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The publisher's end of the queue; dropping it ends the stream.
#[derive(Debug)]
pub(super) struct BatchSender(Arc<BatchQueue>);

impl BatchSender {
    /// Queues `batch`. If the queue is full, it is emptied instead, and all of it is missed.
    pub fn send(&self, batch: &Arc<CommittedBatch>) {
        {
            let mut state = self.0.state();
            if state.batches.len() >= self.0.batches_max {
                state.batches.clear();
                state.missed_upto = Some(batch.upto());
            } else {
                state.batches.push_back(Arc::clone(batch));
            }
        }
        self.0.changed.notify_one();
    }

    /// Whether its listener has gone.
    pub fn is_closed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        self.0.state().has_ended = true;
        self.0.changed.notify_one();
    }
}

/// Every batch from a number on, in order, and where some were missed.
#[derive(Debug)]
pub struct BatchStream {
    /// The first batch begins with the entry after this one.
    pub after: u64,
    queue: Arc<BatchQueue>,
}

/// A queue that holds `batches_max`, of batches after the entry `after`.
pub(super) fn batch_queue(after: u64, batches_max: usize) -> (BatchSender, BatchStream) {
    let queue = Arc::new(BatchQueue {
        state: Mutex::default(),
        changed: Notify::new(),
        batches_max: batches_max.max(1),
    });
    (BatchSender(Arc::clone(&queue)), BatchStream { after, queue })
}

impl BatchStream {
    /// Waits for the next batch; `None` once the journal has ended. Loses none if it is dropped.
    pub async fn next(&mut self) -> Option<StreamItem> {
        loop {
            let (next, has_ended) = self.look();
            if next.is_some() || has_ended {
                return next;
            }
            self.queue.changed.notified().await;
        }
    }

    /// The next batch, if there is one now.
    pub fn try_next(&mut self) -> Option<StreamItem> {
        self.look().0
    }

    fn look(&self) -> (Option<StreamItem>, bool) {
        let mut state = self.queue.state();
        let missed = state.missed_upto.take().map(StreamItem::Missed);
        let next = missed.or_else(|| state.batches.pop_front().map(StreamItem::Batch));
        (next, state.has_ended)
    }
}
