//! `crash`: kills and restarts the server under conversations, and checks that nothing is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;

use super::swarm::{SwarmRun, audit};
use crate::clock;
use crate::options::Options;
use crate::report::{Report, bar};
use crate::rng::Rng;
use crate::target::Target;
use crate::verify::readback::Reader;

/// How long the load continues after the restart.
const AFTERWARDS: Duration = Duration::from_millis(700);

/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut target = Target::prepare(options, &[]).await?;
    let mut report = Report::new(options);
    let (run, finished) = SwarmRun::start(options, &target, true).await?;
    let mut finished = finished.context("no queue of ended conversations")?;
    let swarm = Arc::clone(&run.swarm);
    let mut conversations: Vec<_> =
        (0..options.threads).map(|_| swarm.new_conversation()).collect();
    let mut done = Vec::new();
    let mut rng = Rng::new(options.seed, 0xc4a5);
    let mut starts = Vec::new();
    let progress = bar(options.rounds as u64, "kills");
    let quiet = indicatif::ProgressBar::hidden();
    for _ in 0..options.rounds {
        let longest = options.duration.as_millis() as u64;
        let load = Duration::from_millis(longest / 10 + rng.below(longest));
        let killing = kill_and_restart(&mut target, load, &mut starts);
        conversations = swarm.run(conversations, &quiet, killing).await?;
        while let Ok(conversation) = finished.try_recv() {
            done.push(conversation);
        }
        let mut reader = Reader::open(target.address, target.admin()).await?;
        // Older threads are audited once more at the end, after all kills.
        for conversation in done.iter().rev().take(2_000) {
            audit(&mut reader, &swarm, conversation).await?;
        }
        run.check(&target, &conversations).await?;
        progress.inc(1);
        if run.findings.count() > 0 {
            break;
        }
    }
    let mut reader = Reader::open(target.address, target.admin()).await?;
    for conversation in &done {
        audit(&mut reader, &swarm, conversation).await?;
    }
    progress.finish_and_clear();
    let resumed: u64 =
        run.listeners.expected_feeds.iter().map(|it| it.resumed.load(Ordering::Relaxed)).sum();
    run.listeners.stop();
    report.figure("kills", starts.len() as f64);
    report.figure("start after a kill, median ms", crate::measure::median(&starts));
    report.figure("start after a kill, longest ms", starts.iter().copied().fold(0.0, f64::max));
    report.figure("feeds that came back", resumed as f64);
    report.figure("threads read back", (done.len() + conversations.len()) as f64);
    report.add_tally(&swarm.tally);
    report.add_findings(&run.findings);
    report.add_result(target.stop());
    Ok(report)
}

async fn kill_and_restart(
    target: &mut Target,
    load: Duration,
    starts: &mut Vec<f64>,
) -> anyhow::Result<()> {
    tokio::time::sleep(load).await;
    let (server, _) =
        target.own_server.as_mut().context("only a server of our own can be killed")?;
    // On a blocking thread, so that the agents go on calling the server meanwhile.
    tokio::task::block_in_place(|| {
        server.kill()?;
        let begun = clock::now();
        server.start_again(None)?;
        starts.push(clock::seconds(clock::now() - begun) * 1000.0);
        anyhow::Ok(())
    })?;
    tokio::time::sleep(AFTERWARDS).await;
    Ok(())
}
