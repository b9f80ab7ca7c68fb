//! The command line of a comparison: parses and checks it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Parser;

use crate::options::{Cli, Mode, Options, parse_duration};

/// Fewer pairs give intervals too wide on a machine with other load.
const PAIRS_MIN: usize = 12;
/// Flags that the comparison sets for each round.
const OWN_FLAGS: &[&str] = &["--duration", "--warm-up", "--rounds", "--json", "--binary"];

/// Compare two builds of the server under the same load: is the new one no slower?
///
/// Both are started in turn, each round on an empty directory; the ratios of each pair of rounds
/// count. Exit code 0: kept; 1: not kept, or not decided; 2: wrong usage. Example:
///
///   parley-load compare --base old/parley --new new/parley -- post --connections 256
#[derive(Debug, Parser)]
#[command(bin_name = "parley-load compare", version, verbatim_doc_comment)]
pub struct Arguments {
    /// The server binary to compare with.
    #[arg(long, value_name = "FILE")]
    base: PathBuf,
    /// The server binary to judge.
    #[arg(long, value_name = "FILE")]
    new: PathBuf,
    /// How many percent of the base's rate the new build must reach.
    #[arg(long, value_name = "PERCENT", default_value_t = 97.0)]
    at_least: f64,
    /// Pairs of rounds that must count, and that are added at a time while undecided.
    #[arg(long, default_value_t = PAIRS_MIN)]
    pairs: usize,
    /// The most pairs that may be run, void ones included; three times --pairs without it.
    #[arg(long)]
    pairs_max: Option<usize>,
    /// Length of a round: 5s, 1m.
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    duration: Duration,
    /// Length of the load before each round, which is not counted.
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    warm_up: Duration,
    /// Seed of the bootstrap.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also write the result as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The mode and its flags: post, hot, fanout, swarm or read.
    #[arg(last = true, required = true, value_name = "MODE")]
    mode: Vec<String>,
}

/// The parameters of a comparison.
#[derive(Debug)]
pub struct Plan {
    /// The server binary to compare with.
    pub base: PathBuf,
    /// The server binary to judge.
    pub new: PathBuf,
    /// The share of the base's rate that the new build must reach, 1 for all of it.
    pub share: f64,
    /// Pairs that must count, and that are added at a time.
    pub pairs: usize,
    /// The most pairs that may be run, void ones included.
    pub pairs_max: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// File for the result as JSON.
    pub json: Option<PathBuf>,
    /// Options of each round.
    pub options: Options,
}

impl Arguments {
    /// Checks the arguments.
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

/// Parses the mode and its flags; refuses modes and flags that cannot be compared.
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
        Mode::Post | Mode::Hot | Mode::Fanout | Mode::Swarm | Mode::Read => {}
        Mode::Ceiling => bail!("compare needs a server, and ceiling runs none"),
        Mode::Soak => bail!("soak judges one long run; compare post with a --rate instead"),
        Mode::Idle | Mode::Inbox | Mode::Crash | Mode::Abuse => {
            bail!(
                "{name} has no rounds of one rate; compare takes post, hot, fanout, swarm or read"
            )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> anyhow::Result<Plan> {
        let here = std::env::current_exe().unwrap();
        let here = here.to_str().unwrap();
        let words = ["compare", "--base", here, "--new", here].into_iter();
        Arguments::try_parse_from(words.chain(text.split(' ')))?.resolve()
    }

    /// Goal: the rounds are those of the mode, with the comparison's length. Method: parse some
    /// command lines.
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
        for mode in
            ["fanout --rate 100 --open", "swarm --mcp 1", "post --stored 1000", "read --what claim"]
        {
            resolve(&format!("-- {mode}")).unwrap();
        }
    }

    /// Goal: modes and flags that cannot be compared are refused with a sentence that names them.
    /// Method: one command line each.
    #[test]
    fn refuses() {
        for (text, part) in [
            ("-- idle", "idle has no rounds"),
            ("-- crash", "crash has no rounds"),
            ("-- inbox", "inbox has no rounds"),
            ("-- soak", "compare post with a --rate"),
            ("-- ceiling", "ceiling runs none"),
            ("-- read", "goes with read, which needs it"),
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
            let text_of_error = format!("{error:#}");
            assert!(text_of_error.contains(part), "{text}: {text_of_error}");
        }
    }
}
