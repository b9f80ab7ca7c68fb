//! The report of a run: a table for people, and the same as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::measure::{Percentiles, median, spread};
use crate::options::Options;
use crate::process_sampler::Usage;
use crate::verdict::{self, Verdict};

/// A comparison is void if the rates of the ceiling's rounds differ by more than this share.
const SPREAD_MAX: f64 = 0.15;

/// The measurement of one round.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// The name in the table.
    pub name: String,
    /// Length in seconds.
    pub seconds: f64,
    /// Acts (or frames) a second.
    pub per_second: f64,
    /// Latencies.
    pub latency: Percentiles,
    /// CPU and memory of the server, if the harness started it.
    pub server: Option<Usage>,
    /// CPU and memory of the generator.
    pub generator: Usage,
}

/// The comparison with the ceiling.
#[derive(Debug, Clone, Serialize)]
pub struct Ceiling {
    /// The rate of the ceiling, median of its rounds.
    pub per_second: f64,
    /// The 99th percentile of the ceiling, median of its rounds, in milliseconds.
    pub p99_ms: f64,
    /// Largest minus smallest rate of the ceiling's rounds, as a share of the median.
    pub spread: f64,
    /// The rate of the server as a share of the ceiling's; none without rounds of a server.
    pub share: Option<f64>,
    /// The server's 99th percentile over that of the ceiling.
    pub p99_ratio: Option<f64>,
    /// Whether the rounds of the ceiling differ too much for a comparison.
    pub void: bool,
}

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The options of the run.
    pub options: Options,
    /// Rounds of the server.
    pub rounds: Vec<Round>,
    /// Rounds of the ceiling.
    pub ceiling_rounds: Vec<Round>,
    /// The comparison.
    pub ceiling: Option<Ceiling>,
    /// Acknowledged acts.
    pub acknowledged: u64,
    /// Refusals by reason.
    pub refused: BTreeMap<String, u64>,
    /// Calls without an answer, or with an answer outside the specification.
    pub failed: u64,
    /// The texts of the first failures.
    pub failures: Vec<String>,
    /// Further values of the mode, by name.
    pub figures: BTreeMap<String, f64>,
    /// The bounds of the mode.
    pub verdicts: Vec<Verdict>,
    /// Number of violations.
    pub violations: u64,
    /// The texts of the first violations.
    pub violations_told: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            rounds: Vec::new(),
            ceiling_rounds: Vec::new(),
            ceiling: None,
            acknowledged: 0,
            refused: BTreeMap::new(),
            failed: 0,
            failures: Vec::new(),
            figures: BTreeMap::new(),
            verdicts: Vec::new(),
            violations: 0,
            violations_told: Vec::new(),
        }
    }

    /// Adds a figure.
    pub fn figure(&mut self, name: &str, value: f64) {
        self.figures.insert(name.to_owned(), value);
    }

    /// Adds a value with its upper bound.
    pub fn at_most(&mut self, what: &str, value: f64, bound: f64) {
        self.verdicts.push(Verdict::at_most(what, value, bound));
    }

    /// Adds a value with its lower bound.
    pub fn at_least(&mut self, what: &str, value: f64, bound: f64) {
        self.verdicts.push(Verdict::at_least(what, value, bound));
    }

    /// Adds the counts of a tally.
    pub fn add_tally(&mut self, tally: &crate::measure::Tally) {
        use std::sync::atomic::Ordering::Relaxed;
        self.acknowledged += tally.acknowledged.load(Relaxed);
        self.failed += tally.failed.load(Relaxed);
        self.failures.extend(tally.failures());
        for (reason, count) in tally.refused() {
            *self.refused.entry(reason).or_insert(0) += count;
        }
    }

    /// Adds the violations of findings.
    pub fn add_findings(&mut self, findings: &crate::verify::Findings) {
        self.violations += findings.count();
        self.violations_told.extend(findings.texts());
    }

    /// Adds an error as a violation, so that the report is still printed.
    pub fn add_result(&mut self, result: anyhow::Result<()>) {
        if let Err(error) = result {
            self.violations += 1;
            self.violations_told.push(format!("{error:#}"));
        }
    }

    /// Compares the medians of the server's rounds with those of the ceiling's.
    pub fn compare(&mut self) {
        if self.ceiling_rounds.is_empty() {
            return;
        }
        let rates = |rounds: &[Round]| rounds.iter().map(|it| it.per_second).collect::<Vec<_>>();
        let p99s = |rounds: &[Round]| rounds.iter().map(|it| it.latency.p99_ms).collect::<Vec<_>>();
        let per_second = median(&rates(&self.ceiling_rounds));
        let p99_ms = median(&p99s(&self.ceiling_rounds));
        let spread = spread(&rates(&self.ceiling_rounds));
        let own = !self.rounds.is_empty();
        let share = own.then(|| median(&rates(&self.rounds)) / per_second);
        let p99_ratio = own.then(|| median(&p99s(&self.rounds)) / p99_ms);
        let void = spread > SPREAD_MAX;
        if let (Some(share), Some(ratio)) = (share, p99_ratio)
            && let Some((share_min, ratio_max)) = verdict::shares(&self.options)
        {
            let share = Verdict::at_least("share of the ceiling", share, share_min);
            self.verdicts.push(Verdict { void, ..share });
            if let Some(ratio_max) = ratio_max {
                let ratio = Verdict::at_most("p99 over the ceiling's p99", ratio, ratio_max);
                self.verdicts.push(Verdict { void, ..ratio });
            }
        }
        self.ceiling = Some(Ceiling { per_second, p99_ms, spread, share, p99_ratio, void });
    }

    /// Prints the table and writes the JSON; true if the run has no violation and, with
    /// `--enforce`, no missed bound.
    pub fn publish(&self) -> anyhow::Result<bool> {
        let mut out = std::io::stdout().lock();
        out.write_all(self.table()?.as_bytes())?;
        out.flush()?;
        if let Some(path) = &self.options.json {
            let file = std::fs::File::create(path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            serde_json::to_writer_pretty(file, self)?;
        }
        let missed = self.verdicts.iter().any(|verdict| !verdict.kept && !verdict.void);
        Ok(self.violations == 0 && !(self.options.enforce && missed))
    }

    fn table(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        writeln!(
            text,
            "\n{} · seed {}\n\n{:<12} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8} {:>7}",
            self.options.mode.name(),
            self.options.seed,
            "round",
            "per s",
            "p50 ms",
            "p90",
            "p99",
            "p99.9",
            "max",
            "server",
            "MiB",
            "load"
        )?;
        for round in self.ceiling_rounds.iter().chain(&self.rounds) {
            row(&mut text, round)?;
        }
        writeln!(
            text,
            "\nacknowledged {:>12}\nfailed       {:>12}",
            self.acknowledged, self.failed
        )?;
        for (reason, count) in &self.refused {
            writeln!(text, "refused      {count:>12}  {reason}")?;
        }
        for failure in &self.failures {
            writeln!(text, "  failed: {failure}")?;
        }
        for (name, value) in &self.figures {
            writeln!(text, "{name:<52} {value:>14.2}")?;
        }
        self.ceiling_lines(&mut text)?;
        if !self.verdicts.is_empty() {
            writeln!(text)?;
        }
        for verdict in &self.verdicts {
            verdict.line(&mut text)?;
        }
        match self.violations {
            0 => writeln!(text, "\nno violation")?,
            count => writeln!(text, "\n{count} VIOLATIONS")?,
        }
        for violation in &self.violations_told {
            writeln!(text, "  {violation}")?;
        }
        Ok(text)
    }

    fn ceiling_lines(&self, text: &mut String) -> std::fmt::Result {
        let Some(ceiling) = &self.ceiling else { return Ok(()) };
        let Ceiling { per_second, p99_ms, spread, .. } = ceiling;
        let spread = spread * 100.0;
        writeln!(
            text,
            "\nceiling {per_second:.0}/s, p99 {p99_ms:.2} ms, rounds within {spread:.0} %"
        )?;
        if let (Some(share), Some(ratio)) = (ceiling.share, ceiling.p99_ratio) {
            let share = share * 100.0;
            writeln!(text, "reached {share:.1} % of the ceiling, p99 {ratio:.2} times its p99")?;
        }
        if ceiling.void {
            writeln!(text, "VOID: the rounds of the ceiling differ by more than 15 %")?;
        }
        Ok(())
    }
}

fn row(text: &mut String, round: &Round) -> std::fmt::Result {
    let Percentiles { p50_ms, p90_ms, p99_ms, p99_9_ms, max_ms, .. } = round.latency;
    let (cpu, memory) = round.server.as_ref().map_or((f64::NAN, f64::NAN), |server| {
        (server.cpu_cores, server.rss_max as f64 / f64::from(1 << 20))
    });
    writeln!(
        text,
        "{:<12} {:>9.0} {p50_ms:>8.2} {p90_ms:>8.2} {p99_ms:>8.2} {p99_9_ms:>8.2} {max_ms:>8.1} \
         {cpu:>7.2} {memory:>8.1} {:>7.2}",
        round.name, round.per_second, round.generator.cpu_cores
    )
}

/// A progress bar on standard error, hidden unless that is a terminal.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(4)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let style = "{msg:<24} [{bar:40}] {pos}/{len} {per_sec} {eta}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what.to_owned());
    bar
}
