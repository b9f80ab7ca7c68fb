//! Polls a future again at once if it wakes itself, up to a bound.
//!
//! Reading a body, hyper wakes its own task twice: when the body is polled, and when a frame is
//! passed on. A task that is woken while it runs goes through the scheduler, which wakes another
//! thread: two futex calls and a change of core, more than the rest of a small request costs. Here
//! the waker sets a flag, which is read after the poll.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Polls in a row, at most; then the scheduler runs other tasks.
const POLLS_MAX: usize = 8;

/// Flag: the future is being polled.
const POLLING: u8 = 1;
/// Flag: the future was woken since the last poll began.
const WOKEN: u8 = 2;

/// The waker and wake flags of one future.
#[derive(Debug)]
pub struct PollBudget {
    wakes: Arc<WakeCounter>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct WakeCounter {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Default for PollBudget {
    fn default() -> Self {
        let wakes = Arc::<WakeCounter>::default();
        let waker = Waker::from(Arc::clone(&wakes));
        Self { wakes, waker }
    }
}

impl PollBudget {
    /// Polls `future` until it is ready, or pending without a wake since the poll began.
    pub fn poll<F: Future>(
        &self,
        mut future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let WakeCounter { state, task } = &*self.wakes;
        task.register(context.waker());
        for _ in 0..POLLS_MAX {
            // The following poll covers every wake until now.
            state.swap(POLLING, Ordering::AcqRel);
            let polled = future.as_mut().poll(&mut Context::from_waker(&self.waker));
            if polled.is_ready() {
                return polled;
            }
            let is_idle =
                state.compare_exchange(POLLING, 0, Ordering::AcqRel, Ordering::Acquire).is_ok();
            if is_idle {
                return Poll::Pending;
            }
        }
        state.store(0, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // During a poll the flag suffices; a task that was woken already will run anyway.
        if self.state.fetch_or(WOKEN, Ordering::AcqRel) == 0 {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct CountingWaker(AtomicUsize);

    impl Wake for CountingWaker {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl CountingWaker {
        fn get(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// Goal: a future that wakes itself is polled again without waking its task, within the bound.
    /// Method: a future that wakes itself a number of times.
    #[test]
    fn again_at_once() {
        for (wakes, polls, wakes_of_task) in [(0, 1, 0), (3, 4, 0), (100, POLLS_MAX, 1)] {
            let count = Arc::<CountingWaker>::default();
            let waker = Waker::from(Arc::clone(&count));
            let mut polled = 0;
            let future = poll_fn(|context| {
                polled += 1;
                if polled <= wakes {
                    context.waker().wake_by_ref();
                }
                Poll::<()>::Pending
            });
            let mut future = pin!(future);
            let budget = PollBudget::default();
            let context = &mut Context::from_waker(&waker);
            assert!(budget.poll(future.as_mut(), context).is_pending());
            assert_eq!(count.get(), wakes_of_task);
            assert_eq!(polled, polls);
        }
    }

    /// Goal: a wake between polls reaches the task, each time the future is pending. Method: one
    /// waker, kept over several polls.
    #[test]
    fn woken_from_without() {
        let count = Arc::<CountingWaker>::default();
        let waker = Waker::from(Arc::clone(&count));
        let mut kept: Option<Waker> = None;
        let budget = PollBudget::default();
        for wakes_of_task in 0..3 {
            let mut future = pin!(poll_fn(|context| {
                kept = Some(context.waker().clone());
                Poll::<()>::Pending
            }));
            let context = &mut Context::from_waker(&waker);
            assert!(budget.poll(future.as_mut(), context).is_pending());
            assert_eq!(count.get(), wakes_of_task);
            let kept = kept.as_ref().expect("it was polled");
            kept.wake_by_ref();
            assert_eq!(count.get(), wakes_of_task + 1);
            // Twice before the next poll is once.
            kept.wake_by_ref();
            assert_eq!(count.get(), wakes_of_task + 1);
        }
    }
}
