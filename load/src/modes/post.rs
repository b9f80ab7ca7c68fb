//! `post`, `hot`, `soak` and `ceiling`: writes only, to many threads or one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context as _;

use super::commits::Commits;
use crate::ceiling::{CeilingKind, CeilingProcess};
use crate::modes::measurement::{self, measured_round, wait_idle};
use crate::options::{Mode, Options};
use crate::participants::Participants;
use crate::report::{Report, bar};
use crate::round::{RoundSpec, SOAK_SLICES};
use crate::target::Target;
use crate::verify::{Findings, readback};
use crate::write_load::WriteLoad;

/// Bytes of a stored record beyond the body: ids, names, times, the turn.
const RECORD_EXTRA_BYTES: usize = 100;
/// Bytes of an answer beyond the body, assumed where no forum has answered over HTTP.
pub const ANSWER_EXTRA_BYTES: usize = 950;
/// `hot` raises the limit of a thread, which its load would reach within a second.
pub const HOT_MESSAGES_MAX: u32 = 1_000_000;

/// Runs the ceiling alone.
pub async fn ceiling(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::new(options);
    let ceiling = WriteCeiling::start(options, options.body + ANSWER_EXTRA_BYTES)?;
    for _ in 0..options.rounds {
        ceiling.round(options, &mut report).await?;
    }
    report.add_tally(&ceiling.load.tally);
    report.add_findings(&ceiling.load.findings);
    report.compare();
    if options.listeners > 0 {
        super::fanout::ceiling(options, &mut report).await?;
    }
    Ok(report)
}

/// A running ceiling for writes, with its load.
pub struct WriteCeiling {
    process: CeilingProcess,
    load: Arc<WriteLoad>,
}

impl WriteCeiling {
    /// Starts a ceiling whose answers have `answer_bytes`.
    pub fn start(options: &Options, answer_bytes: usize) -> anyhow::Result<Self> {
        let record_bytes = options.body + RECORD_EXTRA_BYTES;
        let sizes = [record_bytes.to_string(), answer_bytes.to_string()];
        let process = CeilingProcess::start(CeilingKind::Writes, &sizes)?;
        let host = process.address.to_string();
        let participants = Arc::new(Participants::without_tokens(&host, options.agents));
        let load = WriteLoad::ceiling(process.address, participants, options.threads, options.body);
        Ok(Self { process, load: Arc::new(load) })
    }

    /// Runs one round, in a closed loop.
    pub async fn round(&self, options: &Options, report: &mut Report) -> anyhow::Result<()> {
        let spec = RoundSpec { rate: None, ..RoundSpec::of(options) };
        let pid = self.process.pid();
        let (round, _) = measured_round("ceiling", &self.load, spec, Some(pid)).await?;
        report.ceiling_rounds.push(round);
        wait_idle(vec![pid]).await
    }

    /// Violations by the ceiling.
    pub fn findings(&self) -> &Findings {
        &self.load.findings
    }
}

/// Runs rounds of writes, alternating with the ceiling, then reads all threads back.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let hot = options.mode == Mode::Hot;
    let keys =
        if hot { vec![format!("limits.thread_messages_max={HOT_MESSAGES_MAX}")] } else { vec![] };
    let mut target = Target::prepare(options, &keys).await?;
    let participants = Arc::new(Participants::create(&target, options.agents, options.mcp).await?);
    let mut report = Report::new(options);
    store_threads(options, &target, &participants).await?;
    let load = WriteLoad::forum(
        target.address,
        Arc::clone(&participants),
        options.threads,
        options.body,
        options.seed,
    );
    let load = if hot { load.with_messages_max(HOT_MESSAGES_MAX) } else { load };
    let load = Arc::new(load);
    let total = options.threads * (options.prefill + 1);
    let filling = bar(total as u64, "opening threads");
    load.open_threads(options.connections, options.prefill, &filling).await?;
    filling.finish_and_clear();
    measurement::warm_up(options, &target, &load).await?;
    let ceiling = start_ceiling(options, &target, &load).await?;
    let mut commits = Commits::default();
    for _ in 0..options.rounds {
        if let Some(ceiling) = &ceiling {
            ceiling.round(options, &mut report).await?;
        }
        let name = options.mode.name();
        commits.begin(&target).await?;
        let (round, outcome) =
            measured_round(name, &load, RoundSpec::of(options), target.pid()).await?;
        commits.end(&target, round.seconds).await?;
        if options.mode == Mode::Soak {
            check_level(&mut report, &round, &outcome, &load.findings);
        }
        report.rounds.push(round);
        wait_idle(target.pid().into_iter().collect()).await?;
    }
    if let Some(connections) = options.overload {
        super::overload::round(options, connections, &target, &load, &mut report).await?;
    }
    let records = load.records();
    let reading = bar(records.len() as u64, "reading back");
    let seen =
        readback::threads(target.address, &target.admin(), records, &load.findings, &reading)
            .await?;
    reading.finish_and_clear();
    report.figure("messages read back", seen as f64);
    report.add_tally(&load.tally);
    report.add_findings(&load.findings);
    if let Some(ceiling) = &ceiling {
        report.add_findings(ceiling.findings());
    }
    report.compare();
    commits.report(&mut report);
    report.add_result(target.stop());
    Ok(report)
}

/// Opens the threads of `--stored`, which get no further act.
pub async fn store_threads(
    options: &Options,
    target: &Target,
    participants: &Arc<Participants>,
) -> anyhow::Result<()> {
    if options.stored == 0 {
        return Ok(());
    }
    let seed = options.seed ^ 0x5707;
    let stored = WriteLoad::forum(
        target.address,
        Arc::clone(participants),
        options.stored,
        options.body,
        seed,
    );
    let filling = bar(options.stored as u64, "storing threads");
    Arc::new(stored).open_threads(options.connections, 0, &filling).await?;
    filling.finish_and_clear();
    wait_idle(target.pid().into_iter().collect()).await
}

/// Starts a ceiling whose answers have the size of the forum's, if the server is on this machine
/// and the loop is closed.
async fn start_ceiling(
    options: &Options,
    target: &Target,
    load: &Arc<WriteLoad>,
) -> anyhow::Result<Option<WriteCeiling>> {
    if !options.ceiling || options.rate.is_some() || !target.is_local() {
        return Ok(None);
    }
    let probe = RoundSpec {
        connections: 1,
        duration: std::time::Duration::from_millis(300),
        ..RoundSpec::of(options)
    };
    let bar = indicatif::ProgressBar::hidden();
    load.run_round(probe, &bar).await.context("the first messages")?;
    let answer_bytes = match load.answer_bytes.load(Ordering::Relaxed) {
        // All acts use MCP, whose answers are twice as long; the ceiling stays that of HTTP.
        0 => options.body + ANSWER_EXTRA_BYTES,
        bytes => bytes,
    };
    WriteCeiling::start(options, answer_bytes).map(Some)
}

/// Checks that a soak stays level: memory from half time on, latencies from the second slice on.
fn check_level(
    report: &mut Report,
    round: &crate::report::Round,
    outcome: &crate::round::RoundOutcome,
    findings: &Findings,
) {
    let p99s: Vec<f64> = (0..SOAK_SLICES)
        .map(|slice| outcome.latencies.merged(Some(slice)).value_at_quantile(0.99) as f64 / 1000.0)
        .collect();
    for (slice, p99) in p99s.iter().enumerate() {
        report.figure(&format!("p99 ms in tenth {}", slice + 1), *p99);
    }
    let early = crate::measure::median(&p99s[1..4]);
    let late = crate::measure::median(&p99s[7..]);
    if late > early * 2.0 + 5.0 {
        findings.add(format!("latency does not stay level: p99 {early:.1} ms, later {late:.1} ms"));
    }
    let Some(server) = &round.server else { return };
    measurement::check_memory_level(server, report, findings);
}
