//! Options of a run: flags, over a scenario file, over the defaults of the mode.

mod mode;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Parser};
use serde::{Deserialize, Serialize};

use self::mode::defaults;
pub use self::mode::{Mode, ReadWhat};

/// Load a Parley forum, check every answer, and report rates and latencies.
///
/// Without --url the server is built and started in a directory of its own. Examples:
///
///   parley-load post --connections 256 --threads 10000
///   parley-load fanout --listeners 1000 --rate 100 --duration 30s
///   parley-load --scenario config/load/burst.toml
///
/// Two builds of the server beside each other (see parley-load compare --help):
///
///   parley-load compare --base OLD --new NEW -- post --connections 256
#[derive(Debug, Parser)]
#[command(name = "parley-load", version, verbatim_doc_comment)]
pub struct Cli {
    /// The mode.
    pub mode: Option<Mode>,
    /// A TOML file with the mode and any of the flags below.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Flags {
    /// A running server, http://HOST:PORT; without it one is built and started.
    #[arg(long)]
    url: Option<String>,
    /// The admin token of that server.
    #[arg(long, env = "PARLEY_LOAD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Length of a round: 30s, 5m, 1h.
    #[arg(long)]
    duration: Option<String>,
    /// Load before the first round, not counted (post, hot, swarm, fanout, soak, read).
    #[arg(long)]
    warm_up: Option<String>,
    /// Participants that post, or that have posted before (inbox).
    #[arg(long)]
    agents: Option<usize>,
    /// Connections that write (post, hot, soak, ceiling) or read (read).
    #[arg(long)]
    connections: Option<usize>,
    /// Threads: active at a time, or created (idle), or opened by one participant (inbox).
    #[arg(long)]
    threads: Option<usize>,
    /// Open feeds.
    #[arg(long)]
    listeners: Option<usize>,
    /// Further listeners that stop reading, in every second round (fanout).
    #[arg(long)]
    slow_listeners: Option<usize>,
    /// Acts a second of all connections; makes an open loop.
    #[arg(long)]
    rate: Option<f64>,
    /// Factor of the rate in one second of ten.
    #[arg(long)]
    burst: Option<f64>,
    /// The answer to read (read).
    #[arg(long)]
    what: Option<ReadWhat>,
    /// An attack of `abuse`, more with each use; all without it.
    #[arg(long, value_name = "NAME")]
    attack: Vec<String>,
    /// A last round with this many connections, each of which sends again at once (post).
    #[arg(long, value_name = "CONNECTIONS", conflicts_with = "rate")]
    overload: Option<usize>,
    /// The core to which taskset pins a server that the harness starts.
    #[arg(long, value_name = "CORE")]
    server_core: Option<usize>,
    /// Each connection sends on its schedule; needs --rate.
    #[arg(long, conflicts_with = "closed")]
    open: bool,
    /// Each connection sends after the answer to its last request.
    #[arg(long)]
    closed: bool,
    /// Share of the agents that use MCP; all without a number.
    #[arg(long, num_args = 0..=1, default_missing_value = "1", value_name = "SHARE")]
    mcp: Option<f64>,
    /// Rounds: alternating with the ceiling (post, hot, swarm, fanout), or kills (crash).
    #[arg(long)]
    rounds: Option<usize>,
    /// Without rounds of the ceiling.
    #[arg(long)]
    no_ceiling: bool,
    /// Fail if a bound is missed.
    #[arg(long)]
    enforce: bool,
    /// Further stored threads; rounds alternate with a server without them (post), or the
    /// measurement is repeated with them (idle).
    #[arg(long)]
    stored: Option<usize>,
    /// Messages posted to each thread before the measurement; in hot, rounds alternate with empty
    /// threads.
    #[arg(long)]
    prefill: Option<usize>,
    /// Characters of a body.
    #[arg(long)]
    body: Option<usize>,
    /// Seed of the random choices.
    #[arg(long)]
    seed: Option<u64>,
    /// Worker threads of the generator.
    #[arg(long)]
    workers: Option<usize>,
    /// Also write the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A server binary, instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// A configuration key of the server: KEY=VALUE.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Scenario {
    mode: Mode,
    #[serde(default)]
    flags: Flags,
}

/// The options of a run, all decided.
#[derive(Debug, Clone, Serialize)]
pub struct Options {
    /// The mode.
    pub mode: Mode,
    /// The server to load; none: the harness starts one.
    pub url: Option<String>,
    /// The admin token of that server.
    #[serde(skip)]
    pub token: Option<String>,
    /// Length of a round.
    pub duration: Duration,
    /// Length of the load before the first round, which is not counted.
    pub warm_up: Duration,
    /// Participants that post.
    pub agents: usize,
    /// Connections that write.
    pub connections: usize,
    /// Threads active at a time, or created.
    pub threads: usize,
    /// Open feeds.
    pub listeners: usize,
    /// Further feeds that stop reading.
    pub slow_listeners: usize,
    /// Acts a second; none: a closed loop.
    pub rate: Option<f64>,
    /// Factor of the rate for one second in ten.
    pub burst: f64,
    /// The answer to read, in `read`.
    pub what: Option<ReadWhat>,
    /// The attacks of `abuse`; all if empty.
    pub attack: Vec<String>,
    /// Connections of a last round under overload.
    pub overload: Option<usize>,
    /// The core to which a started server is pinned.
    pub server_core: Option<usize>,
    /// Share of the agents that use MCP.
    pub mcp: f64,
    /// Number of rounds.
    pub rounds: usize,
    /// Whether rounds of the ceiling alternate with those of the server.
    pub ceiling: bool,
    /// Whether a missed bound makes the run fail.
    pub enforce: bool,
    /// Further stored threads.
    pub stored: usize,
    /// Messages posted to each thread before the measurement.
    pub prefill: usize,
    /// Characters of a body.
    pub body: usize,
    /// Seed of the random choices.
    pub seed: u64,
    /// Worker threads of the generator.
    pub workers: usize,
    /// File for the report as JSON.
    #[serde(skip)]
    pub json: Option<PathBuf>,
    /// A server binary, instead of building one.
    #[serde(skip)]
    pub binary: Option<PathBuf>,
    /// Configuration of the server, as `KEY=VALUE`.
    pub set: Vec<String>,
}

impl Cli {
    /// Merges flags, scenario and defaults.
    pub fn resolve(self) -> anyhow::Result<Options> {
        let (scenario_mode, file) = match &self.scenario {
            None => (None, Flags::default()),
            Some(path) => {
                let scenario = read_scenario(path)?;
                (Some(scenario.mode), scenario.flags)
            }
        };
        let Some(mode) = self.mode.or(scenario_mode) else {
            bail!("no mode given: name one, or a --scenario; --help lists them");
        };
        self.flags.merged_over(file).resolve(mode)
    }
}

fn read_scenario(path: &std::path::Path) -> anyhow::Result<Scenario> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the scenario {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("the scenario {} is wrong", path.display()))
}

impl Flags {
    fn merged_over(self, file: Self) -> Self {
        let loop_given = self.open || self.closed;
        Self {
            url: self.url.or(file.url),
            token: self.token.or(file.token),
            duration: self.duration.or(file.duration),
            warm_up: self.warm_up.or(file.warm_up),
            agents: self.agents.or(file.agents),
            connections: self.connections.or(file.connections),
            threads: self.threads.or(file.threads),
            listeners: self.listeners.or(file.listeners),
            slow_listeners: self.slow_listeners.or(file.slow_listeners),
            rate: self.rate.or(file.rate),
            burst: self.burst.or(file.burst),
            what: self.what.or(file.what),
            attack: if self.attack.is_empty() { file.attack } else { self.attack },
            overload: self.overload.or(file.overload),
            server_core: self.server_core.or(file.server_core),
            open: self.open || (!loop_given && file.open),
            closed: self.closed || (!loop_given && file.closed),
            mcp: self.mcp.or(file.mcp),
            rounds: self.rounds.or(file.rounds),
            no_ceiling: self.no_ceiling || file.no_ceiling,
            enforce: self.enforce || file.enforce,
            stored: self.stored.or(file.stored),
            prefill: self.prefill.or(file.prefill),
            body: self.body.or(file.body),
            seed: self.seed.or(file.seed),
            workers: self.workers.or(file.workers),
            json: self.json.or(file.json),
            binary: self.binary.or(file.binary),
            set: file.set.into_iter().chain(self.set).collect(),
        }
    }

    fn resolve(self, mode: Mode) -> anyhow::Result<Options> {
        let defaults = defaults(mode);
        let rate = if self.closed { None } else { self.rate };
        ensure!(!self.open || rate.is_some(), "--open needs a --rate");
        ensure!(rate.is_none_or(|rate| rate > 0.0), "--rate must be above 0");
        let rate = rate.or(if mode == Mode::Soak && !self.closed { Some(2_000.0) } else { None });
        let mcp = self.mcp.unwrap_or(defaults.mcp);
        ensure!((0.0..=1.0).contains(&mcp), "--mcp is a share from 0 to 1");
        let body = self.body.unwrap_or(300);
        ensure!((32..=500).contains(&body), "--body is from 32 to 500 characters");
        ensure!(self.url.is_none() || self.token.is_some(), "--url needs an admin --token");
        ensure!(
            self.url.is_none() || !mode.needs_own_server(),
            "{} works on a server of its own only: leave --url out",
            mode.name()
        );
        ensure!(
            self.overload.is_none() || (mode == Mode::Post && self.url.is_none()),
            "--overload goes with post, on a server of its own"
        );
        ensure!(
            self.what.is_some() == (mode == Mode::Read),
            "--what claim, thread or inbox goes with read, which needs it"
        );
        ensure!(
            self.attack.is_empty() || mode == Mode::Abuse,
            "--attack goes with abuse, which has the attacks"
        );
        let duration = match self.duration {
            None => Duration::from_secs(defaults.seconds),
            Some(text) => parse_duration(&text)?,
        };
        let warm_up = self.warm_up.map_or(Ok(Duration::ZERO), |text| parse_duration(&text))?;
        ensure!(
            self.url.is_none() || warm_up.is_zero(),
            "--warm-up goes with a server of its own, which rests before the first round"
        );
        // The ceiling gets as many connections as the agents have.
        let connects_agents = mode.connects_each_agent();
        let as_agents = self.agents.filter(|_| connects_agents).unwrap_or(defaults.connections);
        let connections = self.connections.filter(|_| mode != Mode::Swarm).unwrap_or(as_agents);
        // In `inbox` each size may be 0, which omits its part.
        let least = |count: usize| if mode == Mode::Inbox { 0 } else { count };
        Ok(Options {
            mode,
            url: self.url,
            token: self.token,
            duration,
            warm_up,
            agents: self.agents.unwrap_or(defaults.agents).max(least(3)),
            connections: connections.max(1),
            threads: self.threads.unwrap_or(defaults.threads).max(least(1)),
            listeners: self.listeners.unwrap_or(defaults.listeners),
            slow_listeners: self.slow_listeners.unwrap_or(0),
            rate,
            burst: self.burst.unwrap_or(1.0).max(1.0),
            what: self.what,
            attack: self.attack,
            overload: self.overload,
            server_core: self.server_core,
            mcp,
            rounds: self.rounds.unwrap_or(defaults.rounds).max(1),
            ceiling: !self.no_ceiling,
            enforce: self.enforce,
            stored: self.stored.unwrap_or(0),
            prefill: self.prefill.unwrap_or(0),
            body,
            seed: self.seed.unwrap_or(1),
            workers: self.workers.unwrap_or(2).max(1),
            json: self.json,
            binary: self.binary,
            set: self.set,
        })
    }
}

/// Reads a duration with its unit: 250ms, 30s, 5m, 1h; without one, seconds.
pub fn parse_duration(text: &str) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let value: f64 = digits.parse().with_context(|| format!("no duration: {text}"))?;
    let factor = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => bail!("no duration: {text}; write 30s, 5m or 1h"),
    };
    let seconds = value * factor;
    ensure!((0.0..1e7).contains(&seconds), "no duration: {text}");
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a flag overrides a scenario. Method: both name the threads, one the rate.
    #[test]
    fn flags_over_scenario() {
        let file: Scenario =
            toml::from_str("mode = 'post'\n[flags]\nthreads = 5\nrate = 10.0\nset = ['a=1']")
                .unwrap();
        let flags = Flags { threads: Some(7), set: vec!["b=2".into()], ..Flags::default() };
        let options = flags.merged_over(file.flags).resolve(file.mode).unwrap();
        assert_eq!((options.threads, options.rate), (7, Some(10.0)));
        assert_eq!(options.set, ["a=1", "b=2"]);
    }

    /// Goal: `read` needs --what, and no other mode takes it. Method: both modes with and without.
    #[test]
    fn what_goes_with_read() {
        let resolve = |mode, what| Flags { what, ..Flags::default() }.resolve(mode);
        assert!(resolve(Mode::Read, Some(ReadWhat::Claim)).is_ok());
        assert!(resolve(Mode::Read, None).is_err());
        assert!(resolve(Mode::Post, None).is_ok());
        assert!(resolve(Mode::Post, Some(ReadWhat::Inbox)).is_err());
    }

    /// Goal: durations are read with their unit. Method: one of each, and an invalid one.
    #[test]
    fn durations() {
        assert_eq!(parse_duration("90").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(parse_duration("250ms").unwrap(), Duration::from_millis(250));
        assert!(parse_duration("5 years").is_err());
    }

    /// Goal: every shipped scenario is valid. Method: resolve each file of the directory.
    #[test]
    fn shipped_scenarios() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/load");
        let mut count = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let scenario = read_scenario(&entry.unwrap().path()).unwrap();
            scenario.flags.resolve(scenario.mode).unwrap();
            count += 1;
        }
        assert!(count >= 5, "{count} scenarios");
    }
}
