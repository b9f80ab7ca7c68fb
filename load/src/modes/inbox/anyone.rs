//! The server's CPU time for a question to anyone, with few participants known and with many.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;

use super::question;
use crate::concurrent::post_each;
use crate::measure::median;
use crate::modes::measurement::wait_idle;
use crate::options::Options;
use crate::participants::Participants;
use crate::process_sampler::cpu_ticks;
use crate::report::{Report, bar};
use crate::target::Target;

/// Few participants are a thousandth of the many, at least this number.
const FEW_MIN: usize = 8;
/// Tokens on either server.
const LINES: usize = 4;
/// Questions of one round.
const QUESTIONS: usize = 20_000;
/// The Archiver moves an act within this time; its CPU time counts for the question.
const ARCHIVE_WAIT: Duration = Duration::from_millis(2_500);
/// Largest ratio of CPU time with many known to that with few.
const RATIO_MAX: f64 = 1.1;
const MICROS_A_TICK: f64 = 10_000.0;

/// A server where a number of participants are known.
struct KnownServer {
    target: Target,
    participants: Arc<Participants>,
    serial: AtomicUsize,
    micros: Vec<f64>,
}

impl KnownServer {
    /// Starts a server and opens `--agents` threads; each known participant opens at least one.
    async fn prepare(options: &Options, known: usize) -> anyhow::Result<Self> {
        let target = Target::prepare(options, &[]).await?;
        let participants =
            Arc::new(Participants::create_on_lines(&target, known, LINES, 0.0).await?);
        let side = Self { target, participants, serial: AtomicUsize::new(0), micros: Vec::new() };
        side.ask(options, options.agents, known, "making participants known").await?;
        Ok(side)
    }

    async fn ask(
        &self,
        options: &Options,
        count: usize,
        askers: usize,
        what: &str,
    ) -> anyhow::Result<()> {
        let first = self.serial.fetch_add(count, Ordering::Relaxed);
        let asking = options.clone();
        let progress = bar(count as u64, what);
        let envelope = move |index: usize, out: &mut Vec<u8>| {
            question(out, &asking, first + index);
            index % askers
        };
        let (address, connections) = (self.target.address, options.connections);
        post_each(address, &self.participants, connections, count, &progress, envelope).await?;
        progress.finish_and_clear();
        self.wait_archived().await.map(drop)
    }

    async fn wait_archived(&self) -> anyhow::Result<u32> {
        let pid = self.target.pid().context("the CPU time of a remote server cannot be read")?;
        tokio::time::sleep(ARCHIVE_WAIT).await;
        wait_idle(vec![pid]).await?;
        Ok(pid)
    }

    /// Runs one round of questions by `askers` participants; adds the CPU time of each.
    async fn round(&mut self, options: &Options, askers: usize) -> anyhow::Result<()> {
        let pid = self.wait_archived().await?;
        let count = QUESTIONS.min(options.agents);
        let before = cpu_ticks(pid);
        self.ask(options, count, askers, "questions to anyone").await?;
        let ticks = cpu_ticks(pid) - before;
        self.micros.push(ticks as f64 * MICROS_A_TICK / count as f64);
        Ok(())
    }
}

/// Runs the part: pairs of rounds, one on each server.
pub async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let known = options.agents.max(FEW_MIN);
    let few = (known / 1_000).max(FEW_MIN);
    let mut sides =
        [KnownServer::prepare(options, few).await?, KnownServer::prepare(options, known).await?];
    for round in 0..options.rounds {
        for turn in 0..sides.len() {
            sides[(round + turn) % 2].round(options, few).await?;
        }
    }
    let [with_few, with_many] = [0, 1].map(|side: usize| median(&sides[side].micros));
    report.figure(&format!("server µs a question, {few} known"), with_few);
    report.figure(&format!("server µs a question, {known} known"), with_many);
    let what = "work for a question with many known, times";
    report.at_most(what, with_many / with_few.max(0.001), RATIO_MAX);
    for side in &mut sides {
        report.acknowledged += side.serial.load(Ordering::Relaxed) as u64;
        report.add_result(side.target.stop());
    }
    Ok(())
}
