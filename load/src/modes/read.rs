//! `read`: small reads by many readers, without writes: a claim, a thread of ten messages or an
//! empty inbox. Every answer is compared with the one that was verified before the rounds.

mod content;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::ProgressBar;

use self::content::Item;
use super::measurement::{sampled_round, wait_idle};
use crate::clock;
use crate::http::Connection;
use crate::measure::{Latencies, Tally};
use crate::options::Options;
use crate::pace::{Pace, wait_until_due};
use crate::participants::Participants;
use crate::report::{Report, bar};
use crate::rng::{self, Rng};
use crate::round::{RoundOutcome, RoundSpec};
use crate::target::Target;
use crate::verify::Findings;
use crate::wire::{Outcome, outcome};

/// How long calls may be under way after the end of a round.
const GRACE: Duration = Duration::from_secs(60);
/// A connection stops reading after more consecutive failures than this.
const FAILURES_MAX: u32 = 20;

/// The state that readers share over all rounds.
struct ReadLoad {
    address: SocketAddr,
    items: Vec<Item>,
    seed: u64,
    read: AtomicU64,
    tally: Tally,
    findings: Findings,
}

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut target = Target::prepare(options, &[]).await?;
    let mut report = Report::new(options);
    let participants = Arc::new(Participants::create(&target, options.agents, options.mcp).await?);
    let items = content::prepare(options, &target, &participants, &mut report).await?;
    let load = Arc::new(ReadLoad {
        address: target.address,
        items,
        seed: options.seed,
        read: AtomicU64::new(0),
        tally: Tally::default(),
        findings: Findings::default(),
    });
    let spec = RoundSpec::of(options);
    if !options.warm_up.is_zero() {
        let warm_up = RoundSpec { duration: options.warm_up, ..spec };
        load.run_round(warm_up, &ProgressBar::hidden()).await?;
    }
    wait_idle(target.pid().into_iter().collect()).await?;
    let progress = bar(options.rounds as u64, "rounds");
    for _ in 0..options.rounds {
        let quiet = ProgressBar::hidden();
        let round = load.run_round(spec, &quiet);
        let (round, _) = sampled_round(options.mode.name(), target.pid(), round).await?;
        report.rounds.push(round);
        wait_idle(target.pid().into_iter().collect()).await?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    report.figure("reads, each verified", load.read.load(Ordering::Relaxed) as f64);
    report.add_tally(&load.tally);
    report.add_findings(&load.findings);
    report.add_result(target.stop());
    Ok(report)
}

impl ReadLoad {
    /// Connects the readers of one round and runs it.
    async fn run_round(
        self: &Arc<Self>,
        spec: RoundSpec,
        bar: &ProgressBar,
    ) -> anyhow::Result<RoundOutcome> {
        let latencies = Arc::new(Latencies::new(spec.slices));
        let refusals = Arc::new(Latencies::new(1));
        let mut readers = Vec::with_capacity(spec.connections);
        for index in 0..spec.connections {
            readers.push(ReadConnection {
                load: Arc::clone(self),
                index,
                connection: Connection::open(self.address).await?,
                rng: Rng::new(self.seed, index as u64),
                latencies: Arc::clone(&latencies),
                refusals: Arc::clone(&refusals),
                bar: bar.clone(),
            });
        }
        let before = self.read.load(Ordering::Relaxed);
        let begun = clock::now();
        let tasks: Vec<_> =
            readers.into_iter().map(|reader| tokio::spawn(reader.run(spec, begun))).collect();
        let until = tokio::time::Instant::from_std(begun + spec.duration + GRACE);
        let mut ended = begun;
        for task in tasks {
            match tokio::time::timeout_at(until, task).await {
                Ok(end) => ended = ended.max(end?),
                Err(_) => bail!("calls are without an answer {GRACE:?} after the end of the round"),
            }
        }
        let acknowledged = self.read.load(Ordering::Relaxed) - before;
        Ok(RoundOutcome { acknowledged, elapsed: ended - begun, latencies, refusals })
    }
}

/// One connection that reads.
struct ReadConnection {
    load: Arc<ReadLoad>,
    index: usize,
    connection: Connection,
    rng: Rng,
    latencies: Arc<Latencies>,
    refusals: Arc<Latencies>,
    bar: ProgressBar,
}

impl ReadConnection {
    async fn run(mut self, spec: RoundSpec, begun: Instant) -> Instant {
        let until = begun + spec.duration;
        let mut pace =
            spec.rate.map(|rate| Pace::new(begun, rate, spec.burst, self.index, spec.connections));
        let mut failures = 0;
        while failures <= FAILURES_MAX {
            let due = match &mut pace {
                Some(pace) => wait_until_due(pace.next(), until).await,
                None => Some(clock::now()),
            };
            let Some(due) = due.filter(|due| *due < until) else { break };
            let item = self.rng.below(self.load.items.len() as u64) as usize;
            match self.read(item).await {
                Ok(true) => {
                    self.latencies.record(self.index, 0, clock::micros_since(due));
                    self.bar.inc(1);
                    failures = 0;
                }
                Ok(false) => self.refusals.record(self.index, 0, clock::micros_since(due)),
                Err(error) => {
                    self.load.tally.fail(error.to_string());
                    failures += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    if let Ok(connection) = Connection::open(self.load.address).await {
                        self.connection = connection;
                    }
                }
            }
        }
        clock::now()
    }

    /// Reads an item; true if the answer is the verified one, false if the read was refused or the
    /// answer is another, which is a violation.
    async fn read(&mut self, item: usize) -> anyhow::Result<bool> {
        let load = &self.load;
        let item = &load.items[item];
        let answer = self.connection.call(&item.request).await?;
        match outcome(item.binding, answer) {
            Outcome::Done(json) if rng::hash(json) == item.expected => {
                load.read.fetch_add(1, Ordering::Relaxed);
                Ok(true)
            }
            Outcome::Done(json) => {
                let text: String = String::from_utf8_lossy(json).chars().take(200).collect();
                load.findings.add(format!("{} is answered with a change: {text}", item.name));
                Ok(false)
            }
            Outcome::Refused { reason, .. } => {
                load.tally.refuse(&reason);
                Ok(false)
            }
            Outcome::Broken(text) => {
                load.tally.fail(text);
                Ok(false)
            }
        }
    }
}
