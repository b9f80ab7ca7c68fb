//! A clock that tests move.

use std::future::pending;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parley::clock::{Clock, Moment, Stopwatch, SystemClock};
use parley_protocol::time::Millis;

/// When a clock that stands begins.
pub const MORNING: Millis = Millis(1_796_000_000_000);

/// A clock that stands until it is moved, or runs like the machine's and can be moved ahead of it.
#[derive(Debug)]
pub struct TestClock {
    runs: bool,
    /// Calendar time: of a running clock, what it is ahead of the machine's.
    millis: AtomicI64,
    /// Time that has passed: of a running clock, beside the machine's.
    passed: AtomicU64,
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        let base = if self.runs { SystemClock.now().0 } else { 0 };
        Millis(base.saturating_add_signed(self.millis.load(Ordering::SeqCst)))
    }

    fn moment(&self) -> Moment {
        let base = if self.runs { SystemClock.moment().0 } else { 0 };
        Moment(base + self.passed.load(Ordering::SeqCst))
    }

    /// Under a clock that stands, work takes no time.
    fn stopwatch(&self) -> Stopwatch {
        if self.runs { Stopwatch::start() } else { Stopwatch::stopped() }
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::at(MORNING)
    }
}

impl TestClock {
    /// A clock that stands at `now`.
    pub fn at(now: Millis) -> Self {
        Self { runs: false, millis: AtomicI64::new(signed(now.0)), passed: AtomicU64::new(0) }
    }

    /// The machine's clock, for what must go on by itself.
    pub fn running() -> Self {
        Self { runs: true, millis: AtomicI64::new(0), passed: AtomicU64::new(0) }
    }

    /// Sets the calendar time of a clock that stands; no time passes.
    pub fn set(&self, now: Millis) {
        self.millis.store(signed(now.0), Ordering::SeqCst);
    }

    /// Lets time pass.
    pub fn pass(&self, millis: u64) {
        self.ahead(millis);
        self.passed.fetch_add(millis, Ordering::SeqCst);
    }

    /// Takes back a [`TestClock::pass`], for what asks how things would be after a wait.
    pub fn unpass(&self, millis: u64) {
        self.back(millis);
        self.passed.fetch_sub(millis, Ordering::SeqCst);
    }

    /// Sets the calendar time ahead; no time passes.
    pub fn ahead(&self, millis: u64) {
        self.millis.fetch_add(signed(millis), Ordering::SeqCst);
    }

    /// Sets the calendar time back; no time passes.
    pub fn back(&self, millis: u64) {
        self.millis.fetch_sub(signed(millis), Ordering::SeqCst);
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).expect("a time of the tests")
}

/// Lets a runtime's paused clock go on by so much: it moves once no task can run before then.
pub async fn elapse(millis: u64) {
    let _ = tokio::time::timeout(Duration::from_millis(millis), pending::<()>()).await;
}
