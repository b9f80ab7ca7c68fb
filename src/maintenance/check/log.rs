//! Checks the entries of the log: complete, in order, and the same in the archive.

use std::ops::ControlFlow;

use parley_protocol::entry::Entry;

use super::CheckReport;
use crate::journal::archive::ArchiveRead;
use crate::journal::log::Log;
use crate::storage::error::StoreResult;

const FILE: &str = "the log";

/// The entries of the log that are archived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogCoverage {
    /// The first entry of the log; `None` if there is none.
    pub first: Option<u64>,
    /// Acts.
    pub acts: u64,
    /// Artifacts.
    pub artifacts: u64,
}

/// Checks every entry of the log. Those after `archived_upto` were not in the archive before this
/// check.
pub(super) fn check(
    log: &Log,
    archive: &ArchiveRead,
    archived_upto: u64,
    report: &mut CheckReport,
) -> StoreResult<LogCoverage> {
    let (upto, after) = (archive.upto(), log.oldest().saturating_sub(1));
    let mut logged = LogCoverage::default();
    let mut before = None;
    log.scan(after, log.shown(), |raw| {
        let number = raw.number;
        if before.is_some_and(|before| before != raw.previous) {
            report.find(FILE, format!("entries are missing before {number}"));
        }
        before = Some(number);
        logged.first.get_or_insert(number);
        report.counts.log_entries += 1;
        report.counts.unarchived += u64::from(number > archived_upto);
        let same = match Entry::decode(raw.bytes) {
            None => {
                report.find(FILE, format!("entry {number} cannot be read"));
                true
            }
            Some(_) if number > upto => true,
            Some(Entry::Act(act)) => {
                logged.acts += 1;
                archive.act_bytes(act.thread, number)?.as_deref() == Some(raw.bytes)
            }
            Some(Entry::Artifact(published)) => {
                logged.artifacts += 1;
                archive.artifact(number)?.is_some_and(|stored| stored == *published)
            }
            Some(Entry::Outcome(..)) => true,
        };
        if !same {
            report.find(FILE, format!("entry {number} is another in the archive"));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(last) = before.filter(|last| *last < log.shown()) {
        report.find(FILE, format!("the entries after {last} are missing"));
    }
    Ok(logged)
}
