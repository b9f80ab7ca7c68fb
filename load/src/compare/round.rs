//! One round of one build: runs the mode on a new server with an empty directory.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;

use crate::modes::{fanout, post, read, swarm};
use crate::options::{Mode, Options};
use crate::statistics::Ratios;

/// The measurement of one round.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// Acts (frames in `fanout`, reads in `read`) a second.
    pub per_second: f64,
    /// 99th percentile of the latencies, in milliseconds.
    pub p99_ms: f64,
    /// The server's processor time an act, user and system together, in microseconds.
    pub cpu_micros: f64,
    /// Cores that processes other than server and generator kept busy during the round.
    pub other_cores: f64,
    /// Calls without an understandable answer.
    pub failed: u64,
}

impl Measurement {
    /// The ratios of this round's values to those of the base.
    pub fn over(&self, base: &Self) -> Ratios {
        Ratios {
            rate: self.per_second / base.per_second,
            p99: self.p99_ms / base.p99_ms,
            cpu: self.cpu_micros / base.cpu_micros,
        }
    }
}

/// Runs the mode once on a build of the server.
///
/// # Errors
/// If the round fails, or its verification finds a violation.
pub async fn measure(options: &Options, binary: &Path) -> anyhow::Result<Measurement> {
    let options = Options { binary: Some(binary.to_owned()), ..options.clone() };
    let report = match options.mode {
        // Not through `modes::run`, where --stored and --prefill start comparisons of their own.
        Mode::Post | Mode::Hot => post::run(&options).await?,
        Mode::Fanout => fanout::run(&options).await?,
        Mode::Swarm => swarm::run(&options).await?,
        Mode::Read => read::run(&options).await?,
        Mode::Ceiling | Mode::Idle | Mode::Inbox | Mode::Crash | Mode::Soak | Mode::Abuse => {
            bail!("{} cannot be compared", options.mode.name())
        }
    };
    ensure!(
        report.violations == 0,
        "{} violations, the first: {}",
        report.violations,
        report.violations_told.first().map_or("-", String::as_str)
    );
    let [round] = report.rounds.as_slice() else {
        bail!("{} rounds instead of one", report.rounds.len());
    };
    let server = round.server.as_ref().context("the server's process was not measured")?;
    let acts = round.per_second * round.seconds;
    let own_cores = server.cpu_cores + round.generator.cpu_cores;
    Ok(Measurement {
        per_second: round.per_second,
        p99_ms: round.latency.p99_ms,
        cpu_micros: server.cpu_seconds * 1e6 / acts,
        other_cores: (round.generator.machine_cores - own_cores).max(0.0),
        failed: report.failed,
    })
}
