//! The one place where the harness reads the clock.

use std::time::{Duration, Instant};

/// The moment it is.
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
