//! Listeners that stop reading under the load of `fanout`: each is cut off with 4008, reads its
//! queued frames, resumes from its cursor and must end as complete as the others.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock;
use crate::fanout_tracker::FanoutListener;
use crate::measure::median;
use crate::modes::measurement::mib;
use crate::report::{Report, Round};
use crate::socket::Request;
use crate::target::Target;
use crate::verify::Findings;
use crate::verify::feed::FeedChecker;

/// Interval between reads of the metric `CUT`.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Largest time from the first read to the end or to catching up.
const PATIENCE: Duration = Duration::from_secs(60);
/// The server's counter of listeners cut off as slow.
const CUT: &str = "parley_feed_dropped_total{cause=\"slow_consumer\"}";

/// Largest p99 of the others beside a stalled listener: a factor of p99 without, plus milliseconds.
const P99_FACTOR: f64 = 1.25;
const P99_EXTRA_MS: f64 = 1.0;
/// Largest further growth of the server's memory beside a stalled listener.
const GROWTH_MIB_MAX: f64 = 8.0;

/// The outcome of one stalled listener.
#[derive(Debug, Default)]
pub struct StallOutcome {
    /// Whether it was cut off with 4008.
    pub cut: bool,
    /// Order of all frames that the listener received.
    pub checker: FeedChecker,
}

/// The stalled listeners of one round.
pub struct StalledListeners {
    tasks: Vec<JoinHandle<anyhow::Result<StallOutcome>>>,
    reading: watch::Sender<bool>,
    wanted: watch::Sender<u64>,
}

impl StalledListeners {
    /// Connects the listeners; none reads yet.
    pub async fn begin(requests: Vec<Request>, findings: &Arc<Findings>) -> anyhow::Result<Self> {
        let (reading, may_read) = watch::channel(false);
        let (wanted, want) = watch::channel(u64::MAX);
        let mut tasks = Vec::new();
        for request in requests {
            let listener = FanoutListener::open(&request, true).await.context("a slow listener")?;
            let (may_read, want) = (may_read.clone(), want.clone());
            tasks.push(tokio::spawn(stall(
                listener,
                request,
                may_read,
                want,
                Arc::clone(findings),
            )));
        }
        Ok(Self { tasks, reading, wanted })
    }

    /// Number of listeners that the server has cut off as slow.
    pub async fn cut_total(target: &Target) -> anyhow::Result<f64> {
        Ok(target.metric(CUT).await?.unwrap_or(0.0))
    }

    /// Lets the listeners read once the server has cut them all off; waits without limit.
    pub async fn read_when_cut(&self, target: &Target, before: f64) -> anyhow::Result<()> {
        while Self::cut_total(target).await? < before + self.tasks.len() as f64 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let _ = self.reading.send(true);
        Ok(())
    }

    /// Lets the listeners catch up and compares their frames with those of the others.
    pub async fn end(
        self,
        all: &FeedChecker,
        findings: &Findings,
    ) -> anyhow::Result<Vec<StallOutcome>> {
        let _ = self.reading.send(true);
        let _ = self.wanted.send(all.items);
        let mut outcomes = Vec::new();
        for task in self.tasks {
            let outcome = tokio::time::timeout(PATIENCE, task)
                .await
                .context("a slow listener is neither served nor cut off")???;
            let received = &outcome.checker;
            if received.items != all.items || received.order != all.order {
                let (received, all) = (received.items, all.items);
                findings.add(format!("a slow listener ends with {received} of {all} frames"));
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }
}

async fn stall(
    listener: FanoutListener,
    request: Request,
    mut may_read: watch::Receiver<bool>,
    mut wanted: watch::Receiver<u64>,
    findings: Arc<Findings>,
) -> anyhow::Result<StallOutcome> {
    // An error means that the round was aborted.
    may_read.wait_for(|may| *may).await?;
    let mut outcome = StallOutcome::default();
    let mut listener = listener;
    let begun = clock::now();
    loop {
        let (closed, wrong) = listener.drain_until(&mut wanted).await;
        findings.check(wrong);
        let checker = listener.into_checker();
        let Some((code, reason)) = closed else {
            outcome.checker = checker;
            return Ok(outcome);
        };
        if code == 4008 && !outcome.cut {
            outcome.cut = true;
            if reason != format!("slow_consumer {}", checker.cursor) {
                findings.add(format!(
                    "a slow listener at {} was closed with: {reason}",
                    checker.cursor
                ));
            }
        } else {
            findings.add(format!("a slow listener was cut off with {code} {reason}"));
        }
        anyhow::ensure!(clock::now() - begun < PATIENCE, "a slow listener does not catch up");
        listener = FanoutListener::resume(&request, checker)
            .await
            .context("a slow listener that comes back")?;
    }
}

/// Compares rounds beside a stalled listener with the report's rounds, which have none.
pub fn compare(report: &mut Report, with: &[Round]) {
    let without = report.rounds.clone();
    let p99 = |rounds: &[Round]| {
        median(&rounds.iter().map(|round| round.latency.p99_ms).collect::<Vec<_>>())
    };
    let (alone, beside) = (p99(&without), p99(with));
    report.figure("p99 of the others without one that stalls, ms", alone);
    report.figure("p99 of the others beside one that stalls, times", beside / alone.max(0.001));
    let bound = alone * P99_FACTOR + P99_EXTRA_MS;
    report.at_most("p99 of the others beside one that stalls, ms", beside, bound);
    let growth = |rounds: &[Round]| {
        let usage = rounds.iter().filter_map(|round| round.server.as_ref());
        median(&usage.map(|it| mib(it.rss_max) - mib(it.rss_start)).collect::<Vec<_>>())
    };
    if with.iter().all(|round| round.server.is_some()) {
        let more = growth(with) - growth(&without);
        report.at_most("growth of the server beside it, more MiB", more, GROWTH_MIB_MAX);
    }
}
