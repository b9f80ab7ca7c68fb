//! The one writer: commits queued entries in groups, updates the view, passes answers to the
//! publisher.

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::refusal::Refusal;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::batches::CommittedBatch;
use super::lease::Leases;
use super::log::LogWriter;
use super::options::{JournalOptions, RETRY_MS, STALL_MS};
use super::publisher::{OutgoingBatch, ReadyReply};
use super::queue::JournalQueue;
use super::view::Views;
use super::{Append, Committed, QueueItem, ReplyPort, WriteOutcome};
use crate::clock::{Clock, Moment, Stopwatch};
use crate::metric;
use crate::storage::error::StoreResult;
use crate::storage::free_space::FreeSpace;

/// How long the writer waits while the tail is full.
const FULL_PAUSE: Duration = Duration::from_millis(2);

/// The result of a step: what to wait for before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterStep {
    /// It did something; there may be more.
    Worked,
    /// Nothing done: the queue is empty.
    Idle,
    /// Nothing done: the queue of the publisher is full.
    Behind,
    /// Nothing done: the tail is full.
    Full,
    /// Nothing done: the disk refuses writes, and the next attempt is not due yet.
    Down,
    /// The queue is closed and empty: the writer is to be finished.
    Done,
}

/// Handles of the metrics of operations.md §4.
struct WriterMetrics {
    batch_size: metrics::Histogram,
    commit_seconds: metrics::Histogram,
    queue: metrics::Gauge,
}

/// Commits the queue: [`Writer::run`] on a thread of its own, or [`Writer::step`] repeatedly and
/// [`Writer::finish`] at the end.
///
/// For each batch, in this order: the log is synced, the view updated, the batch passed to the
/// publisher. An entry whose sync fails is in no view and no answer; then the generation rises, all
/// leases are void, and everything queued is refused. The writer retries until the disk accepts
/// writes, and goes on with the next number.
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

/// The state of the writer between steps.
struct WriterState {
    leases: Leases,
    /// The batch that did not fit into the queue of the publisher.
    unsent: Option<OutgoingBatch>,
    /// When writing failed or was retried last; `None` while the disk accepts writes.
    down_since: Option<Moment>,
    /// Since when the tail has been full; `None` while it is not.
    full_since: Option<Moment>,
    items: Vec<QueueItem>,
    /// Items of the last batch.
    last_batch: usize,
    metrics: WriterMetrics,
}

impl Drop for Writer {
    /// Refuses the callers that still wait and ends the archiver, also after a panic.
    fn drop(&mut self) {
        self.queue.end();
        self.views.close();
    }
}

/// The refusal of an item that depends on what is not stored.
fn refused(reply: ReplyPort) -> ReadyReply {
    ReadyReply::Reply(reply, Err(Refusal::store_unavailable()))
}

/// A batch before its commit.
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
        // Without room at the start it begins as after a failure.
        let down_since = (!log.is_ready()).then(|| clock.moment());
        if down_since.is_some() {
            queue.fail(&mut Vec::new());
        }
        let state = WriterState {
            leases: Leases::default(),
            unsent: None,
            down_since,
            full_since: None,
            items: Vec::new(),
            last_batch: 0,
            metrics,
        };
        Self { queue, log, views, free_space, clock, options, outbox, state }
    }

    /// Runs until the journal is closed and every queued item is answered; then closes the log in
    /// good order. Blocks: for a thread of its own.
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

    /// Under load, waits at most `delay` for more items: the cost of a commit depends little on its
    /// size.
    ///
    /// Callers in a closed loop send again once they are answered: the items of the last batch and
    /// those queued are as many as can be expected. Waiting for half of them makes batches that
    /// grow with the load; a single caller does not wait.
    fn linger(&self, delay: Duration) {
        let expected = usize::midpoint(self.queue.len(), self.state.last_batch);
        if expected > 1 && !delay.is_zero() {
            self.queue.wait_for(expected, Some(delay));
        }
    }

    /// Refuses what is still queued and closes the log in good order.
    pub fn finish(mut self) {
        self.queue.end();
        if let Err(error) = self.log.close() {
            tracing::warn!(%error, "the log did not close in order");
        }
    }

    /// Does one piece of work; waits for nothing but the disk.
    pub fn step(&mut self) -> WriterStep {
        self.step_of(self.options.batch_entries_max as usize)
    }

    /// As [`Writer::step`], with at most `entries_max` items in a commit.
    pub fn step_of(&mut self, entries_max: usize) -> WriterStep {
        if let Some(unsent) = self.state.unsent.take()
            && !self.hand_over(unsent)
        {
            return WriterStep::Behind;
        }
        if let Some(since) = self.state.down_since
            && self.clock.moment().since(since) >= RETRY_MS
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

    /// Whether the tail is full, so that the archiver is to be waited for. If it makes no progress
    /// for [`STALL_MS`], the disk of the archive refuses writes, and then the store does too.
    fn is_full(&mut self) -> bool {
        let full = self.views.is_full();
        self.queue.set_full(full);
        if !full {
            self.state.full_since = None;
            return false;
        }
        if self.state.down_since.is_some() {
            // No append is queued then, and other items are answered.
            return false;
        }
        let now = self.clock.moment();
        let since = *self.state.full_since.get_or_insert(now);
        if now.since(since) > STALL_MS {
            tracing::error!("archiving makes no progress");
            self.fail(Vec::new());
        }
        true
    }

    /// Adds `item` to the batch: its entry if it has one, and its answer.
    fn add_to_batch(&mut self, item: QueueItem, batch: &mut PendingBatch) {
        match item {
            QueueItem::Append(number, append) => {
                let append = *append;
                if self.holds_lease(&append) {
                    let Append { entry, summary, claims, reply, .. } = append;
                    let committed = Arc::new(Committed { number, entry, summary, claims });
                    batch.committed.push(Arc::clone(&committed));
                    let outcome = Ok(WriteOutcome::Committed(committed));
                    batch.answers.push(ReadyReply::Reply(reply, outcome));
                } else {
                    tracing::info!(number, "an append under a stale lease was refused");
                    batch.answers.push(refused(append.reply));
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

    /// Whether `append` needs no lease, or its lease is valid and its act the next one.
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

    fn write(&mut self, committed: &[Arc<Committed>]) -> StoreResult<()> {
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

    /// After a failed commit: its entries and the queued items may depend on entries that are not
    /// stored. All are refused, all leases are void, and a new generation begins.
    fn fail(&mut self, failed: Vec<ReadyReply>) {
        let mut items = std::mem::take(&mut self.state.items);
        self.queue.fail(&mut items);
        self.state.leases.void();
        self.state.down_since = Some(self.clock.moment());
        let leases = &mut self.state.leases;
        let failed = failed.into_iter().map(|answer| match answer {
            ReadyReply::Reply(reply, _) => {
                ReadyReply::Reply(reply, Err(Refusal::store_uncertain()))
            }
            ReadyReply::Lease(sender, lease) => {
                ReadyReply::Lease(sender, leases.acquire(lease.thread))
            }
        });
        let mut answers: Vec<_> = failed.collect();
        answers.extend(items.drain(..).filter_map(|item| match item {
            QueueItem::Append(_, append) => Some(refused(append.reply)),
            QueueItem::Barrier { reply, .. } => Some(refused(reply)),
            QueueItem::Acquire { thread, reply } => {
                Some(ReadyReply::Lease(reply, leases.acquire(thread)))
            }
            QueueItem::Release(_) => None,
        }));
        self.state.items = items;
        self.hand_over(OutgoingBatch { batch: None, answers });
    }

    /// Tries whether the disk accepts writes again.
    fn retry(&mut self) {
        if self.views.is_full() {
            self.state.down_since = Some(self.clock.moment());
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
                self.state.down_since = Some(self.clock.moment());
                tracing::debug!(%error, "the store still takes no writes");
            }
        }
    }

    /// After a rotation, drops segments beyond the reach of a replay.
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

    /// Passes `outgoing` to the publisher; keeps it and returns `false` if its queue is full.
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
