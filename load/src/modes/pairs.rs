//! The cost of an act by the amount of stored data: rounds with much stored alternate with rounds
//! without.

use std::sync::Arc;

use super::commits::Commits;
use super::post::{HOT_MESSAGES_MAX, store_threads};
use crate::measure::{median, spread};
use crate::modes::measurement::{measured_round, wait_idle};
use crate::options::Options;
use crate::participants::Participants;
use crate::report::{Report, Round, bar};
use crate::round::RoundSpec;
use crate::target::Target;
use crate::verify::readback;
use crate::write_load::WriteLoad;

/// Least rate with many threads stored, as a share of the rate without.
const STORED_SHARE_MIN: f64 = 0.8;
/// Least rate on a long thread, as a share of the rate on an empty one.
const PREFILLED_SHARE_MIN: f64 = 0.5;
/// Threads of each kind in one round, written to one after the other.
const THREADS_A_ROUND: usize = 5;
/// Acts on each thread: few, so that an empty thread stays nearly empty.
const ACTS_A_THREAD: usize = 1_000;

/// Whether `post` compares two servers.
pub fn are_stored(options: &Options) -> bool {
    options.stored > 0 && options.rate.is_none() && options.url.is_none()
}

/// Whether `hot` compares long threads with empty ones.
pub fn are_prefilled(options: &Options) -> bool {
    options.prefill > 0 && options.rate.is_none()
}

struct PairedServer {
    name: &'static str,
    target: Target,
    load: Arc<WriteLoad>,
    commits: Commits,
    rounds: Vec<Round>,
}

impl PairedServer {
    async fn prepare(name: &'static str, options: &Options) -> anyhow::Result<Self> {
        let target = Target::prepare(options, &[]).await?;
        let participants =
            Arc::new(Participants::create(&target, options.agents, options.mcp).await?);
        store_threads(options, &target, &participants).await?;
        let (threads, body, seed) = (options.threads, options.body, options.seed);
        let load = Arc::new(WriteLoad::forum(target.address, participants, threads, body, seed));
        let filling = bar(threads as u64, "opening threads");
        load.open_threads(options.connections, options.prefill, &filling).await?;
        filling.finish_and_clear();
        let (commits, rounds) = (Commits::default(), Vec::new());
        Ok(Self { name, target, load, commits, rounds })
    }

    async fn round(&mut self, options: &Options) -> anyhow::Result<()> {
        self.commits.begin(&self.target).await?;
        let pid = self.target.pid();
        let (round, _) = measured_round(self.name, &self.load, RoundSpec::of(options), pid).await?;
        self.commits.end(&self.target, round.seconds).await?;
        self.rounds.push(round);
        wait_idle(pid.into_iter().collect()).await
    }

    fn rates(&self) -> Vec<f64> {
        self.rounds.iter().map(|round| round.per_second).collect()
    }

    async fn end(mut self, report: &mut Report) -> anyhow::Result<()> {
        let (records, findings) = (self.load.records(), &self.load.findings);
        let reading = bar(records.len() as u64, "reading back");
        let (address, admin) = (self.target.address, self.target.admin());
        readback::threads(address, &admin, records, findings, &reading).await?;
        reading.finish_and_clear();
        report.add_tally(&self.load.tally);
        report.add_findings(findings);
        report.rounds.append(&mut self.rounds);
        report.add_result(self.target.stop());
        Ok(())
    }
}

/// Runs `post --stored`: the same threads on two servers, one with many more threads.
pub async fn stored(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::new(options);
    let alone = Options { stored: 0, ..options.clone() };
    let mut without = PairedServer::prepare("without", &alone).await?;
    let mut with = PairedServer::prepare("stored", options).await?;
    for round in 0..options.rounds {
        // The first server alternates, so that a drift of the machine affects both.
        if round % 2 == 0 {
            without.round(options).await?;
            with.round(options).await?;
        } else {
            with.round(options).await?;
            without.round(options).await?;
        }
    }
    let share = median(&with.rates()) / median(&without.rates()).max(1.0);
    report.figure("rounds without more stored lie apart by, %", spread(&without.rates()) * 100.0);
    report.at_least("rate with more stored, share of that without", share, STORED_SHARE_MIN);
    with.commits.report(&mut report);
    without.end(&mut report).await?;
    with.end(&mut report).await?;
    Ok(report)
}

/// Runs `hot --prefill`: acts on long threads, and as many on empty ones.
pub async fn prefilled(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::new(options);
    let keys = [format!("limits.thread_messages_max={HOT_MESSAGES_MAX}")];
    let mut target = Target::prepare(options, &keys).await?;
    let participants = Arc::new(Participants::create(&target, options.agents, options.mcp).await?);
    let mut rates = [Vec::new(), Vec::new()];
    let progress = bar(options.rounds as u64 * 2, "rounds");
    for round in 0..options.rounds {
        let mut kinds = [0, 1];
        kinds.rotate_left(round % 2);
        for kind in kinds {
            let prefill = if kind == 0 { 0 } else { options.prefill };
            let seed = options.seed ^ ((round as u64 * 2 + kind as u64 + 1) << 40);
            rates[kind].push(
                rate_on_threads(options, &target, &participants, prefill, seed, &mut report)
                    .await?,
            );
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    let [empty, full] = rates.map(|rates| median(&rates));
    report.figure("acts a second on an empty thread", empty);
    report.figure("acts a second on a thread that is long", full);
    let share = full / empty.max(1.0);
    report.at_least("rate of a long thread, share of an empty one's", share, PREFILLED_SHARE_MIN);
    report.add_result(target.stop());
    Ok(report)
}

/// Writes to threads of `prefill` messages, one after the other; returns the acts a second.
async fn rate_on_threads(
    options: &Options,
    target: &Target,
    participants: &Arc<Participants>,
    prefill: usize,
    seed: u64,
    report: &mut Report,
) -> anyhow::Result<f64> {
    let participants = Arc::clone(participants);
    let load = WriteLoad::forum(target.address, participants, THREADS_A_ROUND, options.body, seed);
    let load = Arc::new(load.with_messages_max(HOT_MESSAGES_MAX));
    let quiet = indicatif::ProgressBar::hidden();
    load.open_threads(options.connections, prefill, &quiet).await?;
    wait_idle(target.pid().into_iter().collect()).await?;
    let acts = THREADS_A_ROUND * ACTS_A_THREAD;
    let places = (0..acts).map(|act| act / ACTS_A_THREAD).collect();
    let took = load.post_to_slots(options.connections, places, false, &quiet).await?;
    let (address, admin, records) = (target.address, target.admin(), load.records());
    readback::threads(address, &admin, records, &load.findings, &quiet).await?;
    report.add_tally(&load.tally);
    report.add_findings(&load.findings);
    Ok(acts as f64 / took.as_secs_f64().max(0.001))
}
