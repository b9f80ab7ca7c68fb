//! Checks artifacts: their identifiers and their index rows.

use parley_protocol::artifact::{canonicalize, identity};
use parley_protocol::entry::Published;

use super::CheckReport;
use super::expected::ExpectedRows;
use crate::journal::archive::FILE_NAME;
use crate::journal::archive::{ArchiveRead, objections};
use crate::storage::error::StoreResult;

/// Checks every artifact. Those from `logged_from` on should be in the log.
pub(super) fn check(
    archive: &ArchiveRead,
    logged_from: u64,
    expected: &mut ExpectedRows,
    report: &mut CheckReport,
) -> StoreResult<()> {
    for row in archive.artifacts(0)? {
        expected.rows.artifacts += 1;
        let (entry, published) = match row {
            Ok(row) => row,
            Err(error) => {
                report.fail(FILE_NAME, error);
                continue;
            }
        };
        expected.logged_artifacts += u64::from(entry >= logged_from);
        expected.maxima.entry = expected.maxima.entry.max(entry);
        expected.rows.artifact_ids += 1;
        expected.rows.artifact_refs += published.references.len() as u64;
        expected.rows.artifact_threads += u64::from(published.thread.is_some());
        if !is_itself(&published) {
            report.find(FILE_NAME, format!("the artifact of entry {entry} has another identifier"));
        }
        if !is_listed(archive, entry, &published)? {
            report.find(FILE_NAME, format!("the artifact of entry {entry} is not listed as it is"));
        }
    }
    Ok(())
}

fn is_itself(published: &Published) -> bool {
    let id = canonicalize(&published.bytes).and_then(|canonical| identity::verify(&canonical));
    id.is_ok_and(|id| *id.digest() == published.id)
}

fn is_listed(archive: &ArchiveRead, entry: u64, published: &Published) -> StoreResult<bool> {
    if archive.artifact_entry(&published.id)? != Some(entry)
        || !archive.is_about(published, entry)?
    {
        return Ok(false);
    }
    let objected = objections(published);
    for id in &published.references {
        let listed = archive.reference(id, entry)?;
        if listed != Some((published.id, objected.contains(id))) {
            return Ok(false);
        }
    }
    Ok(true)
}
