//! The clock of a run: it stands between two steps, and jumps when the world says so.

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley::clock::{Clock, Stopwatch};
use parley_protocol::time::Millis;

/// When every run begins.
const MORNING: u64 = 1_796_000_000_000;

/// A clock that is moved by hand.
#[derive(Debug)]
pub struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }

    fn stopwatch(&self) -> Stopwatch {
        Stopwatch::still()
    }
}

impl Default for HandClock {
    fn default() -> Self {
        Self(AtomicU64::new(MORNING))
    }
}

impl HandClock {
    /// Goes on by so much.
    pub fn pass(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }

    /// Is set back by so much.
    pub fn back(&self, millis: u64) {
        self.0.fetch_sub(millis, Ordering::Relaxed);
    }
}

/// Lets the runtime's paused clock go on by so much: it moves once nobody has anything to do
/// before then.
pub async fn elapse(millis: u64) {
    let _ = tokio::time::timeout(Duration::from_millis(millis), pending::<()>()).await;
}
