//! How a round of writers goes, and what it gives.

use std::sync::Arc;
use std::time::Duration;

use crate::measure::Latencies;

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
