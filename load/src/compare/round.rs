//! One round of one build: the mode as it is, on a server and a folder of its own.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;

use crate::modes::{fanout, post, swarm};
use crate::options::{Mode, Options};
use crate::statistics::Ratios;

/// What a round gave.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// Acts (frames in `fanout`) a second.
    pub per_second: f64,
    /// 99th percentile of the latencies.
    pub p99_ms: f64,
    /// The server's processor time an act, user and system together.
    pub cpu_micros: f64,
    /// Cores that processes other than server and generator kept busy meanwhile.
    pub other_cores: f64,
    /// Calls without an understandable answer.
    pub failed: u64,
}

impl Measurement {
    /// This round's values over those of the base.
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
        // Called past `modes::run`, in which --stored and --prefill begin comparisons of their own.
        Mode::Post | Mode::Hot => post::run(&options).await?,
        Mode::Fanout => fanout::run(&options).await?,
        Mode::Swarm => swarm::run(&options).await?,
        other => bail!("{} cannot be compared", other.name()),
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
