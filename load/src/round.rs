//! How a round of writers goes, and what it gives.

use std::sync::Arc;
use std::time::Duration;

use crate::measure::Latencies;
use crate::options::{Mode, Options};

/// Latencies of a soak are kept for this many slices of time, so that late ones can be compared
/// with early ones.
pub const SOAK_SLICES: usize = 10;

/// How one round goes.
#[derive(Debug, Clone, Copy)]
pub struct RoundSpec {
    /// Connections.
    pub connections: usize,
    /// How long.
    pub duration: Duration,
    /// Acts a second, if the loop is open.
    pub rate: Option<f64>,
    /// Factor of the rate in one second of ten.
    pub burst: f64,
    /// Slices of time for the latencies.
    pub slices: usize,
}

impl RoundSpec {
    /// A round of the mode as its options say.
    pub fn of(options: &Options) -> Self {
        Self {
            connections: options.connections,
            duration: options.duration,
            rate: options.rate,
            burst: options.burst,
            slices: if options.mode == Mode::Soak { SOAK_SLICES } else { 1 },
        }
    }
}

/// What one round gave.
#[derive(Debug)]
pub struct RoundOutcome {
    /// Acknowledged acts.
    pub acknowledged: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Latencies by slice.
    pub latencies: Arc<Latencies>,
    /// Those of refusals.
    pub refusals: Arc<Latencies>,
}
