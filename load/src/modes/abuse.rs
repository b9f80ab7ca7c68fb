//! `abuse`: attacks at full rate beside honest agents that write at a tenth of the ceiling's rate.
//!
//! Each round of an attack has three parts with the same honest agents: beside nothing, beside the
//! attack, and beside busy loops that take as much processor time as the attack and the server's
//! answer to it took. On a machine of few cores an attack costs everybody time whatever the server
//! does; the ratio to the busy loops is what the server adds.

mod attack;
mod busy;
mod content;
mod health;
mod strike;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::attack::Attack;
use self::busy::BusyLoops;
use self::content::Content;
use self::health::HealthProbe;
use self::strike::Strikes;
use super::measurement::{measured_round, mib, wait_idle};
use super::post::WriteCeiling;
use crate::measure::median;
use crate::options::Options;
use crate::participants::Participants;
use crate::process_sampler::Usage;
use crate::report::{Report, Round, bar};
use crate::round::RoundSpec;
use crate::server;
use crate::target::Target;
use crate::write_load::WriteLoad;

/// The honest agents' part of the ceiling's rate.
const HONEST_SHARE: f64 = 0.1;
/// Largest ratio of the honest agents' p99 to the same beside busy loops.
const P99_RATIO_MAX: f64 = 2.0;
/// Acts a second of one token: half of `limits.writes_per_minute`, as each act's agent is random.
const ACTS_OF_A_TOKEN: f64 = 5.0;
/// Open files that the attack with the most connections needs.
const FILES: usize = 20_000;
/// Refusals for want of something of the server's: an honest agent must see none.
const UNAVAILABLE: [&str; 2] = ["overloaded", "storage_unavailable"];

/// Figures of one attack, a value a round.
#[derive(Default)]
struct Figures {
    ratios: Vec<f64>,
    alone_ratios: Vec<f64>,
    attack_p99: Vec<f64>,
    growth: Vec<f64>,
    strikes: Vec<f64>,
}

/// Runs the attacks of `--attack`, or all.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    server::raise_files(FILES)?;
    let attacks = attack::chosen(&options.attack)?;
    let mut report = Report::new(options);
    let rate = match options.rate {
        Some(rate) => rate,
        None => tenth_of_ceiling(options, &mut report).await?,
    };
    report.figure("honest acts a second", rate);
    let mut abuse = Abuse::prepare(options, rate).await?;
    let mut figures: BTreeMap<&'static str, Figures> = BTreeMap::new();
    for _ in 0..options.rounds {
        for name in &attacks {
            let attack = attack::named(name, &abuse.content)?;
            let of_attack = figures.entry(name).or_default();
            abuse.round(attack, of_attack, &mut report).await?;
        }
    }
    for (name, of_attack) in figures {
        let ratio = median(&of_attack.ratios);
        report.at_most(&format!("{name}: p99 over that beside busy loops"), ratio, P99_RATIO_MAX);
        report.figure(
            &format!("{name}: p99 over that beside nothing"),
            median(&of_attack.alone_ratios),
        );
        report.figure(&format!("{name}: p99, ms"), median(&of_attack.attack_p99));
        report.figure(&format!("{name}: server's growth, MiB"), median(&of_attack.growth));
        report.figure(&format!("{name}: strikes a second"), median(&of_attack.strikes));
    }
    report.add_tally(&abuse.load.tally);
    report.add_findings(&abuse.load.findings);
    report.add_result(abuse.target.stop());
    Ok(report)
}

/// A tenth of the rate of one round of the ceiling.
async fn tenth_of_ceiling(options: &Options, report: &mut Report) -> anyhow::Result<f64> {
    let spec =
        Options { duration: Duration::from_secs(5).min(options.duration), ..options.clone() };
    let ceiling = WriteCeiling::start(&spec, options.body + super::post::ANSWER_EXTRA_BYTES)?;
    ceiling.round(&spec, report).await?;
    let round = report.ceiling_rounds.last().context("a round of the ceiling")?;
    Ok(round.per_second * HONEST_SHARE)
}

/// The forum under attack, its content, the honest agents.
struct Abuse {
    target: Target,
    content: Arc<Content>,
    load: Arc<WriteLoad>,
    spec: RoundSpec,
}

impl Abuse {
    /// Writes the content while rates are off, then starts the server again with the defaults.
    async fn prepare(options: &Options, rate: f64) -> anyhow::Result<Self> {
        let mut target = Target::prepare(options, &[]).await?;
        let tokens = (rate / ACTS_OF_A_TOKEN).ceil() as usize;
        let agents = Participants::create_on_lines(&target, tokens, tokens, 0.0).await?;
        let agents = Arc::new(agents);
        let (threads, body, seed) = (options.threads, options.body, options.seed);
        let load = WriteLoad::forum(target.address, Arc::clone(&agents), threads, body, seed);
        let load = Arc::new(load);
        let progress = bar(threads as u64, "opening threads");
        load.open_threads(options.connections, 0, &progress).await?;
        progress.finish_and_clear();
        let content = Arc::new(Content::write(options, &target, &agents).await?);
        let Some((server, _)) = &mut target.own_server else {
            bail!("abuse works on a server of its own")
        };
        server.stop()?;
        server.start_again(Some(options.set.clone()))?;
        let spec = RoundSpec { rate: Some(rate), ..RoundSpec::of(options) };
        Ok(Self { target, content, load, spec })
    }

    /// The three parts of one round of an attack.
    async fn round(
        &mut self,
        attack: Attack,
        figures: &mut Figures,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let name = attack.name;
        let alone = self.part(&format!("{name}: alone")).await?;
        let strikes = Strikes::start(attack, self.target.address)?;
        let attacked = self.part(name).await;
        let struck = strikes.stop();
        let attacked = attacked?;
        let extra = cores(&attacked) - cores(&alone);
        self.rest().await?;
        let busy = BusyLoops::start(extra.max(0.0));
        let beside = self.part(&format!("{name}: busy")).await;
        busy.stop();
        let beside = beside?;
        self.rest().await?;
        if struck == 0 {
            self.load.findings.add(format!("the attack {name} has not struck once"));
        }
        figures.ratios.push(attacked.latency.p99_ms / beside.latency.p99_ms);
        figures.alone_ratios.push(attacked.latency.p99_ms / alone.latency.p99_ms);
        figures.attack_p99.push(attacked.latency.p99_ms);
        figures.strikes.push(struck as f64 / attacked.seconds);
        let grown = |usage: &Usage| usage.rss_max.saturating_sub(usage.rss_start);
        figures.growth.push(attacked.server.as_ref().map_or(0.0, |usage| mib(grown(usage))));
        report.rounds.extend([alone, attacked, beside]);
        Ok(())
    }

    /// The honest agents write for the length of a round while `/healthz` is asked; what they are
    /// refused for want of something is a violation.
    async fn part(&self, name: &str) -> anyhow::Result<Round> {
        let before = self.unavailable();
        let failed = self.load.tally.failed.load(Ordering::Relaxed);
        let health = HealthProbe::start(self.target.address, self.target.host.clone());
        let round = measured_round(name, &self.load, self.spec, self.target.pid()).await;
        let answers = health.stop().await;
        let (round, _) = round?;
        let findings = &self.load.findings;
        let refused = self.unavailable() - before;
        if refused > 0 {
            findings.add(format!("{name}: {refused} honest acts got 503"));
        }
        let failed = self.load.tally.failed.load(Ordering::Relaxed) - failed;
        if failed > 0 {
            findings.add(format!("{name}: {failed} honest acts got no answer"));
        }
        for failure in answers.failures {
            findings.add(format!("{name}: /healthz: {failure}"));
        }
        if answers.asked == 0 {
            findings.add(format!("{name}: /healthz was not asked"));
        }
        Ok(round)
    }

    fn unavailable(&self) -> u64 {
        let refused = self.load.tally.refused();
        UNAVAILABLE.iter().filter_map(|reason| refused.get(*reason)).sum()
    }

    async fn rest(&self) -> anyhow::Result<()> {
        wait_idle(self.target.pid().into_iter().collect()).await
    }
}

/// Cores that server and generator kept busy.
fn cores(round: &Round) -> f64 {
    round.generator.cpu_cores + round.server.as_ref().map_or(0.0, |server| server.cpu_cores)
}
