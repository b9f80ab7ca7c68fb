//! `post`, `hot`, `soak` and `ceiling`: pure writes, over many threads or one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context as _;

use super::commits::Commits;
use super::{measured, rest};
use crate::cast::Cast;
use crate::ceiling::{self, Playing};
use crate::options::{Mode, Options};
use crate::report::{Report, bar};
use crate::site::Site;
use crate::verify::{Findings, readback};
use crate::work::{Course, Work};

/// What the forum adds to a body when it stores it: ids, names, times, the turn.
const RECORD_EXTRA_BYTES: usize = 100;
/// The answer of a forum that was not asked: a message and its thread beside the body.
const ANSWER_EXTRA_BYTES: usize = 950;
/// `hot` lifts the limit of a thread, as its load would fill one within a second.
pub const HOT_MESSAGES_MAX: u32 = 1_000_000;
/// In a soak, this many slices of time are compared.
const SOAK_SLICES: usize = 10;

/// Only the ceiling.
pub async fn ceiling(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::new(options);
    let bare = Bare::start(options, options.body + ANSWER_EXTRA_BYTES)?;
    for _ in 0..options.rounds {
        bare.round(options, &mut report).await?;
    }
    report.count(&bare.work.tally);
    report.judge(&bare.work.findings);
    report.compare();
    if options.listeners > 0 {
        super::fanout::ceiling(options, &mut report).await?;
    }
    Ok(report)
}

/// A ceiling that plays, and the same writers upon it.
pub struct Bare {
    playing: Playing,
    work: Arc<Work>,
}

impl Bare {
    /// Starts one that answers with so many bytes.
    pub fn start(options: &Options, answer_bytes: usize) -> anyhow::Result<Self> {
        let record_bytes = options.body + RECORD_EXTRA_BYTES;
        let sizes = [record_bytes.to_string(), answer_bytes.to_string()];
        let playing = Playing::start(ceiling::WRITES, &sizes)?;
        let host = playing.address.to_string();
        let cast = Arc::new(Cast::bare(&host, options.agents));
        let work = Work::ceiling(playing.address, cast, options.threads, options.body);
        Ok(Self { playing, work: Arc::new(work) })
    }

    /// One round of it.
    pub async fn round(&self, options: &Options, report: &mut Report) -> anyhow::Result<()> {
        let course = Course { rate: None, ..course(options) };
        let pid = self.playing.pid();
        let (round, _) = measured("ceiling", &self.work, course, Some(pid)).await?;
        report.ceiling_rounds.push(round);
        rest(vec![pid]).await
    }

    /// What the generator found wrong with it.
    pub fn findings(&self) -> &Findings {
        &self.work.findings
    }
}

/// How a round of this mode goes.
pub fn course(options: &Options) -> Course {
    Course {
        connections: options.connections,
        duration: options.duration,
        rate: options.rate,
        burst: options.burst,
        slices: if options.mode == Mode::Soak { SOAK_SLICES } else { 1 },
    }
}

/// Writes, alternating with the ceiling, then reads everything back.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let hot = options.mode == Mode::Hot;
    let keys =
        if hot { vec![format!("limits.thread_messages_max={HOT_MESSAGES_MAX}")] } else { vec![] };
    let mut site = Site::prepare(options, &keys).await?;
    let cast = Arc::new(Cast::hire(&site, options.agents, options.mcp).await?);
    let mut report = Report::new(options);
    store_beside(options, &site, &cast).await?;
    let work =
        Work::forum(site.address, Arc::clone(&cast), options.threads, options.body, options.seed);
    let work = if hot { work.with_messages_max(HOT_MESSAGES_MAX) } else { work };
    let work = Arc::new(work);
    let total = options.threads * (options.prefill + 1);
    let filling = bar(total as u64, "opening threads");
    work.fill(options.connections, options.prefill, &filling).await?;
    filling.finish_and_clear();
    super::warm_up(options, &site, &work).await?;
    let bare = prepare_ceiling(options, &site, &work).await?;
    let mut commits = Commits::default();
    for _ in 0..options.rounds {
        if let Some(bare) = &bare {
            bare.round(options, &mut report).await?;
        }
        let name = options.mode.name();
        commits.begin(&site).await?;
        let (round, outcome) = measured(name, &work, course(options), site.pid()).await?;
        commits.end(&site, round.seconds).await?;
        if options.mode == Mode::Soak {
            level(&mut report, &round, &outcome, &work.findings);
        }
        report.rounds.push(round);
        rest(site.pid().into_iter().collect()).await?;
    }
    if let Some(connections) = options.overload {
        super::overload::round(options, connections, &site, &work, &mut report).await?;
    }
    let records = work.records();
    let reading = bar(records.len() as u64, "reading back");
    let seen =
        readback::threads(site.address, &site.admin(), records, &work.findings, &reading).await?;
    reading.finish_and_clear();
    report.figure("messages read back", seen as f64);
    report.count(&work.tally);
    report.judge(&work.findings);
    if let Some(bare) = &bare {
        report.judge(bare.findings());
    }
    report.compare();
    commits.tell(&mut report);
    report.note(site.stop());
    Ok(report)
}

/// Opens threads that nobody speaks in afterwards.
pub async fn store_beside(options: &Options, site: &Site, cast: &Arc<Cast>) -> anyhow::Result<()> {
    if options.stored == 0 {
        return Ok(());
    }
    let seed = options.seed ^ 0x5707;
    let stored = Work::forum(site.address, Arc::clone(cast), options.stored, options.body, seed);
    let filling = bar(options.stored as u64, "storing threads");
    Arc::new(stored).fill(options.connections, 0, &filling).await?;
    filling.finish_and_clear();
    rest(site.pid().into_iter().collect()).await
}

/// A ceiling that answers with as many bytes as the forum just did, where the comparison makes
/// sense: on this machine, and in a closed loop.
async fn prepare_ceiling(
    options: &Options,
    site: &Site,
    work: &Arc<Work>,
) -> anyhow::Result<Option<Bare>> {
    if !options.ceiling || options.rate.is_some() || !site.is_local() {
        return Ok(None);
    }
    let probe = Course {
        connections: 1,
        duration: std::time::Duration::from_millis(300),
        ..course(options)
    };
    let bar = indicatif::ProgressBar::hidden();
    work.round(probe, &bar).await.context("the first messages")?;
    let answer_bytes = match work.answer_bytes.load(Ordering::Relaxed) {
        // All goes over MCP, whose answers are twice as long; the ceiling stays that of HTTP.
        0 => options.body + ANSWER_EXTRA_BYTES,
        bytes => bytes,
    };
    Bare::start(options, answer_bytes).map(Some)
}

/// A soak must stay level: memory from half time on, latencies from the second slice on.
fn level(
    report: &mut Report,
    round: &crate::report::Round,
    outcome: &crate::work::Yield,
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
    super::memory_level(server, report, findings);
}
