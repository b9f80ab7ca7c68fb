//! `inbox`.
use crate::options::Options;
use crate::report::Report;
/// Runs the mode.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    Ok(Report::new(options))
}
