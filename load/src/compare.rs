//! `compare`: two builds of the server in turn under the same load, pair by pair, and whether the
//! new one is no slower than a share of the base.

mod report;
mod round;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Parser;

use self::report::{Pair, Report, Side};
use self::round::Measurement;
use crate::options::{Cli, Mode, Options, parse_duration};
use crate::report::bar;
use crate::statistics::{Bounds, Series};

/// The first argument that chooses the comparison.
pub const NAME: &str = "compare";

/// Fewer pairs say too little on a machine that is not quiet.
const PAIRS_MIN: usize = 12;
/// Flags that each round gets from the comparison instead.
const OWN_FLAGS: &[&str] = &["--duration", "--warm-up", "--rounds", "--json", "--binary"];

/// Compare two builds of the server under the same load: is the new one no slower?
///
/// Both are started in turn, each round on an empty folder, and the ratios of each pair of rounds
/// count. Exit code 0: kept; 1: not kept, or not decided; 2: wrong usage. Example:
///
///   parley-load compare --base old/parley --new new/parley -- post --connections 256
#[derive(Debug, Parser)]
#[command(bin_name = "parley-load compare", version, verbatim_doc_comment)]
pub struct Arguments {
    /// The server binary of before.
    #[arg(long, value_name = "FILE")]
    base: PathBuf,
    /// The server binary to judge.
    #[arg(long, value_name = "FILE")]
    new: PathBuf,
    /// How many percent of the base's rate the new build must reach.
    #[arg(long, value_name = "PERCENT", default_value_t = 97.0)]
    at_least: f64,
    /// Pairs of rounds that must count, and that are added at a time where these cannot decide.
    #[arg(long, default_value_t = PAIRS_MIN)]
    pairs: usize,
    /// The most pairs that may be run, void ones included; three times --pairs without it.
    #[arg(long)]
    pairs_max: Option<usize>,
    /// How long each round loads: 5s, 1m.
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    duration: Duration,
    /// How long each server is loaded before its round, not counted.
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    warm_up: Duration,
    /// Where the draws of the bootstrap start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the result as JSON, too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The mode and its flags: post, hot, fanout or swarm.
    #[arg(last = true, required = true, value_name = "MODE")]
    mode: Vec<String>,
}

/// A comparison, decided.
#[derive(Debug)]
pub struct Plan {
    base: PathBuf,
    new: PathBuf,
    share: f64,
    pairs: usize,
    pairs_max: usize,
    seed: u64,
    json: Option<PathBuf>,
    /// What each round does.
    pub options: Options,
}

impl Arguments {
    /// Checks what was asked for.
    ///
    /// # Errors
    /// If a number is out of range, a binary is not there, or the mode cannot be compared.
    pub fn resolve(self) -> anyhow::Result<Plan> {
        ensure!((50.0..=100.0).contains(&self.at_least), "--at-least is from 50 to 100 percent");
        ensure!(self.pairs >= PAIRS_MIN, "--pairs is {PAIRS_MIN} at least");
        let pairs_max = self.pairs_max.unwrap_or(self.pairs.saturating_mul(3));
        ensure!(pairs_max >= self.pairs, "--pairs-max must not be below --pairs");
        ensure!(!self.duration.is_zero(), "--duration must be above 0");
        for (flag, binary) in [("--base", &self.base), ("--new", &self.new)] {
            ensure!(binary.is_file(), "{flag}: there is no binary at {}", binary.display());
        }
        let options = Options {
            duration: self.duration,
            warm_up: self.warm_up,
            rounds: 1,
            ceiling: false,
            ..mode_options(&self.mode)?
        };
        let share = self.at_least / 100.0;
        let Self { base, new, pairs, seed, json, .. } = self;
        Ok(Plan { base, new, share, pairs, pairs_max, seed, json, options })
    }
}

/// Reads the mode and its flags, and refuses what cannot be compared.
fn mode_options(words: &[String]) -> anyhow::Result<Options> {
    for word in words {
        let flag = word.split('=').next().unwrap_or_default();
        ensure!(
            !OWN_FLAGS.contains(&flag),
            "{flag} is the comparison's, the same for both builds: leave it out after the --; \
             --duration, --warm-up and --json may stand before it"
        );
    }
    let words = std::iter::once("parley-load").chain(words.iter().map(String::as_str));
    let options = Cli::try_parse_from(words)
        .map_err(|error| anyhow::anyhow!("{}", error.to_string().trim_start_matches("error: ")))
        .context("the mode after the --")?
        .resolve()?;
    let name = options.mode.name();
    match options.mode {
        Mode::Post | Mode::Hot | Mode::Fanout | Mode::Swarm => {}
        Mode::Ceiling => bail!("compare needs a server, and ceiling runs none"),
        Mode::Soak => bail!("soak judges one long run; compare post with a --rate instead"),
        Mode::Idle | Mode::Inbox | Mode::Crash => {
            bail!("{name} has no rounds of one rate; compare takes post, hot, fanout or swarm")
        }
    }
    ensure!(options.url.is_none(), "compare starts its own servers: leave --url out");
    ensure!(options.overload.is_none(), "compare has one kind of round: leave --overload out");
    ensure!(
        options.slow_listeners == 0,
        "compare has one kind of round: leave --slow-listeners out"
    );
    Ok(options)
}

/// Runs pairs of rounds until they decide; true if the new build is no slower.
///
/// # Errors
/// If a server does not start, a round fails, or its verification finds a violation: the speed
/// of a faulty server says nothing.
pub async fn run(plan: &Plan) -> anyhow::Result<bool> {
    let bounds = Bounds::of_share(plan.share);
    let mut series = Series::new(plan.pairs, plan.pairs_max, bounds, plan.seed);
    let mut report = Report::begin(plan, bounds)?;
    let progress = bar(plan.pairs_max as u64, "pairs");
    let conclusion = loop {
        if let Some(conclusion) = series.conclusion() {
            break conclusion;
        }
        let pair = run_pair(plan, series.pairs()).await?;
        series.push(pair.ratios);
        progress.suspend(|| report.pair(pair))?;
        progress.inc(1);
    };
    progress.finish_and_clear();
    report.end(&series, conclusion, plan.json.as_deref())
}

/// One round of each build. The build that goes first alternates, so that a drift of the machine
/// falls on both.
async fn run_pair(plan: &Plan, index: usize) -> anyhow::Result<Pair> {
    let first = if index.is_multiple_of(2) { Side::Base } else { Side::New };
    let seed = plan.options.seed.wrapping_add(index as u64);
    let options = Options { seed, ..plan.options.clone() };
    let measure = async |side: Side, binary: &Path| -> anyhow::Result<Measurement> {
        let measured = round::measure(&options, binary).await;
        measured.with_context(|| format!("pair {}, {}", index + 1, side.name()))
    };
    let (base, new) = match first {
        Side::Base => {
            let base = measure(Side::Base, &plan.base).await?;
            (base, measure(Side::New, &plan.new).await?)
        }
        Side::New => {
            let new = measure(Side::New, &plan.new).await?;
            (measure(Side::Base, &plan.base).await?, new)
        }
    };
    Ok(Pair::of(first, base, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> anyhow::Result<Plan> {
        let here = std::env::current_exe().unwrap();
        let here = here.to_str().unwrap();
        let words = ["compare", "--base", here, "--new", here].into_iter();
        Arguments::try_parse_from(words.chain(text.split(' ')))?.resolve()
    }

    /// Goal: the rounds are those of the mode, with the comparison's length. Method: read some
    /// lines.
    #[test]
    fn reads_modes() {
        let plan = resolve("-- post --connections 256").unwrap();
        assert_eq!((plan.options.mode, plan.options.connections), (Mode::Post, 256));
        assert_eq!((plan.options.duration, plan.options.warm_up), {
            (Duration::from_secs(5), Duration::from_secs(1))
        });
        assert_eq!((plan.options.rounds, plan.options.ceiling), (1, false));
        assert_eq!((plan.pairs, plan.pairs_max), (12, 36));
        let plan = resolve("--duration 2s --pairs 20 -- hot --seed 7").unwrap();
        assert_eq!((plan.options.duration, plan.options.seed), (Duration::from_secs(2), 7));
        assert_eq!((plan.pairs, plan.pairs_max), (20, 60));
        for mode in ["fanout --rate 100 --open", "swarm --mcp 1", "post --stored 1000"] {
            resolve(&format!("-- {mode}")).unwrap();
        }
    }

    /// Goal: what cannot be compared is refused with a sentence that names it. Method: one line
    /// each.
    #[test]
    fn refuses() {
        for (text, part) in [
            ("-- idle", "idle has no rounds"),
            ("-- crash", "crash has no rounds"),
            ("-- inbox", "inbox has no rounds"),
            ("-- soak", "compare post with a --rate"),
            ("-- ceiling", "ceiling runs none"),
            ("-- compare", "invalid value 'compare'"),
            ("-- post --rounds 5", "--rounds is the comparison's"),
            ("-- post --duration=9s", "--duration is the comparison's"),
            ("-- post --url http://h:1 --token t", "leave --url out"),
            ("-- post --overload 500", "leave --overload out"),
            ("-- fanout --slow-listeners 1", "leave --slow-listeners out"),
            ("--pairs 11 -- post", "--pairs is 12 at least"),
            ("--pairs-max 11 -- post", "--pairs-max must not be below"),
            ("--at-least 0.97 -- post", "from 50 to 100 percent"),
            ("--duration 0s -- post", "--duration must be above 0"),
            ("--new /nowhere/parley -- post", "cannot be used multiple times"),
        ] {
            let error = resolve(text).expect_err(text);
            let told = format!("{error:#}");
            assert!(told.contains(part), "{text}: {told}");
        }
    }
}
