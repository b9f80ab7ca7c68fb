//! Entries and commits of each round, from the server's metrics.

use crate::measure::median;
use crate::options::Mode;
use crate::report::Report;
use crate::target::Target;

const ENTRIES: &str = "parley_journal_batch_size_sum";
const COMMITS: &str = "parley_journal_batch_size_count";
/// The least entries a commit for a single thread with many writers.
const HOT_ENTRIES_MIN: f64 = 3.0;

/// Commits and their entries, by round. `begin` and `end` around each round, then `report`.
#[derive(Debug, Default)]
pub struct Commits {
    before: Option<(f64, f64)>,
    entries: Vec<f64>,
    per_second: Vec<f64>,
}

impl Commits {
    /// Reads the metrics before a round.
    pub async fn begin(&mut self, target: &Target) -> anyhow::Result<()> {
        self.before = read(target).await?;
        Ok(())
    }

    /// Reads the metrics after a round of `seconds`.
    pub async fn end(&mut self, target: &Target, seconds: f64) -> anyhow::Result<()> {
        if let (Some((entries, commits)), Some((entries_now, commits_now))) =
            (self.before, read(target).await?)
        {
            let commits = commits_now - commits;
            self.entries.push((entries_now - entries) / commits.max(1.0));
            self.per_second.push(commits / seconds);
        }
        Ok(())
    }

    /// Reports the medians of the rounds.
    pub fn report(&self, report: &mut Report) {
        if self.entries.is_empty() {
            return;
        }
        report.figure("commits a second", median(&self.per_second));
        let entries = median(&self.entries);
        let closed = report.options.rate.is_none();
        if report.options.mode == Mode::Hot && closed {
            report.at_least("entries a commit", entries, HOT_ENTRIES_MIN);
        } else {
            report.figure("entries a commit", entries);
        }
    }
}

async fn read(target: &Target) -> anyhow::Result<Option<(f64, f64)>> {
    let samples = target.metrics(&[ENTRIES, COMMITS]).await?;
    Ok(samples[0].zip(samples[1]))
}
