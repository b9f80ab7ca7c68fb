//! The last round of `post --overload`: more connections than the server can serve, each of which
//! sends again at once after any answer.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::measure::{Percentiles, median};
use crate::modes::measurement::wait_idle;
use crate::options::Options;
use crate::process_sampler::{ProcessSampler, rss};
use crate::report::{Report, Round, bar};
use crate::round::RoundSpec;
use crate::target::Target;
use crate::write_load::WriteLoad;

/// Least rate under overload, as a share of the rate of the rounds before.
const GOODPUT_MIN: f64 = 0.7;
/// Largest growth of the server's memory after all connections are open, in bytes.
const GROWTH_MAX: u64 = 64 << 20;
/// Largest time to the first acknowledgement after the load.
const RECOVERY_MAX: Duration = Duration::from_secs(1);
const MIB: f64 = 1_048_576.0;

/// Runs the round and adds a violation for each bound that is missed.
pub async fn round(
    options: &Options,
    connections: usize,
    target: &Target,
    load: &Arc<WriteLoad>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let pid = target.pid().context("only a server that the harness started can be sampled")?;
    let spec = RoundSpec { connections, ..RoundSpec::of(options) };
    let bar = bar(spec.duration.as_secs() * 20_000, "overload");
    let connected = load.connect(connections, &bar).await?;
    // The kernel accepts a connection before the server does; an answer shows that the server did.
    let connected = load.post_once_each(connected).await?;
    let standing = rss(pid);
    let (server, generator) = (ProcessSampler::start(pid), ProcessSampler::of_generator());
    let end = tokio::time::Instant::now() + spec.duration;
    let afterwards = Arc::clone(load);
    let first_answer = tokio::spawn(async move {
        tokio::time::sleep_until(end).await;
        afterwards.first_acknowledgement().await
    });
    let outcome = load.run_connected(connected, spec).await;
    let (server, generator) = (server.finish(), generator.finish());
    bar.finish_and_clear();
    let (outcome, first_answer) = (outcome?, first_answer.await??);
    let seconds = outcome.elapsed.as_secs_f64().max(0.001);
    let per_second = outcome.acknowledged as f64 / seconds;
    let baseline: Vec<_> = report.rounds.iter().map(|round| round.per_second).collect();
    let goodput = per_second / median(&baseline);
    let growth = server.rss_end.saturating_sub(standing);
    let most = server.rss_max.saturating_sub(standing);
    let refusals = Percentiles::from(&outcome.refusals.merged(None));
    report.rounds.push(Round {
        name: "overload".to_owned(),
        seconds,
        per_second,
        latency: (&outcome.latencies.merged(None)).into(),
        server: Some(server),
        generator,
    });
    report.figure("overload: share of the baseline", goodput);
    report.figure("overload: memory growth, MiB", growth as f64 / MIB);
    report.figure("overload: memory growth in between, at most, MiB", most as f64 / MIB);
    report.figure("overload: refusals", refusals.count as f64);
    report.figure("overload: a refusal takes, median ms", refusals.p50_ms);
    report.figure("overload: a refusal takes, p99 ms", refusals.p99_ms);
    report.figure("overload: first answer after it, ms", first_answer.as_secs_f64() * 1_000.0);
    let findings = &load.findings;
    if goodput < GOODPUT_MIN {
        findings.add(format!("goodput falls to {:.0} % under overload", goodput * 100.0));
    }
    if growth >= GROWTH_MAX {
        findings.add(format!("the server grows by {} MiB under overload", growth >> 20));
    }
    if first_answer > RECOVERY_MAX {
        findings.add(format!("the first answer after the overload takes {first_answer:?}"));
    }
    wait_idle(vec![pid]).await
}
