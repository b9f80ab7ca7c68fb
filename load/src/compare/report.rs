//! The report of a comparison: a line for each pair as it ends, estimates and bounds; also as JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use super::plan::Plan;
use super::round::Measurement;
use crate::options::Options;
use crate::statistics::{Bounds, Conclusion, Estimate, Judgement, Ratios, Series};
use crate::verdict::Verdict;

/// Largest difference, as a share of the machine, between what other processes use beside the two
/// rounds of a pair.
const DISTURBANCE_MAX: f64 = 0.15;

/// One of the two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Build {
    /// The build to compare with.
    Base,
    /// The build to judge.
    New,
}

impl Build {
    /// The word in the table and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::New => "new",
        }
    }
}

/// One round of each build, the second right after the first.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// The build of the first round.
    first: Build,
    base: Measurement,
    new: Measurement,
    /// The new build's values over the base's; none if the pair is void.
    pub ratios: Option<Ratios>,
    /// The reason, if the pair is void.
    void: Option<String>,
}

impl Pair {
    /// Computes the ratios, unless the pair is void.
    pub fn of(first: Build, base: Measurement, new: Measurement) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let ratios = new.over(&base);
        let void = void_reason(&base, &new, &ratios, cores);
        let ratios = void.is_none().then_some(ratios);
        Self { first, base, new, ratios, void }
    }

    fn line(&self, number: usize) -> String {
        let Self { first, base, new, .. } = self;
        let (first, before, after) = (first.as_str(), base.per_second, new.per_second);
        let rates = format!("{number:>4}  {first:<5} {before:>11.0} {after:>11.0}");
        match (&self.ratios, &self.void) {
            (Some(Ratios { rate, p99, cpu }), _) => {
                let (base, new) = (base.other_cores, new.other_cores);
                format!("{rates} {rate:>9.3} {p99:>9.3} {cpu:>9.3} {base:>11.2} {new:>10.2}")
            }
            (None, reason) => format!("{rates} void: {}", reason.as_deref().unwrap_or("unknown")),
        }
    }
}

/// The reason why two rounds cannot be compared, on a machine of `cores` cores.
fn void_reason(
    base: &Measurement,
    new: &Measurement,
    ratios: &Ratios,
    cores: usize,
) -> Option<String> {
    if base.failed + new.failed > 0 {
        return Some(format!("calls failed: base {}, new {}", base.failed, new.failed));
    }
    if (base.other_cores - new.other_cores).abs() > DISTURBANCE_MAX * cores as f64 {
        let (base, new) = (base.other_cores, new.other_cores);
        return Some(format!(
            "other processes took {base:.2} cores beside base, {new:.2} beside new"
        ));
    }
    (!ratios.are_usable()).then(|| "a value is missing".to_owned())
}

/// The report of a comparison, filled pair by pair.
#[derive(Debug, Serialize)]
pub struct ComparisonReport {
    base: String,
    new: String,
    at_least_percent: f64,
    bounds: Bounds,
    pairs_min: usize,
    pairs_max: usize,
    bootstrap_seed: u64,
    options: Options,
    pairs: Vec<Pair>,
    void_pairs: usize,
    conclusion: Option<Conclusion>,
    verdicts: Vec<Verdict>,
}

impl ComparisonReport {
    /// Prints the head of the table.
    pub fn begin(plan: &Plan, bounds: Bounds) -> anyhow::Result<Self> {
        let report = Self {
            base: plan.base.display().to_string(),
            new: plan.new.display().to_string(),
            at_least_percent: plan.share * 100.0,
            bounds,
            pairs_min: plan.pairs,
            pairs_max: plan.pairs_max,
            bootstrap_seed: plan.seed,
            options: plan.options.clone(),
            pairs: Vec::new(),
            void_pairs: 0,
            conclusion: None,
            verdicts: Vec::new(),
        };
        let Self { base, new, .. } = &report;
        let mode = plan.options.mode.name();
        print(&format!(
            "compare · {mode} · seed {}\nbase  {base}\nnew   {new}\n\n{:>4}  {:<5} {:>11} {:>11} \
             {:>9} {:>9} {:>9} {:>11} {:>10}\n",
            plan.options.seed,
            "pair",
            "first",
            "base per s",
            "new per s",
            "rate",
            "p99",
            "cpu/act",
            "others base",
            "others new"
        ))?;
        Ok(report)
    }

    /// Adds a pair and prints its line.
    pub fn pair(&mut self, pair: Pair) -> anyhow::Result<()> {
        self.pairs.push(pair);
        let line = self.pairs.last().map(|pair| pair.line(self.pairs.len())).unwrap_or_default();
        print(&format!("{line}\n"))
    }

    /// Prints the summary and writes the JSON; true if the bounds are kept.
    pub fn end(
        mut self,
        series: &Series,
        conclusion: Conclusion,
        json: Option<&Path>,
    ) -> anyhow::Result<bool> {
        self.void_pairs = series.void();
        self.conclusion = Some(conclusion);
        self.verdicts = verdicts(&self.bounds, &conclusion);
        print(&self.summary(series, &conclusion)?)?;
        if let Some(path) = json {
            let file = std::fs::File::create(path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            serde_json::to_writer_pretty(file, &self)?;
        }
        Ok(conclusion.outcome == Judgement::Kept)
    }

    fn summary(&self, series: &Series, conclusion: &Conclusion) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        let (counted, void) = (series.counted(), series.void());
        writeln!(text, "\n{counted} pairs count, {void} void; new over base:")?;
        writeln!(text, "{:<28} {:>9} {:>20}", "", "median", "95 % interval")?;
        for (name, estimate) in [
            ("rate", &conclusion.rate),
            ("p99 (shown, not judged)", &conclusion.p99),
            ("server's cpu time an act", &conclusion.cpu),
        ] {
            let Estimate { median, low, high } = estimate;
            writeln!(text, "{name:<28} {median:>9.3} {low:>9.3} to {high:>7.3}")?;
        }
        writeln!(text)?;
        for verdict in &self.verdicts {
            verdict.line(&mut text)?;
        }
        let share = self.at_least_percent;
        match conclusion.outcome {
            Judgement::Kept => writeln!(text, "\nKEPT: new is no slower than {share} % of base")?,
            Judgement::Slower => {
                writeln!(text, "\nNOT KEPT: new is slower than {share} % of base")?;
            }
            Judgement::Undecided => writeln!(
                text,
                "\nNOT KEPT: undecided, the interval is too wide after {} pairs; try again on a \
                 quieter machine, or with a longer --duration or more --pairs-max",
                series.pairs()
            )?,
            Judgement::Void => writeln!(
                text,
                "\nVOID, so not kept: too many pairs are void; something else runs on the machine"
            )?,
        }
        Ok(text)
    }
}

/// The bounds of the rule, in percent of the base.
fn verdicts(bounds: &Bounds, conclusion: &Conclusion) -> Vec<Verdict> {
    let Conclusion { rate, cpu, outcome, .. } = conclusion;
    let lines = [
        Verdict::at_least("rate, median, % of base", rate.median * 100.0, bounds.rate_min * 100.0),
        Verdict::at_least(
            "rate, lower end of the interval, % of base",
            rate.low * 100.0,
            bounds.rate_low_min * 100.0,
        ),
        Verdict::at_most(
            "server's cpu time an act, median, % of base",
            cpu.median * 100.0,
            bounds.cpu_max * 100.0,
        ),
    ];
    let void = *outcome == Judgement::Void;
    lines.into_iter().map(|verdict| Verdict { void, ..verdict }).collect()
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(per_second: f64, other_cores: f64) -> Measurement {
        let (p99_ms, cpu_micros) = (20.0, 50.0);
        Measurement { per_second, p99_ms, cpu_micros, other_cores, failed: 0 }
    }

    fn reason(base: &Measurement, new: &Measurement) -> Option<String> {
        void_reason(base, new, &new.over(base), 2)
    }

    /// Goal: a ratio is the new build's value over the base's. Method: values that differ in each.
    #[test]
    fn ratios_of_pair() {
        let base = measurement(1_000.0, 0.0);
        let new = Measurement { p99_ms: 30.0, cpu_micros: 40.0, ..measurement(900.0, 0.0) };
        let Ratios { rate, p99, cpu } = new.over(&base);
        for (value, expected) in [(rate, 0.9), (p99, 1.5), (cpu, 0.8)] {
            assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        }
        let line = Pair::of(Build::New, base, new).line(3);
        assert!(line.contains("new") && line.contains("0.900     1.500     0.800"), "{line}");
    }

    /// Goal: a pair is void if calls failed, if other processes used more of the machine beside one
    /// round, or if a value is missing; not if they used as much beside both. Method: one each.
    #[test]
    fn void_reasons() {
        let quiet = measurement(1_000.0, 0.1);
        assert_eq!(reason(&quiet, &quiet), None);
        let busy = measurement(700.0, 1.2);
        assert_eq!(reason(&busy, &busy), None);
        assert_eq!(reason(&quiet, &measurement(950.0, 0.39)), None);
        let text = reason(&quiet, &busy).unwrap();
        assert_eq!(text, "other processes took 0.10 cores beside base, 1.20 beside new");
        assert!(reason(&busy, &quiet).is_some());
        let failing = Measurement { failed: 3, ..quiet.clone() };
        assert_eq!(reason(&quiet, &failing).unwrap(), "calls failed: base 0, new 3");
        assert!(reason(&failing, &quiet).is_some());
        assert_eq!(reason(&quiet, &measurement(0.0, 0.1)).unwrap(), "a value is missing");
        assert!(reason(&measurement(0.0, 0.1), &quiet).is_some());
    }

    /// Goal: each bound has a line, judged by the rule. Method: a conclusion that misses one bound.
    #[test]
    fn verdict_lines() {
        let even = Estimate { median: 1.0, low: 0.99, high: 1.01 };
        let slow = Estimate { median: 1.2, low: 1.1, high: 1.3 };
        let outcome = Judgement::Slower;
        let conclusion = Conclusion { rate: even, p99: even, cpu: slow, outcome };
        let lines = verdicts(&Bounds::of_share(0.97), &conclusion);
        let kept: Vec<bool> = lines.iter().map(|verdict| verdict.kept).collect();
        assert_eq!(kept, [true, true, false]);
    }
}
