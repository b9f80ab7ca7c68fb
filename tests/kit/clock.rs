//! A clock that tests move.

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley::clock::{Clock, Stopwatch, SystemClock};
use parley_protocol::time::Millis;

/// When a clock that stands begins.
pub const MORNING: Millis = Millis(1_796_000_000_000);

/// A clock that stands until it is moved, or runs like the machine's and can be moved ahead of it.
#[derive(Debug)]
pub struct TestClock {
    runs: bool,
    millis: AtomicU64,
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        let millis = self.millis.load(Ordering::SeqCst);
        Millis(if self.runs { SystemClock.now().0 + millis } else { millis })
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
        Self { runs: false, millis: AtomicU64::new(now.0) }
    }

    /// The machine's clock, for what must go on by itself.
    pub fn running() -> Self {
        Self { runs: true, millis: AtomicU64::new(0) }
    }

    /// Sets a clock that stands.
    pub fn set(&self, now: Millis) {
        self.millis.store(now.0, Ordering::SeqCst);
    }

    /// Moves it on.
    pub fn pass(&self, millis: u64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets it back.
    pub fn back(&self, millis: u64) {
        self.millis.fetch_sub(millis, Ordering::SeqCst);
    }
}

/// Lets a runtime's paused clock go on by so much: it moves once no task can run before then.
pub async fn elapse(millis: u64) {
    let _ = tokio::time::timeout(Duration::from_millis(millis), pending::<()>()).await;
}
