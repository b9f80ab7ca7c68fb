//! The bounded queue before the writer. It assigns the numbers of entries and threads: queue order
//! is number order is commit order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Refusal;

use super::options::{QUEUE_BYTES_MAX, STALL_MS};
use super::{Append, QueueItem, ReplyPort};
use crate::clock::{Clock, Moment};

/// The append was not queued, and its caller has been refused. State to which the act was already
/// applied is ahead of the journal: it must be dropped and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendRefused;

/// The last numbers assigned.
#[derive(Clone, Copy, Debug)]
pub struct FirstNumbers {
    /// Of entries.
    pub entry: u64,
    /// Of threads.
    pub thread: u64,
}

#[derive(Debug)]
struct QueueState {
    /// Each with the bytes that it is weighed as.
    items: VecDeque<(QueueItem, u64)>,
    /// The bytes of all of them.
    bytes: u64,
    last: FirstNumbers,
    /// Appends are refused: the server shuts down.
    closing: bool,
    /// The writer has ended.
    ended: bool,
    /// The writer waits for so many items; 0 while it works.
    wait_count: usize,
    /// [`JournalQueue::notify`] was called since the last wait.
    notified: bool,
}

/// What [`Journal`](super::Journal), its writer and its publisher share.
pub struct JournalQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    max: usize,
    /// The generation: rises with every failure; written under the lock only.
    generation: AtomicU64,
    /// Written under the lock only.
    writable: AtomicBool,
    /// The tail is full: the archiver is behind as far as it may be.
    full: AtomicBool,
    /// Enough is free for a write, by what was measured last.
    room: AtomicBool,
    /// The moment at which the current commit began, plus 1; 0 if there is none.
    commit_since: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl JournalQueue {
    /// An empty queue that holds `max` items at most.
    pub fn new(max: usize, start: FirstNumbers, clock: Arc<dyn Clock>) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            bytes: 0,
            last: start,
            closing: false,
            ended: false,
            wait_count: 0,
            notified: false,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            max,
            generation: AtomicU64::new(1),
            writable: AtomicBool::new(true),
            full: AtomicBool::new(false),
            room: AtomicBool::new(true),
            commit_since: AtomicU64::new(0),
            clock,
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of failures of the store, plus 1. Results computed in an older generation may
    /// depend on entries that were never stored.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether the store accepts writes.
    pub fn is_writable(&self) -> bool {
        self.writable.load(Ordering::Acquire) && !self.is_stalled()
    }

    /// Whether the current commit takes longer than any working disk.
    pub fn is_stalled(&self) -> bool {
        let since = self.commit_since.load(Ordering::Acquire);
        since != 0 && self.clock.moment().since(Moment(since - 1)) > STALL_MS
    }

    /// Notes that a commit begins or has ended.
    pub fn set_committing(&self, under_way: bool) {
        let since = if under_way { self.clock.moment().0 + 1 } else { 0 };
        self.commit_since.store(since, Ordering::Release);
    }

    /// Notes whether enough is free for a write, as was found without one.
    pub fn set_room(&self, room: bool) {
        self.room.store(room, Ordering::Release);
    }

    /// Why the store takes no writes, `None` if it does or is merely busy.
    pub fn unavailable(&self) -> Option<Refusal> {
        let state = self.state();
        if state.closing || state.ended {
            return Some(Refusal::store_stopping());
        }
        let takes_writes = self.is_writable() && self.room.load(Ordering::Acquire);
        (!takes_writes).then(Refusal::store_unavailable)
    }

    /// Notes whether the tail is full: then appends are refused.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Release);
    }

    /// Wakes the writer.
    fn notify(&self) {
        self.state().notified = true;
        self.changed.notify_all();
    }

    /// Items waiting.
    pub fn len(&self) -> usize {
        self.state().items.len()
    }

    /// The refusal that an append would get now; `None` if it would be queued.
    pub fn refuses(&self) -> Option<Refusal> {
        self.refuses_in(&self.state())
    }

    fn refuses_in(&self, state: &QueueState) -> Option<Refusal> {
        if state.closing || state.ended {
            return Some(Refusal::store_stopping());
        }
        if !self.is_writable() {
            return Some(Refusal::store_unavailable());
        }
        let full = self.is_full(state) || self.full.load(Ordering::Acquire);
        full.then(Refusal::queue_full)
    }

    /// Whether it holds as many items or bytes as it may; the last one may exceed the bytes.
    fn is_full(&self, state: &QueueState) -> bool {
        state.items.len() >= self.max || state.bytes >= QUEUE_BYTES_MAX
    }

    fn push(&self, state: &mut QueueState, item: QueueItem) {
        let bytes = match &item {
            QueueItem::Append(_, append) => append.weight(),
            QueueItem::Barrier { .. } | QueueItem::Acquire { .. } | QueueItem::Release(_) => 0,
        };
        state.bytes += bytes;
        state.items.push_back((item, bytes));
        if state.wait_count > 0 && state.items.len() >= state.wait_count {
            state.wait_count = 0;
            self.changed.notify_one();
        }
    }

    /// Queues an append under the next number, or refuses its caller.
    pub fn append(&self, make: impl FnOnce(u64) -> Append) -> Result<u64, AppendRefused> {
        self.append_with(0, |number, _| make(number)).map(|(number, _)| number)
    }

    /// As [`JournalQueue::append`], for an act that opens a thread, with the number of the thread.
    pub fn open_thread(
        &self,
        make: impl FnOnce(u64, ThreadId) -> Append,
    ) -> Result<(u64, ThreadId), AppendRefused> {
        self.append_with(1, make)
    }

    fn append_with(
        &self,
        threads: u64,
        make: impl FnOnce(u64, ThreadId) -> Append,
    ) -> Result<(u64, ThreadId), AppendRefused> {
        let mut state = self.state();
        let (entry, thread) = (state.last.entry + 1, state.last.thread + threads);
        let append = make(entry, ThreadId(thread));
        if let Some(refusal) = self.refuses_in(&state) {
            drop(state);
            append.reply.send(Err(refusal));
            return Err(AppendRefused);
        }
        state.last = FirstNumbers { entry, thread };
        self.push(&mut state, QueueItem::Append(entry, Box::new(append)));
        Ok((entry, ThreadId(thread)))
    }

    /// Queues an item that appends nothing, or refuses its caller. A release is never refused: the
    /// leases held bound their number.
    pub fn submit(&self, item: QueueItem) {
        let mut state = self.state();
        let refusal = if state.ended {
            Some(Refusal::store_stopping())
        } else if self.is_stalled() {
            Some(Refusal::store_unavailable())
        } else {
            self.is_full(&state).then(Refusal::queue_full)
        };
        match (refusal, item) {
            (None, item) | (Some(_), item @ QueueItem::Release(_)) => self.push(&mut state, item),
            (Some(refusal), item) => {
                drop(state);
                refuse(item, refusal);
            }
        }
    }

    /// Moves up to `max` items into `into`.
    pub fn take(&self, max: usize, into: &mut Vec<QueueItem>) {
        let mut state = self.state();
        let count = state.items.len().min(max);
        let mut bytes = 0;
        into.extend(state.items.drain(..count).map(|(item, weight)| {
            bytes += weight;
            item
        }));
        state.bytes -= bytes;
    }

    /// Moves all items into `into`, refuses appends until [`JournalQueue::resume`], and begins a
    /// new generation, atomically: no item of the old generation is queued after.
    pub fn fail(&self, into: &mut Vec<QueueItem>) {
        let mut state = self.state();
        state.bytes = 0;
        into.extend(state.items.drain(..).map(|(item, _)| item));
        self.writable.store(false, Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Accepts appends again.
    pub fn resume(&self) {
        let _state = self.state();
        self.writable.store(true, Ordering::Release);
    }

    /// Refuses appends from now on; queued items are still committed.
    pub fn close(&self) {
        self.state().closing = true;
        self.notify();
    }

    /// Whether the queue is closed and empty.
    pub fn is_done(&self) -> bool {
        let state = self.state();
        state.closing && state.items.is_empty()
    }

    /// Whether the writer has ended.
    pub fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Refuses all items, queued and future: the writer has ended.
    pub fn end(&self) {
        let items = {
            let mut state = self.state();
            state.ended = true;
            self.writable.store(false, Ordering::Release);
            state.bytes = 0;
            std::mem::take(&mut state.items)
        };
        for (item, _) in items {
            refuse(item, Refusal::store_uncertain());
        }
    }

    /// Waits until an item is queued, the queue is closed or notified, or `timeout` has passed.
    pub fn wait(&self, timeout: Option<Duration>) {
        self.wait_for(1, timeout);
    }

    /// As [`JournalQueue::wait`], until `count` items are queued.
    pub fn wait_for(&self, count: usize, timeout: Option<Duration>) {
        let mut state = self.state();
        state.wait_count = count;
        let pending =
            |state: &mut QueueState| state.items.len() < count && !state.closing && !state.notified;
        state = match timeout {
            Some(timeout) => {
                let woken = self.changed.wait_timeout_while(state, timeout, pending);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let woken = self.changed.wait_while(state, pending);
                woken.unwrap_or_else(PoisonError::into_inner)
            }
        };
        state.wait_count = 0;
        state.notified = false;
    }

    /// Waits for [`JournalQueue::notify`], whatever is queued, or until `timeout` has passed.
    pub fn wait_for_notification(&self, timeout: Duration) {
        let mut state = self.state();
        if !state.notified {
            let woken = self.changed.wait_timeout(state, timeout);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.notified = false;
    }
}

/// Refuses the caller of `item`, if it has one.
pub fn refuse(item: QueueItem, refusal: Refusal) {
    match item {
        QueueItem::Append(_, append) => append.reply.send(Err(refusal)),
        QueueItem::Barrier { reply, .. } => reply.send(Err(refusal)),
        QueueItem::Acquire { reply, .. } => drop(reply.send(Err(refusal))),
        QueueItem::Release(_) => {}
    }
}

impl ReplyPort {
    /// Sends the answer and frees the permits. A caller that has gone is no error.
    pub fn send(self, result: parley_protocol::refusal::Result<super::WriteOutcome>) {
        drop(self.sender.send(result));
        drop(self.permit);
    }
}
