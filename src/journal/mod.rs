//! The journal: the one interface to durable state but the tokens; one writer, one order, group
//! commit.
//!
//! Data flows one way: [`Journal::append`] assigns an act its number and queues it; the writer
//! commits the queue in one transaction; after the sync the view is updated, then answers are sent,
//! then the batch is published, in that order.

pub mod archive;
pub mod archiver;
mod batches;
pub mod cursor;
mod lease;
pub mod log;
mod numbers;
pub mod options;
mod publisher;
mod queue;
pub mod recovery;
mod replay;
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

pub use batches::{BatchStream, CommittedBatch, StreamItem};
pub use numbers::JournalNumbers;
pub use publisher::Publisher;
pub use queue::AppendRefused;
pub use recovery::OpenedJournal;
pub use writer::{Writer, WriterStep};

/// An entry that is on the disk, with the state of its thread after it.
#[derive(Debug)]
pub struct Committed {
    /// Its number in the one order, from 1.
    pub number: u64,
    /// The entry.
    pub entry: Entry,
    /// The summary of the thread after it, stamped; `None` if the entry is no act.
    pub summary: Option<Arc<ThreadSummary>>,
    /// The claims that it changed, in their state after it, in the order of `Act::claims`.
    pub claims: Vec<Arc<Claim>>,
}

impl Committed {
    /// Bytes that it keeps in memory, about: its encoded length and that of the claims, which it
    /// may be the last to keep.
    pub fn weight(&self) -> u64 {
        weight(&self.entry, &self.claims)
    }
}

/// Bytes that an entry keeps in memory with the claims that it changed, about.
fn weight(entry: &Entry, claims: &[Arc<Claim>]) -> u64 {
    /// An entry, its summary, and their places in maps.
    const ENTRY: usize = 1_200;
    /// A claim beside its texts.
    const CLAIM: usize = 400;
    let claims: usize = claims.iter().map(|claim| CLAIM + claim.weight()).sum();
    (ENTRY + entry.weight() + claims) as u64
}

/// The result of a write, sent once every entry that it depends on is on the disk.
#[derive(Clone, Debug)]
pub enum WriteOutcome {
    /// The entry of this call.
    Committed(Arc<Committed>),
    /// No change was needed: the current summary.
    Unchanged(Arc<ThreadSummary>),
}

/// The way of an answer to its caller. It carries the permits of the call, which are released with
/// the answer, not when the caller goes away.
#[derive(Debug)]
pub struct ReplyPort {
    /// Receives the answer; a caller that has gone is no error.
    pub sender: oneshot::Sender<Result<WriteOutcome>>,
    /// The permits that admission took.
    pub permit: Option<OwnedSemaphorePermit>,
}

/// The right to append to one thread, of one actor at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Assigned by [`QueueItem::Acquire`]; a later one makes the lease stale.
    pub epoch: u64,
}

/// An append.
#[derive(Debug)]
pub struct Append {
    /// The lease of the actor, for an act, whose `seq` must be the next one of the thread, and for
    /// an outcome. `None` for an opening and for entries of no thread.
    pub lease: Option<Lease>,
    /// The entry.
    pub entry: Entry,
    /// The summary after it, stamped with the number of the append.
    pub summary: Option<Arc<ThreadSummary>>,
    /// The claims changed, in their state after it.
    pub claims: Vec<Arc<Claim>>,
    /// The way of the answer.
    pub reply: ReplyPort,
}

impl Append {
    /// As [`Committed::weight`].
    fn weight(&self) -> u64 {
        weight(&self.entry, &self.claims)
    }
}

/// An item of the journal's queue.
#[derive(Debug)]
pub enum QueueItem {
    /// An act, an artifact or an outcome to be stored, and its number.
    Append(u64, Box<Append>),
    /// An answer that depends on queued entries of this generation: it is sent after their commit,
    /// or becomes 503 `storage_unavailable` if that fails.
    Barrier {
        /// [`Journal::generation`] when the answer was computed.
        generation: u64,
        /// The lease of the actor that computed the answer: if it is stale, so is the answer.
        lease: Option<Lease>,
        /// The answer.
        outcome: Result<WriteOutcome>,
        /// Its way.
        reply: ReplyPort,
    },
    /// A request for the lease of a thread; answered once every append before it is committed.
    Acquire {
        /// The thread.
        thread: ThreadId,
        /// Receives the lease.
        reply: oneshot::Sender<Result<Lease>>,
    },
    /// The release of a lease, unless it is stale.
    Release(Lease),
}

/// Appends and reads; shared by all callers.
///
/// An actor calls [`Journal::acquire`], reads the state of its thread from a view taken after the
/// lease arrived, and then appends acts in the order of their `seq` under that lease; at the end
/// [`Journal::release`]. It may apply an act before its commit. It must drop that state and begin
/// again if [`Journal::append`] refuses, or if [`Journal::generation`] is not the one from before
/// the view was taken.
///
/// Numbers of entries rise in the order of calls; a failed commit leaves gaps. An answer is sent
/// only after the sync of its entry and of all entries before it. [`Journal::committed`],
/// [`Journal::position`] and the generation never go back.
pub struct Journal {
    queue: Arc<queue::JournalQueue>,
    counters: numbers::Counters,
    views: Arc<view::Views>,
    log: Arc<log::Log>,
    listeners: Arc<publisher::BatchListeners>,
    cursors: cursor::Cursors,
}

impl Journal {
    /// Queues an append under the next number. `make` is called with the number and under the lock
    /// of the queue: it must not wait, and not call the journal.
    ///
    /// # Errors
    /// [`AppendRefused`] if it was not queued; its caller has the refusal already (503
    /// `storage_unavailable`, `overloaded` or `shutting_down`). An actor that has applied the act
    /// must drop its state then; a check of [`Journal::refuses`] before admission avoids that.
    pub fn append(&self, make: impl FnOnce(u64) -> Append) -> Result<u64, AppendRefused> {
        self.queue.append(make)
    }

    /// As [`Journal::append`], for an opening: `make` is called with the number of the thread too.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn open_thread(
        &self,
        make: impl FnOnce(u64, ThreadId) -> Append,
    ) -> Result<(u64, ThreadId), AppendRefused> {
        self.queue.open_thread(make)
    }

    /// The refusal that an append would get now; `None` if it would be queued.
    pub fn refuses(&self) -> Option<Refusal> {
        self.queue.refuses()
    }

    /// Sends an answer once all items queued before it are committed; it becomes 503
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

    /// Requests the lease of a thread. It arrives once all items queued before are committed and in
    /// the view; every earlier lease of the thread is stale then. It is refused with 503
    /// `overloaded` or `shutting_down`, but not if the disk fails: reading goes on.
    pub fn acquire(&self, thread: ThreadId) -> oneshot::Receiver<Result<Lease>> {
        let (reply, receiver) = oneshot::channel();
        self.queue.submit(QueueItem::Acquire { thread, reply });
        receiver
    }

    /// Releases a lease.
    pub fn release(&self, lease: Lease) {
        self.queue.submit(QueueItem::Release(lease));
    }

    /// The number of failures of the store, plus 1. State of an older generation may contain acts
    /// that were never stored, and must be dropped.
    pub fn generation(&self) -> u64 {
        self.queue.generation()
    }

    /// Whether a commit takes longer than any working disk.
    pub fn is_stalled(&self) -> bool {
        self.queue.is_stalled()
    }

    /// Why the store takes no writes (operations.md §4, `/readyz`); `None` if it does or is merely
    /// busy.
    pub fn unavailable(&self) -> Option<Refusal> {
        self.queue.unavailable()
    }

    /// Notes whether enough is free for a write: a disk that is too full shows before a write
    /// fails.
    pub fn set_room(&self, room: bool) {
        self.queue.set_room(room);
    }

    /// Whether the store accepts writes.
    pub fn is_writable(&self) -> bool {
        self.queue.is_writable()
    }

    /// Whether the writer has ended: every item queued is answered or refused.
    pub fn has_ended(&self) -> bool {
        self.queue.has_ended()
    }

    /// Assigns the numbers of new messages, events and claims.
    pub fn numbers(&self) -> JournalNumbers<'_> {
        JournalNumbers(&self.counters)
    }

    /// The committed entries, as one consistent state that does not change.
    pub fn view(&self) -> view::View {
        self.views.view()
    }

    /// The number of the last entry that is committed and in the view.
    pub fn committed(&self) -> u64 {
        self.log.shown()
    }

    /// Writes and reads cursors.
    pub fn cursors(&self) -> &cursor::Cursors {
        &self.cursors
    }

    /// Offers the state of a thread, whose acts are all appended, to be stored as a snapshot once
    /// they are archived; returns whether it was taken. `make` is called only if there is room.
    pub fn offer_snapshot(&self, make: impl FnOnce() -> Thread) -> bool {
        self.views.offer_snapshot(make)
    }

    /// The position after the last entry of the view.
    pub fn position(&self) -> Position {
        Position::after(self.committed())
    }

    /// The log, for replays.
    pub fn log(&self) -> &Arc<log::Log> {
        &self.log
    }

    /// Every batch from now on, in order; up to `batches_max` wait for the listener, which is told
    /// where it has missed some.
    pub fn listen(&self, batches_max: usize) -> BatchStream {
        self.listeners.listen(batches_max)
    }

    /// Refuses appends from now on (503 `shutting_down`). The writer ends once all queued items are
    /// answered, the publisher after it.
    pub fn close(&self) {
        self.queue.close();
    }
}
