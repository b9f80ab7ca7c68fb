//! The one queue: a place in it is a place in the one order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Refusal;

use super::options::STALL_MS;
use super::{Append, QueueItem, ReplyPort};
use crate::clock::Clock;

/// The append is not in the queue, and its caller has its refusal. Whoever applied the act already
/// runs ahead of the journal: that state must be dropped and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendRefused;

/// Where the numbers of the next entry and thread stand at the start.
#[derive(Clone, Copy, Debug)]
pub struct FirstNumbers {
    /// The last entry number ever given.
    pub entry: u64,
    /// The last thread number ever given.
    pub thread: u64,
}

#[derive(Debug)]
struct QueueState {
    items: VecDeque<QueueItem>,
    last: FirstNumbers,
    writable: bool,
    /// No appends any more: the server shuts down.
    closing: bool,
    /// No writer any more.
    ended: bool,
    /// The writer sleeps until so many items are there; 0 while it works.
    wait_count: usize,
    /// Something beside the queue has moved that the writer waits for.
    notified: bool,
}

/// What the journal's door and its writer share.
pub struct JournalQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    max: usize,
    /// Rises with every failure; written under the lock only.
    generation: AtomicU64,
    writable: AtomicBool,
    /// The fold is behind as far as it may be.
    full: AtomicBool,
    /// When the commit under way began, in milliseconds; 0 if there is none.
    commit_since: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl JournalQueue {
    /// An empty queue that holds `max` items at most.
    pub fn new(max: usize, start: FirstNumbers, clock: Arc<dyn Clock>) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            last: start,
            writable: true,
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
            commit_since: AtomicU64::new(0),
            clock,
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the store has failed, from 1. What was computed under an older one may depend on
    /// what was never stored.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether the store takes writes.
    pub fn is_writable(&self) -> bool {
        self.writable.load(Ordering::Acquire) && !self.is_stalled()
    }

    /// Whether the commit under way takes longer than any disk in good order.
    fn is_stalled(&self) -> bool {
        let since = self.commit_since.load(Ordering::Acquire);
        since != 0 && self.clock.now().0.saturating_sub(since) > STALL_MS
    }

    /// Says that a commit begins or has ended.
    pub fn set_committing(&self, under_way: bool) {
        let since = if under_way { self.clock.now().0.max(1) } else { 0 };
        self.commit_since.store(since, Ordering::Release);
    }

    /// Says whether the fold is so far behind that nothing more is to be queued.
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

    /// Why an append would be refused now; `None` if it would be taken.
    pub fn refuses(&self) -> Option<Refusal> {
        self.refuses_in(&self.state())
    }

    fn refuses_in(&self, state: &QueueState) -> Option<Refusal> {
        if state.closing || state.ended {
            return Some(Refusal::store_stopping());
        }
        if !state.writable || self.is_stalled() {
            return Some(Refusal::store_unavailable());
        }
        let full = state.items.len() >= self.max || self.full.load(Ordering::Acquire);
        full.then(Refusal::queue_full)
    }

    fn push(&self, state: &mut QueueState, item: QueueItem) {
        state.items.push_back(item);
        if state.wait_count > 0 && state.items.len() >= state.wait_count {
            state.wait_count = 0;
            self.changed.notify_one();
        }
    }

    /// Gives an append its number and its place, or its caller a refusal.
    pub fn append(&self, make: impl FnOnce(u64) -> Append) -> Result<u64, AppendRefused> {
        let mut state = self.state();
        let number = state.last.entry + 1;
        let append = make(number);
        if let Some(refusal) = self.refuses_in(&state) {
            drop(state);
            append.reply.send(Err(refusal));
            return Err(AppendRefused);
        }
        state.last.entry = number;
        self.push(&mut state, QueueItem::Append(number, Box::new(append)));
        Ok(number)
    }

    /// The same for an act that opens a thread, whose number it is given too.
    pub fn open_thread(
        &self,
        make: impl FnOnce(u64, ThreadId) -> Append,
    ) -> Result<(u64, ThreadId), AppendRefused> {
        let mut state = self.state();
        let (number, thread) = (state.last.entry + 1, state.last.thread + 1);
        let append = make(number, ThreadId(thread));
        if let Some(refusal) = self.refuses_in(&state) {
            drop(state);
            append.reply.send(Err(refusal));
            return Err(AppendRefused);
        }
        state.last = FirstNumbers { entry: number, thread };
        self.push(&mut state, QueueItem::Append(number, Box::new(append)));
        Ok((number, ThreadId(thread)))
    }

    /// Puts in what appends nothing. A refusal goes to whoever waits for it; what nobody waits for
    /// is never refused, it is bounded by the leases given.
    pub fn submit(&self, item: QueueItem) {
        let mut state = self.state();
        let refusal = if state.ended {
            Some(Refusal::store_stopping())
        } else if self.is_stalled() {
            Some(Refusal::store_unavailable())
        } else {
            (state.items.len() >= self.max).then(Refusal::queue_full)
        };
        match (refusal, item) {
            (None, item) | (Some(_), item @ QueueItem::Release(_)) => self.push(&mut state, item),
            (Some(refusal), item) => {
                drop(state);
                refuse(item, refusal);
            }
        }
    }

    /// Takes up to `max` items into `into`.
    pub fn take(&self, max: usize, into: &mut Vec<QueueItem>) {
        let mut state = self.state();
        let count = state.items.len().min(max);
        into.extend(state.items.drain(..count));
    }

    /// Takes everything, lets nothing be appended until [`JournalQueue::resume`], and begins a new
    /// generation: all in one, so that nothing of the old one comes after.
    pub fn fail(&self, into: &mut Vec<QueueItem>) {
        let mut state = self.state();
        into.extend(state.items.drain(..));
        state.writable = false;
        self.writable.store(false, Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Lets appends in again.
    pub fn resume(&self) {
        let mut state = self.state();
        state.writable = true;
        self.writable.store(true, Ordering::Release);
    }

    /// Lets no append in any more; what is queued is still committed.
    pub fn close(&self) {
        self.state().closing = true;
        self.notify();
    }

    /// Whether no append comes any more and nothing is queued.
    pub fn is_done(&self) -> bool {
        let state = self.state();
        state.closing && state.items.is_empty()
    }

    /// Refuses all that is queued and all that comes: there is no writer any more.
    pub fn end(&self) {
        let items = {
            let mut state = self.state();
            state.ended = true;
            state.writable = false;
            self.writable.store(false, Ordering::Release);
            std::mem::take(&mut state.items)
        };
        for item in items {
            refuse(item, Refusal::store_uncertain());
        }
    }

    /// Waits until something is queued, the queue is closed or notified, or `timeout` is over.
    pub fn wait(&self, timeout: Option<Duration>) {
        self.wait_for(1, timeout);
    }

    /// The same until `count` items are queued.
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

    /// Waits for a notify, whatever is queued, or until `timeout` is over.
    pub fn wait_for_notification(&self, timeout: Duration) {
        let mut state = self.state();
        if !state.notified {
            let woken = self.changed.wait_timeout(state, timeout);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.notified = false;
    }
}

/// Tells whoever waits for `item` that it is refused.
pub fn refuse(item: QueueItem, refusal: Refusal) {
    match item {
        QueueItem::Append(_, append) => append.reply.send(Err(refusal)),
        QueueItem::Barrier { reply, .. } => reply.send(Err(refusal)),
        QueueItem::Acquire { reply, .. } => drop(reply.send(Err(refusal))),
        QueueItem::Release(_) => {}
    }
}

impl ReplyPort {
    /// Answers, and frees the permits. A caller that went away is no error.
    pub fn send(self, result: parley_protocol::refusal::Result<super::WriteOutcome>) {
        drop(self.sender.send(result));
        drop(self.permit);
    }
}
