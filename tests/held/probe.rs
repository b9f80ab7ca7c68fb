//! A task that yields without end and sees how long others run in between.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parley::clock::Stopwatch;

/// The longest time between two turns, less what the worker waited for a processor.
#[derive(Default)]
pub struct Probe {
    longest: AtomicU64,
    turns: AtomicU64,
    stopped: AtomicBool,
}

/// Seconds since the probe began, and how long this thread has waited for a processor so far.
struct Sample {
    at: f64,
    waited: u64,
}

impl Probe {
    /// Yields until it is stopped; runs on the only worker of its runtime.
    pub async fn run(self: std::sync::Arc<Self>) {
        let statistics = File::open("/proc/thread-self/schedstat").unwrap();
        let clock = Stopwatch::start();
        let mut last = Sample::take(&clock, &statistics);
        while !self.stopped.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
            let now = Sample::take(&clock, &statistics);
            let passed = ((now.at - last.at) * 1e9) as u64;
            let held = passed.saturating_sub(now.waited - last.waited);
            self.longest.fetch_max(held, Ordering::Relaxed);
            self.turns.fetch_add(1, Ordering::Relaxed);
            last = now;
        }
    }

    /// Ends `run`.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Waits until the probe has had a few turns; forgets what it saw.
    pub fn has_turned(&self) {
        let from = self.turns.load(Ordering::Relaxed);
        while self.turns.load(Ordering::Relaxed) < from + 3 {
            std::thread::yield_now();
        }
        self.longest.store(0, Ordering::Relaxed);
    }

    /// The longest time since it was last asked.
    pub fn longest(&self) -> Duration {
        // What ran last is seen in the turn after it.
        let from = self.turns.load(Ordering::Relaxed);
        while self.turns.load(Ordering::Relaxed) < from + 3 {
            std::thread::yield_now();
        }
        Duration::from_nanos(self.longest.swap(0, Ordering::Relaxed))
    }
}

impl Sample {
    fn take(clock: &Stopwatch, statistics: &File) -> Self {
        let mut waited = self::waited(statistics);
        loop {
            let at = clock.seconds();
            let after = self::waited(statistics);
            // A wait between the two readings belongs to either side of the moment.
            if after == waited {
                return Self { at, waited };
            }
            waited = after;
        }
    }
}

/// How long this thread has waited for a processor so far, in nanoseconds.
fn waited(statistics: &File) -> u64 {
    let mut text = [0; 64];
    let length = statistics.read_at(&mut text, 0).unwrap();
    let text = std::str::from_utf8(&text[..length]).unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}
