//! `compare`: runs two builds of the server in turn under the same load, pair by pair, and judges
//! whether the new one is no slower than a share of the base.

mod plan;
mod report;
mod round;

use std::path::Path;

use anyhow::Context as _;

pub use self::plan::{Arguments, Plan};
use self::report::{Build, ComparisonReport, Pair};
use self::round::Measurement;
use crate::options::Options;
use crate::report::bar;
use crate::statistics::{Bounds, Series};

/// The first argument that chooses the comparison.
pub const NAME: &str = "compare";

/// Runs pairs of rounds until a conclusion; true if the new build is no slower.
///
/// # Errors
/// If a server does not start, a round fails, or its verification finds a violation: the speed
/// of a faulty server says nothing.
pub async fn run(plan: &Plan) -> anyhow::Result<bool> {
    let bounds = Bounds::of_share(plan.share);
    let mut series = Series::new(plan.pairs, plan.pairs_max, bounds, plan.seed);
    let mut report = ComparisonReport::begin(plan, bounds)?;
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

/// Runs one round of each build. The first build alternates, so that a drift of the machine
/// affects both.
async fn run_pair(plan: &Plan, index: usize) -> anyhow::Result<Pair> {
    let first = if index.is_multiple_of(2) { Build::Base } else { Build::New };
    let seed = plan.options.seed.wrapping_add(index as u64);
    let options = Options { seed, ..plan.options.clone() };
    let measure = async |side: Build, binary: &Path| -> anyhow::Result<Measurement> {
        let measured = round::measure(&options, binary).await;
        measured.with_context(|| format!("pair {}, {}", index + 1, side.as_str()))
    };
    let (base, new) = match first {
        Build::Base => {
            let base = measure(Build::Base, &plan.base).await?;
            (base, measure(Build::New, &plan.new).await?)
        }
        Build::New => {
            let new = measure(Build::New, &plan.new).await?;
            (measure(Build::Base, &plan.base).await?, new)
        }
    };
    Ok(Pair::of(first, base, new))
}
