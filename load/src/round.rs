//! A round of writers: its specification and its outcome.

use std::sync::Arc;
use std::time::Duration;

use crate::measure::Latencies;
use crate::options::{Mode, Options};

/// Slices of time for the latencies of a soak, whose late slices are compared with early ones.
pub const SOAK_SLICES: usize = 10;

/// The specification of one round.
#[derive(Debug, Clone, Copy)]
pub struct RoundSpec {
    /// Connections that write.
    pub connections: usize,
    /// Length of the round.
    pub duration: Duration,
    /// Acts a second of all connections; none: a closed loop.
    pub rate: Option<f64>,
    /// Factor of the rate in one second of ten.
    pub burst: f64,
    /// Slices of time for the latencies.
    pub slices: usize,
}

impl RoundSpec {
    /// A round of the mode as configured.
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

/// The outcome of one round.
#[derive(Debug)]
pub struct RoundOutcome {
    /// Acknowledged acts.
    pub acknowledged: u64,
    /// Time from the start to the last answer.
    pub elapsed: Duration,
    /// Latencies of acknowledged acts, by slice.
    pub latencies: Arc<Latencies>,
    /// Latencies of refused acts, in one slice.
    pub refusals: Arc<Latencies>,
}
