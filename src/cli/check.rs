//! `parley check`: verifies the store of a stopped server.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::error::{CliError, CliResult};
use crate::cli::output;
use crate::cli::target::DataFolder;
use crate::cli::text::in_one_line;
use crate::clock::SystemClock;
use crate::maintenance::check::{CheckReport, Remedy, check};

const EXAMPLES: &str = "Examples:
  parley check
  parley check --data ./restored --json";

/// The arguments of `parley check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    #[command(flatten)]
    folder: DataFolder,
    /// Answer with JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Verifies the store and prints the findings.
pub fn run(options: CheckArgs) -> CliResult {
    let folder = options.folder.config()?.data;
    let checked = check(&folder, Arc::new(SystemClock));
    let report = checked.map_err(|error| CliError::failed(error.to_string()))?;
    if options.json {
        output::json(&as_json(&folder, &report).to_string())?;
    } else {
        output::text(&as_text(&folder, &report))?;
    }
    let count = report.findings.len() as u64 + report.more;
    let folder = folder.display();
    let line = match report.remedy() {
        None | Some(Remedy::Start) => return Ok(()),
        Some(Remedy::NewerVersion) => {
            format!("{folder} was written by a newer version ({count} findings): use that one")
        }
        Some(Remedy::Restore) => format!(
            "{folder} is damaged ({count} findings): keep it as it is, and restore a backup into \
             another folder"
        ),
    };
    Err(CliError::failed(line))
}

fn as_json(folder: &Path, report: &CheckReport) -> Value {
    let findings: Vec<_> = report
        .findings
        .iter()
        .map(|finding| {
            let remedy = match finding.remedy {
                Remedy::Start => "start",
                Remedy::NewerVersion => "newer_version",
                Remedy::Restore => "restore",
            };
            json!({ "file": finding.file, "detail": finding.detail, "remedy": remedy })
        })
        .collect();
    let CheckReport { formats, counts, .. } = report;
    json!({
        "data": folder.to_string_lossy(),
        "ok": report.is_good(),
        "format": { "archive": formats.archive, "log": formats.log, "tokens": formats.tokens },
        "instance": report.instance.map(|id| format!("{:032x}", u128::from_be_bytes(id))),
        "era": report.era,
        "files": report.files,
        "counts": {
            "last_entry": counts.last_entry,
            "log_entries": counts.log_entries,
            "unarchived": counts.unarchived,
            "threads": counts.threads,
            "acts": counts.acts,
            "claims": counts.claims,
            "artifacts": counts.artifacts,
            "outcomes": counts.outcomes,
            "tokens": counts.tokens,
        },
        "findings": findings,
        "findings_left_out": report.more,
    })
}

fn as_text(folder: &Path, report: &CheckReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let line = format!("{}: {}", finding.file, finding.detail);
        let _ = writeln!(text, "{}", in_one_line(&line));
    }
    if report.more > 0 {
        let _ = writeln!(text, "and {} more", report.more);
    }
    if report.is_outdated {
        let _ = writeln!(text, "{}: start the server once, then check again", folder.display());
    } else if report.is_good() {
        let counts = &report.counts;
        let line = format!(
            "{}: good. {} files, entries up to {}, {} in the log, {} of them not archived yet; {} \
             threads, {} acts, {} claims, {} artifacts, {} tokens.",
            folder.display(),
            report.files.len(),
            counts.last_entry,
            counts.log_entries,
            counts.unarchived,
            counts.threads,
            counts.acts,
            counts.claims,
            counts.artifacts,
            counts.tokens,
        );
        let _ = writeln!(text, "{}", in_one_line(&line));
    }
    text
}
