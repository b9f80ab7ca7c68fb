//! The only door to durable state: one writer, one order, group commit.
//!
//! Data goes one way: [`Journal::append`] gives an act a place in the queue and in the one order;
//! the writer commits what is queued in one transaction; after the sync the view is moved, then
//! replies go out and the hub is told, in that order.

pub mod archive;
pub mod archiver;
pub mod cursor;
mod lease;
pub mod log;
mod numbers;
pub mod options;
mod publisher;
mod queue;
pub mod recovery;
mod tail;
pub mod view;
mod writer;

use std::sync::Arc;

use parley_protocol::claim::Claim;
use parley_protocol::entry::{Entry, Position};
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

pub use numbers::JournalNumbers;
pub use publisher::{BatchStream, CommittedBatch, Publisher};
pub use queue::AppendRefused;
pub use recovery::OpenedJournal;
pub use writer::{Writer, WriterStep};

/// An entry that is on disk, with what it made of its thread.
#[derive(Debug)]
pub struct Committed {
    /// Its number in the one order, from 1.
    pub number: u64,
    /// What happened.
    pub entry: Entry,
    /// The summary of the thread after it, stamped; `None` if the entry is no act.
    pub summary: Option<Arc<ThreadSummary>>,
    /// The claims that it changed, as they stand after it, in the order of `Act::claims`.
    pub claims: Vec<Arc<Claim>>,
}

/// What a reply brings once everything it depends on is on disk.
#[derive(Clone, Debug)]
pub enum WriteOutcome {
    /// The entry of this very call.
    Committed(Arc<Committed>),
    /// Nothing had to change: the summary that the answer shows.
    Unchanged(Arc<ThreadSummary>),
}

/// Where an answer goes. The permits of the call travel in it: they are free again when the call
/// has its answer, not when its caller goes away.
#[derive(Debug)]
pub struct ReplyPort {
    /// The waiting call; a caller that has gone away is no error.
    pub sender: oneshot::Sender<Result<WriteOutcome>>,
    /// The permits taken at the door.
    pub permit: Option<OwnedSemaphorePermit>,
}

/// The right to append to one thread: held by one actor at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Given by [`QueueItem::Acquire`]; a later one makes it stale.
    pub epoch: u64,
}

/// An append.
#[derive(Debug)]
pub struct Append {
    /// The lease under which the act comes; its `seq` must be the next one of the thread. An
    /// outcome that an actor computed carries its lease too. `None` for an opening and for what
    /// belongs to no thread.
    pub lease: Option<Lease>,
    /// What happened.
    pub entry: Entry,
    /// The summary after it, stamped with the number that the append was given.
    pub summary: Option<Arc<ThreadSummary>>,
    /// The claims changed, as they stand after it.
    pub claims: Vec<Arc<Claim>>,
    /// Where the answer goes.
    pub reply: ReplyPort,
}

/// What stands in the journal's queue beside appends.
#[derive(Debug)]
pub enum QueueItem {
    /// An act, an artifact or a remembered outcome to be stored, and its number.
    Append(u64, Box<Append>),
    /// An answer that depends on entries of this generation that are still in flight: it leaves
    /// after their commit, or becomes 503 `storage_unavailable` if that fails.
    Barrier {
        /// [`Journal::generation`] when the answer was computed.
        generation: u64,
        /// The lease of the actor that computed it: if it is stale, so is the answer.
        lease: Option<Lease>,
        /// The answer.
        outcome: Result<WriteOutcome>,
        /// Where it goes.
        reply: ReplyPort,
    },
    /// Takes the lease of a thread; answered once every append before it is committed.
    Acquire {
        /// The thread.
        thread: ThreadId,
        /// The lease.
        reply: oneshot::Sender<Result<Lease>>,
    },
    /// Gives a lease back, if it is still the last one given.
    Release(Lease),
}

/// The door. Whoever holds it may append and read; one writer does the rest.
pub struct Journal {
    queue: Arc<queue::JournalQueue>,
    counters: numbers::Counters,
    views: Arc<view::Views>,
    log: Arc<log::Log>,
    listeners: Arc<publisher::BatchListeners>,
    cursors: cursor::Cursors,
}

impl Journal {
    /// Places an append in the one order. `make` is given its number, under the queue's lock: it
    /// must not wait, and not come back here.
    ///
    /// # Errors
    /// [`AppendRefused`] if it is in no queue; its caller has the refusal already (503
    /// `storage_unavailable`, `overloaded` or `shutting_down`). An actor that has applied the act
    /// must drop its state then; [`Journal::refuses`] asked before `admit` spares it that.
    pub fn append(&self, make: impl FnOnce(u64) -> Append) -> Result<u64, AppendRefused> {
        self.queue.append(make)
    }

    /// The same for an opening, which is given the number of its thread too: threads are numbered
    /// in the order of their places.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn open_thread(
        &self,
        make: impl FnOnce(u64, ThreadId) -> Append,
    ) -> Result<(u64, ThreadId), AppendRefused> {
        self.queue.open_thread(make)
    }

    /// Why an append would be refused now; `None` if it would be taken.
    pub fn refuses(&self) -> Option<Refusal> {
        self.queue.refuses()
    }

    /// Lets an answer leave once everything queued before it is committed; it becomes 503
    /// `storage_unavailable` if that fails, or if `generation` or `lease` is stale.
    pub fn barrier(
        &self,
        lease: Option<Lease>,
        generation: u64,
        outcome: Result<WriteOutcome>,
        reply: ReplyPort,
    ) {
        self.queue.submit(QueueItem::Barrier { generation, lease, outcome, reply });
    }

    /// Takes the lease of a thread. It comes once everything queued before is committed and in
    /// the view; every earlier lease of the thread is stale then. It is refused with 503
    /// `overloaded` or `shutting_down`, not because the disk fails: reading goes on.
    pub fn acquire(&self, thread: ThreadId) -> oneshot::Receiver<Result<Lease>> {
        let (reply, receiver) = oneshot::channel();
        self.queue.submit(QueueItem::Acquire { thread, reply });
        receiver
    }

    /// Gives a lease back.
    pub fn release(&self, lease: Lease) {
        self.queue.submit(QueueItem::Release(lease));
    }

    /// How often the store has failed, from 1. State read or computed under an older one may hold
    /// what was never stored and must be dropped.
    pub fn generation(&self) -> u64 {
        self.queue.generation()
    }

    /// Whether the store takes writes (operations.md §4, `/readyz`).
    pub fn is_writable(&self) -> bool {
        self.queue.is_writable()
    }

    /// Where new messages, events and claims take their numbers from.
    pub fn numbers(&self) -> JournalNumbers<'_> {
        JournalNumbers(&self.counters)
    }

    /// What is committed, as one consistent and unchanging view.
    pub fn view(&self) -> view::View {
        self.views.view()
    }

    /// The number of the last entry that is committed and in the view.
    pub fn committed(&self) -> u64 {
        self.log.shown()
    }

    /// Makes and reads cursors.
    pub fn cursors(&self) -> &cursor::Cursors {
        &self.cursors
    }

    /// Offers a thread that goes to sleep, all its acts committed, to be stored as it is.
    pub fn offer_snapshot(&self, thread: Thread) {
        self.views.offer_snapshot(thread);
    }

    /// The place after everything that is in the view.
    pub fn position(&self) -> Position {
        Position::after(self.committed())
    }

    /// The log, for replays.
    pub fn log(&self) -> &Arc<log::Log> {
        &self.log
    }

    /// Every batch from now on, in order, without gaps; `batches_max` may wait for the listener.
    pub fn listen(&self, batches_max: usize) -> BatchStream {
        self.listeners.listen(batches_max)
    }

    /// Lets no append in any more (503 `shutting_down`). The writer ends once everything queued
    /// is answered, the publisher after it.
    pub fn close(&self) {
        self.queue.close();
    }
}
