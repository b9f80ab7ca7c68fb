//! The state for reading: the archive joined with the tail, consistent (decision 1).
//!
//! The writer adds a batch once it is on the disk; the archiver replaces the archive's state once a
//! slice is archived. Both publish a whole new [`View`], which readers take without waiting.

mod acts;
mod artifacts;
mod claims;
mod inbox;
mod placed;
mod scan;
mod threads;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use parley_protocol::entry::Position;
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;

use super::Committed;
use super::archive::{ArchiveRead, RememberedOutcome, SNAPSHOT_ACTS_MIN};
use super::options::{JournalOptions, TAIL_BYTES_MAX};
use super::tail::Tail;
use crate::storage::error::StoreResult;

pub(crate) use acts::next;
pub use acts::{PlacedAct, RebuiltThread};
pub use artifacts::PlacedArtifact;
pub use inbox::InboxScan;
pub use placed::Placed;
pub use scan::{Scan, ScanLimits, Takes};

/// Entries added at once while a new tail is filled: bounds the time for which the writer waits.
const REFILLED_AT_ONCE: usize = 256;
/// The fraction of the tail that may be archived and not durable.
const UNSYNCED_PART: u64 = 8;
/// Snapshots that may wait to be taken by the archiver.
const SNAPSHOTS_MAX: usize = 64;
/// As many end the wait for a larger slice.
const SNAPSHOTS_ENOUGH: usize = SNAPSHOTS_MAX / 2;

/// The state that a view shows.
#[derive(Clone, Debug)]
struct ViewState {
    tail: Tail,
    archive: Arc<ArchiveRead>,
    last: u64,
}

/// A consistent state of the committed entries. It is cheap to take and to clone, and never
/// changes; it pins pages of the archive, so do not hold one while waiting for a client.
#[derive(Clone, Debug)]
pub struct View(Arc<ViewState>);

/// The bounds of the tail.
#[derive(Clone, Copy, Debug)]
pub struct TailMax {
    /// Entries (`store.tail_entries_max`).
    pub entries: u64,
    /// Bytes, roughly.
    pub bytes: u64,
}

impl Default for TailMax {
    fn default() -> Self {
        Self { entries: JournalOptions::default().tail_entries_max, bytes: TAIL_BYTES_MAX }
    }
}

/// The work of the archiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Entries to archive.
    pub waiting: usize,
    /// Entries that are archived and not durable.
    pub unsynced: usize,
    /// The last entry that is archived.
    pub archived_upto: u64,
    /// The last entry in the view.
    pub last: u64,
}

struct ViewsState {
    /// The next view to publish.
    view: ViewState,
    /// Entries that are not durable in the archive, in order.
    queue: VecDeque<Arc<Committed>>,
    /// How many of them, from the front, are archived.
    archived: usize,
    /// Threads that were passivated, to be stored by the archiver.
    snapshots: Vec<Thread>,
    closing: bool,
}

/// Keeps the current view, and the entries that are not durable in the archive.
///
/// The writer calls [`Views::push`] in the order of numbers. The archiver alone calls
/// [`Views::slice`], [`Views::show`] with a state that contains the slice, and [`Views::synced`]
/// once that state is durable. Readers call [`Views::view`] at any time: a later view shows at
/// least the entries of an earlier one, and every entry is in exactly one of archive and tail.
pub struct Views {
    state: Mutex<ViewsState>,
    current: ArcSwap<ViewState>,
    changed: Condvar,
    max: TailMax,
    entries: AtomicU64,
    bytes: AtomicU64,
    durable_upto: AtomicU64,
}

impl Views {
    /// Views that begin with the state of `archive`; later entries of the log are to be pushed.
    pub fn new(archive: ArchiveRead, max: TailMax) -> Self {
        let archive = Arc::new(archive);
        let last = archive.upto();
        let view = ViewState { tail: Tail::default(), archive, last };
        let state = ViewsState {
            view: view.clone(),
            queue: VecDeque::new(),
            archived: 0,
            snapshots: Vec::new(),
            closing: false,
        };
        Self {
            state: Mutex::new(state),
            current: ArcSwap::from_pointee(view),
            changed: Condvar::new(),
            max,
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            durable_upto: AtomicU64::new(0),
        }
    }

    /// The current view.
    pub fn view(&self) -> View {
        View(self.current.load_full())
    }

    /// Adds a batch that is on the disk, in order; entries that were added already are skipped.
    /// Views taken after the call contain the batch.
    pub fn push(&self, batch: &[Arc<Committed>]) {
        let mut state = self.lock();
        for committed in batch {
            if committed.number > state.view.last {
                state.view.tail.push(committed);
                state.view.last = committed.number;
                self.bytes.fetch_add(committed.weight(), Ordering::Relaxed);
                state.queue.push_back(Arc::clone(committed));
            }
        }
        self.publish(&state);
        drop(state);
        self.changed.notify_one();
    }

    /// Entries that are not durable in the archive.
    pub fn tail_entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Their bytes in memory, roughly.
    pub fn tail_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the tail has reached a bound: then appends are refused with `overloaded` until the
    /// archiver has caught up.
    pub fn is_full(&self) -> bool {
        self.tail_entries() >= self.max.entries || self.tail_bytes() >= self.max.bytes
    }

    /// The entry up to which the archive is known to be durable, so that the log may drop older
    /// ones; 0 until the first durable slice of this process.
    pub fn durable_upto(&self) -> u64 {
        self.durable_upto.load(Ordering::Acquire)
    }

    /// The oldest entries that are not archived: at most `entries_max`, up to the one that reaches
    /// `bytes_max`.
    pub fn slice(&self, entries_max: usize, bytes_max: u64) -> Vec<Arc<Committed>> {
        let state = self.lock();
        let mut bytes = 0;
        let fits = |committed: &&Arc<Committed>| {
            let begun = bytes < bytes_max;
            bytes += committed.weight();
            begun
        };
        let waiting = state.queue.iter().skip(state.archived);
        waiting.take(entries_max).take_while(fits).cloned().collect()
    }

    /// Replaces the archive's state, after a slice or a reopening; the tail then has the entries
    /// after it. For the archiver alone.
    pub fn show(&self, archive: ArchiveRead) {
        // A new tail is filled while the writer goes on, a piece at a time; only the last piece is
        // added under the lock.
        let upto = archive.upto();
        let mut tail = Tail::default();
        let mut refilled = upto;
        let mut state = loop {
            let state = self.lock();
            let first = state.queue.partition_point(|committed| committed.number <= refilled);
            let left = state.queue.range(first..);
            if left.len() <= REFILLED_AT_ONCE {
                for committed in left {
                    tail.push(committed);
                }
                break state;
            }
            let piece: Vec<_> = left.take(REFILLED_AT_ONCE).cloned().collect();
            drop(state);
            for committed in piece {
                tail.push(&committed);
                refilled = committed.number;
            }
        };
        let old = std::mem::replace(&mut state.view.tail, tail);
        state.view.archive = Arc::new(archive);
        state.archived = state.queue.partition_point(|committed| committed.number <= upto);
        self.publish(&state);
        drop(state);
        drop(old);
    }

    /// Notes that the archive is durable up to the entry `upto`: drops the entries up to there.
    pub fn synced(&self, upto: u64) {
        let mut state = self.lock();
        let durable = state.queue.partition_point(|committed| committed.number <= upto);
        let durable = durable.min(state.archived);
        let drained: Vec<_> = state.queue.drain(..durable).collect();
        state.archived -= durable;
        self.entries.store(state.queue.len() as u64, Ordering::Relaxed);
        drop(state);
        // Outside the lock: freeing them takes long.
        let bytes = drained.iter().map(|committed| committed.weight()).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.durable_upto.fetch_max(upto, Ordering::AcqRel);
    }

    /// The work to do.
    pub fn backlog(&self) -> Backlog {
        let state = self.lock();
        Backlog {
            waiting: state.queue.len() - state.archived,
            unsynced: state.archived,
            archived_upto: state.view.archive.upto(),
            last: state.view.last,
        }
    }

    /// Entries and bytes that may be archived and not durable: a fraction of the bounds of the
    /// tail.
    pub fn unsynced_max(&self) -> (u64, u64) {
        ((self.max.entries / UNSYNCED_PART).max(1), (self.max.bytes / UNSYNCED_PART).max(1))
    }

    /// Offers the state of a thread, to be stored as a snapshot, from which waking it can begin. It
    /// is stored with the act that it ends with, or dropped if that act is never committed. Returns
    /// whether there was room for it; `make` is called, without a lock, only if there was.
    pub fn offer_snapshot(&self, make: impl FnOnce() -> Thread) -> bool {
        if self.lock().snapshots.len() >= SNAPSHOTS_MAX {
            return false;
        }
        let thread = make();
        let mut state = self.lock();
        let has_room = state.snapshots.len() < SNAPSHOTS_MAX;
        if has_room {
            state.snapshots.push(thread);
            drop(state);
            self.changed.notify_all();
        }
        has_room
    }

    /// The threads offered since the last call.
    pub fn take_snapshots(&self) -> Vec<Thread> {
        std::mem::take(&mut self.lock().snapshots)
    }

    /// Waits until an entry is to be archived, a snapshot was offered, [`Views::close`] was called,
    /// or `timeout` has passed (`None`: without limit); returns whether it was closed.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        self.wait_while(timeout, |state| {
            state.queue.len() == state.archived && state.snapshots.is_empty()
        })
    }

    /// Waits until the tail has so many `entries` or `bytes`, or is full, or many snapshots were
    /// offered; as [`Views::wait`] otherwise.
    pub fn linger(&self, entries: usize, bytes: u64, timeout: Duration) -> bool {
        self.wait_while(Some(timeout), |state| {
            let waiting = state.queue.len() - state.archived;
            let enough = waiting >= entries || self.tail_bytes() >= bytes || self.is_full();
            (waiting == 0 || !enough) && state.snapshots.len() < SNAPSHOTS_ENOUGH
        })
    }

    fn wait_while(
        &self,
        timeout: Option<Duration>,
        is_early: impl Fn(&ViewsState) -> bool,
    ) -> bool {
        let pending = |state: &mut ViewsState| !state.closing && is_early(state);
        let state = self.lock();
        let state = match timeout {
            None => self.changed.wait_while(state, pending).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(state, timeout, pending);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.closing
    }

    /// Waits for `time`, or until [`Views::close`] is called.
    pub fn pause(&self, time: Duration) {
        let state = self.lock();
        let closed = state.closing;
        let pending = |state: &mut ViewsState| state.closing == closed;
        drop(self.changed.wait_timeout_while(state, time, pending));
    }

    /// Ends the waiting of the archiver: no more entries will be pushed.
    pub fn close(&self) {
        self.lock().closing = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ViewsState> {
        // A panic with the lock held leaves maps that are consistent at each step or not published.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &ViewsState) {
        self.entries.store(state.queue.len() as u64, Ordering::Relaxed);
        self.current.store(Arc::new(state.view.clone()));
    }
}

impl View {
    /// The position after the last entry of the view: "now" for a cursor.
    pub fn position(&self) -> Position {
        Position::after(self.0.last)
    }

    /// The number of the last entry of the view.
    pub fn last(&self) -> u64 {
        self.0.last
    }

    /// The state of the archive in it.
    pub(crate) fn archive(&self) -> Arc<ArchiveRead> {
        Arc::clone(&self.0.archive)
    }

    /// The summary of `thread`, or `None` if there is no such thread.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn summary(&self, thread: ThreadId) -> StoreResult<Option<Arc<ThreadSummary>>> {
        match self.0.tail.threads.get(&thread) {
            Some(found) => Ok(Some(Arc::clone(&found.summary))),
            None => Ok(self.0.archive.summary(thread)?.map(Arc::new)),
        }
    }

    /// Whether `thread` has acts in memory, so that its summary is read without the disk.
    pub fn is_recent(&self, thread: ThreadId) -> bool {
        self.0.tail.holds(thread)
    }

    /// Whether [`View::thread`] reads `thread` without the disk: all its acts are in memory, and
    /// they are few.
    pub fn is_in_memory(&self, thread: ThreadId) -> bool {
        self.0.tail.threads.get(&thread).is_some_and(|found| {
            let first = found.acts.front().and_then(|committed| committed.entry.act());
            found.summary.seq < SNAPSHOT_ACTS_MIN && first.is_some_and(|act| act.seq == 0)
        })
    }

    /// The thread of the claim `id`, if the claim is in memory.
    pub fn recent_claim_thread(&self, id: ClaimId) -> Option<ThreadId> {
        self.0.tail.claim_threads.get(&id).copied()
    }

    /// The first outcome of the write whose key has this digest, if it is remembered.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn outcome(&self, digest: &[u8; 16]) -> StoreResult<Option<RememberedOutcome>> {
        match self.0.tail.outcomes.get(digest) {
            Some(committed) => Ok(RememberedOutcome::of(committed)),
            None => self.0.archive.outcome(digest),
        }
    }
}
