//! One measured round of writers, the warm-up before it, the wait for idle processes after it.

use std::sync::Arc;

use crate::options::Options;
use crate::process_sampler::{self, ProcessSampler};
use crate::report::{Report, Round};
use crate::round::{RoundOutcome, RoundSpec};
use crate::target::Target;
use crate::write_load::WriteLoad;

/// Runs one round of writers and samples the server `pid` and the generator meanwhile.
pub async fn measured_round(
    name: &str,
    load: &Arc<WriteLoad>,
    spec: RoundSpec,
    pid: Option<u32>,
) -> anyhow::Result<(Round, RoundOutcome)> {
    let length = spec.rate.unwrap_or(30_000.0) * spec.duration.as_secs_f64();
    let bar = crate::report::bar(length as u64, name);
    let result = sampled_round(name, pid, load.run_round(spec, &bar)).await;
    bar.finish_and_clear();
    result
}

/// Awaits one round and samples the server `pid` and the generator meanwhile.
pub async fn sampled_round(
    name: &str,
    pid: Option<u32>,
    round: impl Future<Output = anyhow::Result<RoundOutcome>>,
) -> anyhow::Result<(Round, RoundOutcome)> {
    let server = pid.map(ProcessSampler::start);
    let generator = ProcessSampler::of_generator();
    let outcome = round.await;
    let generator = generator.finish();
    let server = server.map(ProcessSampler::finish);
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

/// Runs the warm-up, if one is configured. Its acts are verified like all others, but its rate is
/// not reported. Returns once the server is idle: feeds that open later must not bring its acts.
pub async fn warm_up(
    options: &Options,
    target: &Target,
    load: &Arc<WriteLoad>,
) -> anyhow::Result<()> {
    if !options.warm_up.is_zero() {
        let spec = RoundSpec { duration: options.warm_up, ..RoundSpec::of(options) };
        load.run_round(spec, &indicatif::ProgressBar::hidden()).await?;
        wait_idle(target.pid().into_iter().collect()).await?;
    }
    Ok(())
}

/// Bytes in MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// Waits until the processes are idle, on a thread for blocking calls.
pub async fn wait_idle(pids: Vec<u32>) -> anyhow::Result<()> {
    tokio::task::spawn_blocking(move || pids.into_iter().for_each(process_sampler::wait_idle))
        .await?;
    Ok(())
}

/// Checks that memory at the end exceeds memory at half time by at most 5 % and 16 MiB.
pub fn check_memory_level(
    server: &crate::process_sampler::Usage,
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
