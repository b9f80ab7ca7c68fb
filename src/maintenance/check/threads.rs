//! Checks threads: rebuilds each from its acts and compares it with its rows.

use std::collections::BTreeMap;

use parley_protocol::entry::Due;
use parley_protocol::ids::{MessageId, ThreadId};
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;

use super::CheckReport;
use super::expected::ExpectedRows;
use crate::journal::archive::FILE_NAME;
use crate::journal::archive::{ArchiveRead, HighestNumbers, Retraction, retraction};
use crate::journal::view::next;
use crate::storage::error::StoreResult;

/// A thread rebuilt from its acts.
struct RebuiltThread {
    thread: Option<Thread>,
    retractions: BTreeMap<MessageId, Retraction>,
    /// Whether the thread was once in the state of its snapshot; `None` if it has none.
    was_snapshot: Option<bool>,
}

/// Checks every thread. Acts from `logged_from` on should be in the log.
pub(super) fn check(
    archive: &ArchiveRead,
    logged_from: u64,
    expected: &mut ExpectedRows,
    report: &mut CheckReport,
) -> StoreResult<()> {
    for row in archive.summaries(0, false)? {
        let (thread, summary) = row?;
        let id = ThreadId(thread);
        expected.rows.heads += 1;
        let checked = summary.read().and_then(|summary| {
            let rebuilt = rebuild(archive, id, logged_from, expected)?;
            compare(archive, &summary, &rebuilt, expected)
        });
        match checked {
            Ok(None) => {}
            Ok(Some(detail)) => report.find(FILE_NAME, format!("{id} {detail}")),
            Err(error) => report.fail(FILE_NAME, error),
        }
    }
    for row in archive.snapshot_threads()? {
        let (thread, ()) = row?;
        expected.rows.snapshots += 1;
        if archive.summary(ThreadId(thread))?.is_none() {
            report.find(FILE_NAME, format!("{} has a snapshot and no head", ThreadId(thread)));
        }
    }
    Ok(())
}

fn rebuild(
    archive: &ArchiveRead,
    id: ThreadId,
    logged_from: u64,
    expected: &mut ExpectedRows,
) -> StoreResult<RebuiltThread> {
    let snapshot = archive.snapshot(id)?;
    let mut rebuilt = RebuiltThread {
        thread: None,
        retractions: BTreeMap::new(),
        was_snapshot: snapshot.as_ref().map(|_| false),
    };
    let mut is_whole = true;
    for row in archive.acts(id, 0)? {
        let (entry, act) = row?;
        expected.rows.acts += 1;
        expected.logged_acts += u64::from(entry >= logged_from);
        expected.maxima = expected.maxima.max(HighestNumbers::of_act(entry, &act));
        is_whole &= act.thread == id && entry <= archive.upto();
        if !is_whole {
            rebuilt.thread = None;
            continue;
        }
        rebuilt.thread = next(rebuilt.thread, entry, &act);
        is_whole = rebuilt.thread.is_some();
        rebuilt.retractions.extend(retraction(&act));
        if let Some(snapshot) = &snapshot
            && rebuilt.thread.as_ref() == Some(snapshot)
        {
            rebuilt.was_snapshot = Some(true);
        }
    }
    Ok(rebuilt)
}

/// The defect of the rows of a thread, if there is one.
fn compare(
    archive: &ArchiveRead,
    summary: &ThreadSummary,
    rebuilt: &RebuiltThread,
    expected: &mut ExpectedRows,
) -> StoreResult<Option<&'static str>> {
    let Some(thread) = &rebuilt.thread else { return Ok(Some("lacks an act")) };
    if thread.summary() != summary {
        return Ok(Some("is not what its acts make of it"));
    }
    if rebuilt.was_snapshot == Some(false) {
        return Ok(Some("was never as its snapshot is"));
    }
    expected.rows.retracted += rebuilt.retractions.len() as u64;
    if archive.retractions(summary.id, MessageId(0)..=MessageId(u64::MAX))? != rebuilt.retractions {
        return Ok(Some("shows other messages as retracted than were"));
    }
    let mut stored = archive.claims(summary.id, 0)?;
    for claim in thread.claims() {
        expected.rows.claims += 1;
        expected.rows.claim_states += 1;
        expected.rows.attestations += claim.attestations.len() as u64;
        expected.rows.refutations += u64::from(claim.refutation.is_some());
        expected.rows.claim_threads += 1;
        let same = stored.next().transpose()?.is_some_and(|(_, stored)| stored == *claim);
        if !same || archive.claim_thread(claim.id)? != Some(summary.id) {
            return Ok(Some("has other claims than its acts make"));
        }
    }
    expected.rows.updated += 1;
    if archive.updated_at(summary.position.entry())? != Some(summary.id) {
        return Ok(Some("is not listed by its last change"));
    }
    Ok(is_misplaced(archive, summary, expected)?.then_some("does not wait as listed"))
}

/// Whether the open question of `summary` is listed wrongly.
fn is_misplaced(
    archive: &ArchiveRead,
    summary: &ThreadSummary,
    expected: &mut ExpectedRows,
) -> StoreResult<bool> {
    let Some(awaiting) = &summary.awaiting else { return Ok(false) };
    expected.rows.waiting += 1;
    let participant = match &awaiting.due {
        Due::Anyone => &awaiting.asker,
        Due::Participant(due) => due,
    };
    let row = archive.standing(summary)?;
    Ok(!row.is_some_and(|row| row.thread == summary.id && row.participant == *participant))
}
