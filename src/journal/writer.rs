//! The one writer: takes what is queued, commits it, moves the view, hands the answers on.

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::time::Millis;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::lease::Leases;
use super::log::LogWriter;
use super::options::{JournalOptions, RETRY_MS, STALL_MS};
use super::publisher::{CommittedBatch, OutgoingBatch, ReadyReply};
use super::queue::JournalQueue;
use super::view::Views;
use super::{Append, Committed, QueueItem, WriteOutcome};
use crate::clock::{Clock, Stopwatch};
use crate::metric;
use crate::storage::error::StoreError;
use crate::storage::free_space::FreeSpace;

/// How long the writer rests when the fold is behind.
const FULL_PAUSE: Duration = Duration::from_millis(2);

/// What a step did, and so what to wait for before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterStep {
    /// Something; more may be there.
    Worked,
    /// Nothing: the queue is empty.
    Idle,
    /// Nothing: the publisher is behind.
    Behind,
    /// Nothing: the fold is behind.
    Full,
    /// Nothing: the disk takes no writes, it is not time to try again yet.
    Down,
    /// Nothing, ever again.
    Done,
}

/// The metrics of operations.md §4, their handles taken once.
struct WriterMetrics {
    batch_size: metrics::Histogram,
    commit_seconds: metrics::Histogram,
    queue: metrics::Gauge,
}

/// The writer.
pub struct Writer {
    pub(super) queue: Arc<JournalQueue>,
    pub(super) log: LogWriter,
    pub(super) views: Arc<Views>,
    pub(super) free_space: FreeSpace,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: JournalOptions,
    pub(super) outbox: mpsc::Sender<OutgoingBatch>,
    state: WriterState,
}

/// What only the writer knows.
struct WriterState {
    leases: Leases,
    /// What the publisher had no room for.
    unsent: Option<OutgoingBatch>,
    /// When writing failed or was tried again last; `None` while the disk takes writes.
    down_since: Option<Millis>,
    /// Since when the fold has been behind; `None` while it is not.
    full_since: Option<Millis>,
    items: Vec<QueueItem>,
    /// Items that the last batch had.
    last_batch: usize,
    metrics: WriterMetrics,
}

impl Drop for Writer {
    /// However it ends, nobody is left waiting.
    fn drop(&mut self) {
        self.queue.end();
    }
}

/// A batch that is being put together.
#[derive(Default)]
struct PendingBatch {
    committed: Vec<Arc<Committed>>,
    answers: Vec<ReadyReply>,
}

impl Writer {
    pub(super) fn new(
        queue: Arc<JournalQueue>,
        log: LogWriter,
        views: Arc<Views>,
        free_space: FreeSpace,
        clock: Arc<dyn Clock>,
        options: JournalOptions,
        outbox: mpsc::Sender<OutgoingBatch>,
    ) -> Self {
        let metrics = WriterMetrics {
            batch_size: metrics::histogram!(metric::JOURNAL_BATCH_SIZE),
            commit_seconds: metrics::histogram!(metric::JOURNAL_COMMIT_SECONDS),
            queue: metrics::gauge!(metric::JOURNAL_QUEUE),
        };
        let state = WriterState {
            leases: Leases::default(),
            unsent: None,
            down_since: None,
            full_since: None,
            items: Vec::new(),
            last_batch: 0,
            metrics,
        };
        Self { queue, log, views, free_space, clock, options, outbox, state }
    }

    /// Works until the journal is closed and everything queued is answered; then closes the log
    /// in good order. For a thread of its own.
    pub fn run(mut self) {
        let delay = Duration::from_micros(self.options.batch_delay_us);
        let retry = Duration::from_millis(RETRY_MS);
        loop {
            match self.step() {
                WriterStep::Worked => self.linger(delay),
                WriterStep::Idle => self.queue.wait(None),
                WriterStep::Down => self.queue.wait(Some(retry)),
                WriterStep::Full => self.queue.wait_for_notification(FULL_PAUSE),
                WriterStep::Behind => {
                    let unsent = self.state.unsent.take();
                    if let Some(unsent) = unsent
                        && self.outbox.blocking_send(unsent).is_err()
                    {
                        break;
                    }
                }
                WriterStep::Done => break,
            }
        }
        self.finish();
    }

    /// Under load, waits a little for more: a commit costs about the same however much is in it.
    ///
    /// Whoever was answered just now comes again, if it is one of many in a closed loop: together
    /// with what is queued they are as many as can be waited for. Half of them make batches that
    /// grow with the load and leave the other half under way; one that comes alone waits for
    /// nobody.
    fn linger(&self, delay: Duration) {
        let expected = usize::midpoint(self.queue.len(), self.state.last_batch);
        if expected > 1 && !delay.is_zero() {
            self.queue.wait_for(expected, Some(delay));
        }
    }

    /// Ends the writer and closes the log in good order.
    pub fn finish(mut self) {
        self.queue.end();
        if let Err(error) = self.log.close() {
            tracing::warn!(%error, "the log did not close in order");
        }
        self.views.close();
    }

    /// Does one thing without ever waiting for anything but the disk.
    pub fn step(&mut self) -> WriterStep {
        self.step_of(self.options.batch_entries_max as usize)
    }

    /// The same, committing `entries_max` of what is queued at most.
    pub fn step_of(&mut self, entries_max: usize) -> WriterStep {
        if let Some(unsent) = self.state.unsent.take()
            && !self.hand_over(unsent)
        {
            return WriterStep::Behind;
        }
        if let Some(since) = self.state.down_since
            && self.clock.now().0.abs_diff(since.0) >= RETRY_MS
        {
            self.retry();
            return WriterStep::Worked;
        }
        if self.is_full() {
            return WriterStep::Full;
        }
        let mut items = std::mem::take(&mut self.state.items);
        self.queue.take(entries_max, &mut items);
        if items.is_empty() {
            self.state.items = items;
            return match (self.queue.is_done(), self.state.down_since) {
                (true, _) => WriterStep::Done,
                (false, Some(_)) => WriterStep::Down,
                (false, None) => WriterStep::Idle,
            };
        }
        self.state.last_batch = items.len();
        let mut batch = PendingBatch::default();
        for item in items.drain(..) {
            self.add_to_batch(item, &mut batch);
        }
        self.state.items = items;
        self.commit(batch);
        WriterStep::Worked
    }

    /// Whether to wait for the fold. If it does not come forward, the disk of the archive takes no
    /// writes, and then the store does not.
    fn is_full(&mut self) -> bool {
        let full = self.views.is_full();
        self.queue.set_full(full);
        if !full {
            self.state.full_since = None;
            return false;
        }
        if self.state.down_since.is_some() {
            // No append is queued then: whoever waits is answered.
            return false;
        }
        let now = self.clock.now();
        let since = *self.state.full_since.get_or_insert(now);
        if now.0.abs_diff(since.0) > STALL_MS {
            tracing::error!("folding into the archive does not come forward");
            self.fail(Vec::new());
        }
        true
    }

    /// Puts `item` where it belongs in the batch.
    fn add_to_batch(&mut self, item: QueueItem, batch: &mut PendingBatch) {
        match item {
            QueueItem::Append(number, append) => {
                let append = *append;
                if self.holds_lease(&append) {
                    let Append { entry, summary, claims, reply, .. } = append;
                    let committed = Arc::new(Committed { number, entry, summary, claims });
                    batch.committed.push(Arc::clone(&committed));
                    batch
                        .answers
                        .push(ReadyReply::Reply(reply, Ok(WriteOutcome::Committed(committed))));
                } else {
                    tracing::info!(number, "an append under a stale lease was refused");
                    batch
                        .answers
                        .push(ReadyReply::Reply(append.reply, Err(Refusal::store_unavailable())));
                }
            }
            QueueItem::Barrier { generation, lease, outcome, reply } => {
                let stale = generation != self.queue.generation()
                    || lease.is_some_and(|lease| !self.state.leases.holds(lease));
                let outcome = if stale { Err(Refusal::store_unavailable()) } else { outcome };
                batch.answers.push(ReadyReply::Reply(reply, outcome));
            }
            QueueItem::Acquire { thread, reply } => {
                let lease = self.state.leases.acquire(thread);
                batch.answers.push(ReadyReply::Lease(reply, lease));
            }
            QueueItem::Release(lease) => self.state.leases.release(lease),
        }
    }

    /// Whether the lease of `append` still holds.
    fn holds_lease(&mut self, append: &Append) -> bool {
        match (append.lease, append.entry.act()) {
            (None, _) => true,
            (Some(lease), Some(act)) => {
                lease.thread == act.thread && self.state.leases.admit(lease, act.seq)
            }
            (Some(lease), None) => self.state.leases.holds(lease),
        }
    }

    fn commit(&mut self, batch: PendingBatch) {
        let PendingBatch { committed, answers } = batch;
        let mut batch = None;
        if !committed.is_empty() {
            if let Err(error) = self.write(&committed) {
                tracing::error!(%error, entries = committed.len(), "a commit failed");
                self.fail(answers);
                return;
            }
            self.views.push(&committed);
            self.log.log().show(self.log.last());
            batch = Some(Arc::new(CommittedBatch { committed }));
        }
        self.hand_over(OutgoingBatch { batch, answers });
        self.drop_segments();
    }

    fn write(&mut self, committed: &[Arc<Committed>]) -> Result<(), StoreError> {
        self.free_space.check()?;
        let stopwatch = Stopwatch::start();
        self.queue.set_committing(true);
        let written = self.log.append(committed);
        self.queue.set_committing(false);
        let metrics = &self.state.metrics;
        metrics.commit_seconds.record(stopwatch.seconds());
        metrics.batch_size.record(committed.len() as f64);
        metrics.queue.set(self.queue.len() as f64);
        written
    }

    /// After a failed commit: what was in it and what is queued may depend on what is not stored.
    /// All of it is refused, all leases are void, and a new generation begins.
    fn fail(&mut self, failed: Vec<ReadyReply>) {
        let mut items = std::mem::take(&mut self.state.items);
        self.queue.fail(&mut items);
        self.state.leases.void();
        self.state.down_since = Some(self.clock.now());
        let mut answers: Vec<_> = failed
            .into_iter()
            .map(|answer| match answer {
                ReadyReply::Reply(reply, _) => {
                    ReadyReply::Reply(reply, Err(Refusal::store_uncertain()))
                }
                ReadyReply::Lease(sender, lease) => {
                    ReadyReply::Lease(sender, self.state.leases.acquire(lease.thread))
                }
            })
            .collect();
        for item in items.drain(..) {
            match item {
                QueueItem::Append(_, append) => {
                    answers
                        .push(ReadyReply::Reply(append.reply, Err(Refusal::store_unavailable())));
                }
                QueueItem::Barrier { reply, .. } => {
                    answers.push(ReadyReply::Reply(reply, Err(Refusal::store_unavailable())));
                }
                QueueItem::Acquire { thread, reply } => {
                    answers.push(ReadyReply::Lease(reply, self.state.leases.acquire(thread)));
                }
                QueueItem::Release(_) => {}
            }
        }
        self.state.items = items;
        self.hand_over(OutgoingBatch { batch: None, answers });
    }

    /// Tries whether the disk takes writes again.
    fn retry(&mut self) {
        if self.views.is_full() {
            self.state.down_since = Some(self.clock.now());
            return;
        }
        let tried = self.free_space.check().and_then(|()| {
            self.queue.set_committing(true);
            let ready = self.log.make_ready(self.views.durable_upto());
            self.queue.set_committing(false);
            ready
        });
        match tried {
            Ok(()) => {
                self.state.down_since = None;
                self.queue.resume();
                tracing::info!("the store takes writes again");
            }
            Err(error) => {
                self.state.down_since = Some(self.clock.now());
                tracing::debug!(%error, "the store still takes no writes");
            }
        }
    }

    /// After a rotation, drops what no replay reaches any more.
    fn drop_segments(&mut self) {
        if !self.log.has_rotated() {
            return;
        }
        let durable_upto = self.views.durable_upto();
        let dropped = self.log.log().drop_archived(durable_upto, self.options.replay_max);
        if let Err(error) = dropped {
            tracing::warn!(%error, "an old segment could not be dropped");
        }
    }

    /// Gives `outgoing` to the publisher; `false` if that has no room for it now.
    fn hand_over(&mut self, outgoing: OutgoingBatch) -> bool {
        match self.outbox.try_send(outgoing) {
            Ok(()) | Err(TrySendError::Closed(_)) => true,
            Err(TrySendError::Full(outgoing)) => {
                self.state.unsent = Some(outgoing);
                false
            }
        }
    }
}
