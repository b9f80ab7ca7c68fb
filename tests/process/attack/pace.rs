//! The pace of an attack.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

/// Between two looks at how much is due.
const TICK: Duration = Duration::from_millis(10);

/// Gives `rate` turns a second for as long as it lasts.
pub struct Pace {
    began: Instant,
    lasts: Duration,
    rate: u64,
    given: u64,
    due: u64,
    ticks: tokio::time::Interval,
}

impl Pace {
    /// From now on.
    pub fn new(rate: u64, lasts: Duration) -> Self {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self { began: Instant::now(), lasts, rate, given: 0, due: 0, ticks }
    }

    /// Waits for the next turn and gives its number; `None` once it is over.
    pub async fn next(&mut self) -> Option<u64> {
        while self.given >= self.due {
            if self.began.elapsed() >= self.lasts {
                return None;
            }
            self.ticks.tick().await;
            let passed = self.began.elapsed().min(self.lasts);
            self.due = (passed.as_millis() as u64 * self.rate) / 1_000;
        }
        self.given += 1;
        Some(self.given - 1)
    }
}
