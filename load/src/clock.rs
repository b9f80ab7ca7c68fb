//! The one place where the harness reads the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The present instant.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's timer")]
pub fn now() -> Instant {
    Instant::now()
}

/// Whole microseconds from `from` to now.
pub fn micros_since(from: Instant) -> u64 {
    u64::try_from(now().saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX)
}

/// A duration as seconds and their fraction.
pub fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// Microseconds since 1970: a number unique to the run, so that idempotency keys of runs differ.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the calendar clock")]
pub fn run_id() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as u64
}
