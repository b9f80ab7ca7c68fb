//! One file a mode.

mod commits;
pub mod crash;
pub mod fanout;
pub mod idle;
pub mod inbox;
pub mod overload;
mod pairs;
pub mod post;
mod stalled;
pub mod swarm;

use std::sync::Arc;

use crate::gauge::{Gauge, settle};
use crate::options::Options;
use crate::report::{Report, Round};
use crate::site::Site;
use crate::work::{Course, Work, Yield};

/// Runs one round of writers under gauges.
pub async fn measured(
    name: &str,
    work: &Arc<Work>,
    course: Course,
    pid: Option<u32>,
) -> anyhow::Result<(Round, Yield)> {
    let length = course.rate.unwrap_or(30_000.0) * course.duration.as_secs_f64();
    let bar = crate::report::bar(length as u64, name);
    let server = pid.map(Gauge::start);
    let generator = Gauge::own();
    let outcome = work.round(course, &bar).await;
    let generator = generator.finish();
    let server = server.map(Gauge::finish);
    bar.finish_and_clear();
    let outcome = outcome?;
    let seconds = outcome.elapsed.as_secs_f64().max(0.001);
    let round = Round {
        name: name.to_owned(),
        seconds,
        per_second: outcome.acknowledged as f64 / seconds,
        latency: (&outcome.latencies.merged(None)).into(),
        server,
        generator,
    };
    Ok((round, outcome))
}

/// Lets writers load the server before the first round, where a warm-up was asked for. What they
/// write is verified like the rest, but its rate counts nowhere. The server rests before this ends:
/// feeds that begin afterwards must not bring what the warm-up wrote.
pub async fn warm_up(options: &Options, site: &Site, work: &Arc<Work>) -> anyhow::Result<()> {
    if !options.warm_up.is_zero() {
        let course = Course { duration: options.warm_up, ..post::course(options) };
        work.round(course, &indicatif::ProgressBar::hidden()).await?;
        rest(site.pid().into_iter().collect()).await?;
    }
    Ok(())
}

/// Bytes as MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// Lets the processes come to rest before the next round, off the runtime's threads.
pub async fn rest(pids: Vec<u32>) -> anyhow::Result<()> {
    tokio::task::spawn_blocking(move || pids.into_iter().for_each(settle)).await?;
    Ok(())
}

/// Runs the mode that was chosen.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    use crate::options::Mode;
    match options.mode {
        Mode::Ceiling => post::ceiling(options).await,
        Mode::Post if pairs::are_stored(options) => pairs::stored(options).await,
        Mode::Hot if pairs::are_prefilled(options) => pairs::prefilled(options).await,
        Mode::Post | Mode::Hot | Mode::Soak => post::run(options).await,
        Mode::Swarm => swarm::run(options).await,
        Mode::Fanout => fanout::run(options).await,
        Mode::Idle => idle::run(options).await,
        Mode::Inbox => inbox::run(options).await,
        Mode::Crash => crash::run(options).await,
    }
}

/// Memory at the end may be that at half time, a twentieth and 16 MiB more.
pub fn memory_level(
    server: &crate::gauge::Usage,
    report: &mut Report,
    findings: &crate::verify::Findings,
) {
    let allowed = server.rss_half + server.rss_half / 20 + (16 << 20);
    report.figure("server memory at half time, MiB", mib(server.rss_half));
    let what = "server memory at the end, MiB";
    report.at_most(what, mib(server.rss_end), mib(allowed));
    if server.rss_end > allowed {
        let (half, end) = (server.rss_half >> 20, server.rss_end >> 20);
        findings.add(format!(
            "memory does not stay level: {half} MiB at half time, {end} MiB at the end"
        ));
    }
}
