//! Checks the archive: its own rows, and that its tables equal the state that its acts make.

use parley_protocol::entry::Position;

use super::expected::ExpectedRows;
use super::log::LogCoverage;
use super::{CheckReport, artifacts, threads};
use crate::journal::archive::FILE_NAME;
use crate::journal::archive::{ArchiveMeta, ArchiveRead, FirstOutcome};
use crate::storage::error::StoreResult;

pub(super) fn check(
    meta: &ArchiveMeta,
    archive: &ArchiveRead,
    logged: &LogCoverage,
    report: &mut CheckReport,
) -> StoreResult<()> {
    check_meta(meta, archive, report);
    let mut expected = ExpectedRows::default();
    let logged_from = logged.first.unwrap_or(u64::MAX);
    threads::check(archive, logged_from, &mut expected, report)?;
    artifacts::check(archive, logged_from, &mut expected, report)?;
    check_outcomes(archive, report)?;
    let rows = archive.lengths()?;
    if rows != expected.rows {
        let detail = format!("its tables hold {rows:?}, its acts make {:?}", expected.rows);
        report.find(FILE_NAME, detail);
    }
    let used = archive.progress().maxima;
    if used.max(expected.maxima) != used {
        report.find(FILE_NAME, format!("{:?} are used, beyond {used:?}", expected.maxima));
    }
    if (logged.acts, logged.artifacts) != (expected.logged_acts, expected.logged_artifacts) {
        report.find(FILE_NAME, "it holds acts or artifacts that the log does not");
    }
    report.counts.threads = rows.heads;
    report.counts.acts = rows.acts;
    report.counts.claims = rows.claims;
    report.counts.artifacts = rows.artifacts;
    Ok(())
}

fn check_meta(meta: &ArchiveMeta, archive: &ArchiveRead, report: &mut CheckReport) {
    let rising = meta.past.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
    let past = meta.past.last().is_none_or(|(era, _)| *era < meta.era);
    if !rising || !past || meta.era == 0 {
        report.find(FILE_NAME, "its eras do not rise");
    }
    let end = Position::after(report.counts.last_entry);
    if meta.past.iter().any(|(_, last)| *last > end) {
        report.find(FILE_NAME, "an era before ended after the last entry");
    }
    if archive.progress().maxima.entry > report.counts.last_entry {
        report.find(FILE_NAME, "entries that it has counted are missing");
    }
}

fn check_outcomes(archive: &ArchiveRead, report: &mut CheckReport) -> StoreResult<()> {
    for kept in archive.outcomes()? {
        let kept = kept?;
        report.counts.outcomes += 1;
        let act = match &kept.remembered.outcome {
            FirstOutcome::Act { thread, entry } => Some((*thread, *entry)),
            FirstOutcome::Claim { entry, claim } => Some((claim.thread, *entry)),
            FirstOutcome::Published(_) | FirstOutcome::Other(_) => None,
        };
        let mut good = kept.bucket <= archive.progress().bucket && kept.expires;
        if let Some((thread, entry)) = act {
            let key = archive.act(thread, entry)?.and_then(|act| act.key);
            let content = kept.remembered.content;
            good &= key.is_some_and(|key| key.key == kept.digest && key.content == content);
        }
        if !good {
            report.find(FILE_NAME, "an outcome is remembered of what did not come under its key");
        }
    }
    Ok(())
}
