//! Writes a slice of entries into the tables, each table in the order of its keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley_protocol::act::Kind;
use parley_protocol::entry::{Act, Due, Entry, Published};
use parley_protocol::ids::MessageId;
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use redb::{Database, ReadableTable, WriteTransaction};

use super::super::Committed;
use super::claims::{ClaimRows, OutcomeRecord, Snapshot};
use super::format::FILE_FORMAT;
use super::rows::create_tables;
use super::tables::{
    self as t, BUCKET_MS, BUCKETS_KEPT, Retraction, Waiting, meta_row, pack, pair, unpack,
};
use super::{ArchiveMeta, ArchiveProgress, HighestNumbers, RememberedOutcome};
use crate::storage::error::StoreResult;

/// Expired outcomes removed with a slice, beside twice its entries.
const FORGOTTEN_MIN: usize = 64;

/// Initializes a new archive.
pub(super) fn create(database: &Database, meta: &ArchiveMeta) -> StoreResult<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let format = FILE_FORMAT.current().to_le_bytes();
        let mut table = transaction.open_table(t::META)?;
        table.insert(meta_row::FORMAT, format.as_slice())?;
        table.insert(meta_row::META, pack(meta).as_slice())?;
        table.insert(meta_row::PROGRESS, pack(&ArchiveProgress::default()).as_slice())?;
    }
    create_tables(&transaction)?;
    transaction.commit()?;
    Ok(())
}

/// Stores a new era and the last numbers used.
pub(super) fn begin_era(
    database: &Database,
    meta: &ArchiveMeta,
    used: HighestNumbers,
) -> StoreResult<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut table = transaction.open_table(t::META)?;
        let mut progress = progress(&table)?;
        progress.maxima = progress.maxima.max(used).ahead();
        table.insert(meta_row::META, pack(meta).as_slice())?;
        table.insert(meta_row::PROGRESS, pack(&progress).as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}

fn progress(table: &impl ReadableTable<u8, &'static [u8]>) -> StoreResult<ArchiveProgress> {
    let row = table.get(meta_row::PROGRESS)?;
    let row = row.ok_or_else(|| t::damaged("meta does not say how far it is"))?;
    unpack("meta", row.value())
}

/// The rows of a slice; of a row that changes more than once, the last state.
#[derive(Default)]
struct ArchiveSlice<'a> {
    heads: BTreeMap<u64, &'a Arc<ThreadSummary>>,
    /// Sorted before they are written.
    acts: Vec<([u8; 16], &'a Committed)>,
    retracted: BTreeMap<[u8; 16], Retraction>,
    claims: ClaimRows<'a>,
    outcomes: BTreeMap<[u8; 16], OutcomeRecord>,
    artifacts: Vec<(u64, &'a Published)>,
}

impl<'a> ArchiveSlice<'a> {
    fn take(&mut self, committed: &'a Committed, bucket: u32) -> StoreResult<()> {
        match &committed.entry {
            Entry::Act(act) => self.take_act(committed, act)?,
            Entry::Artifact(published) => self.artifacts.push((committed.number, published)),
            Entry::Outcome(..) => {}
        }
        if let Some((key, first)) = committed.entry.key().zip(RememberedOutcome::of(committed)) {
            self.outcomes.insert(key.key, OutcomeRecord::of(first, bucket));
        }
        Ok(())
    }

    fn take_act(&mut self, committed: &'a Committed, act: &'a Act) -> StoreResult<()> {
        let thread = act.thread.0;
        let summary = committed.summary.as_ref();
        let summary = summary.ok_or_else(|| t::damaged("an act came without its head"))?;
        self.heads.insert(thread, summary);
        self.acts.push((pair(thread, committed.number), committed));
        self.claims.take(committed, act);
        if let Some((target, retraction)) = retraction(act) {
            self.retracted.insert(pair(thread, target.0), retraction);
        }
        Ok(())
    }
}

/// The entry that set the open question, if there is one.
pub(crate) fn standing(summary: &ThreadSummary) -> Option<u64> {
    summary.awaiting.as_ref().map(|_| summary.awaiting_entry)
}

/// The message that a `retract` retracts, and its retraction.
pub(crate) fn retraction(act: &Act) -> Option<(MessageId, Retraction)> {
    let message = act.message().filter(|message| message.kind == Kind::Retract)?;
    let by = act.by.clone();
    Some((message.parent?, Retraction { by, at: act.at, message: message.id }))
}

/// Appends a slice; see [`super::Archive::append`].
pub(super) fn append(
    transaction: &WriteTransaction,
    entries: &[Arc<Committed>],
    snapshots: &[Thread],
    now: Millis,
) -> StoreResult<ArchiveProgress> {
    let mut meta = transaction.open_table(t::META)?;
    let mut progress = progress(&meta)?;
    roll_bucket(&mut progress, now);
    let mut slice = ArchiveSlice::default();
    for committed in entries {
        if committed.number > progress.archived_upto {
            slice.take(committed, progress.bucket)?;
            progress.archived_upto = committed.number;
            progress.maxima =
                progress.maxima.max(HighestNumbers::of(committed.number, &committed.entry));
        }
    }
    slice.acts.sort_unstable_by_key(|(key, _)| *key);
    write_heads(transaction, &slice)?;
    write_acts(transaction, &slice)?;
    slice.claims.write(transaction)?;
    write_artifacts(transaction, &slice)?;
    write_outcomes(transaction, &slice, progress.bucket, entries.len())?;
    write_snapshots(transaction, snapshots)?;
    meta.insert(meta_row::PROGRESS, pack(&progress).as_slice())?;
    Ok(progress)
}

/// Begins a new bucket of outcomes if the current one is old enough. A clock that went back
/// prolongs the current one, and one that jumped ahead ages the buckets by one only.
fn roll_bucket(progress: &mut ArchiveProgress, now: Millis) {
    let began = progress.bucket_began;
    if progress.bucket == 0 || now.0 >= began.0.saturating_add(BUCKET_MS) {
        progress.bucket += 1;
        progress.bucket_began = now;
    } else if now < began {
        progress.bucket_began = now;
    }
}

fn write_heads(transaction: &WriteTransaction, slice: &ArchiveSlice<'_>) -> StoreResult<()> {
    let mut updated = BTreeMap::new();
    let mut board = BTreeMap::new();
    let mut directed = BTreeMap::new();
    {
        let mut heads = transaction.open_table(t::HEADS)?;
        for (thread, summary) in &slice.heads {
            let old = heads.insert(thread, pack(&**summary).as_slice())?;
            let old: Option<ThreadSummary> =
                old.map(|row| unpack("heads", row.value())).transpose()?;
            if let Some(old) = &old {
                updated.insert(old.position.entry(), None);
            }
            updated.insert(summary.position.entry(), Some(*thread));
            if old.as_ref().and_then(standing) == standing(summary) {
                continue;
            }
            for (summary, stands) in [(old.as_ref(), false), (Some(&***summary), true)] {
                let Some(summary) = summary else { continue };
                let Some(awaiting) = &summary.awaiting else { continue };
                let (key, thread) = (summary.awaiting_entry, summary.id);
                let row = |participant: &_| {
                    stands
                        .then(|| pack(&Waiting { thread, participant: Clone::clone(participant) }))
                };
                match &awaiting.due {
                    Due::Anyone => board.insert(key, row(&awaiting.asker)),
                    Due::Participant(due) => {
                        directed.insert(t::directed(&due.identity, key), row(due))
                    }
                };
            }
        }
    }
    let mut table = transaction.open_table(t::UPDATED)?;
    for (entry, thread) in updated {
        match thread {
            Some(thread) => table.insert(entry, thread)?,
            None => table.remove(entry)?,
        };
    }
    let mut table = transaction.open_table(t::BOARD)?;
    for (entry, row) in board {
        match row {
            Some(row) => table.insert(entry, row.as_slice())?,
            None => table.remove(entry)?,
        };
    }
    let mut table = transaction.open_table(t::DIRECTED)?;
    for (key, row) in directed {
        match row {
            Some(row) => table.insert(key.as_slice(), row.as_slice())?,
            None => table.remove(key.as_slice())?,
        };
    }
    Ok(())
}

fn write_acts(transaction: &WriteTransaction, slice: &ArchiveSlice<'_>) -> StoreResult<()> {
    let mut table = transaction.open_table(t::ACTS)?;
    let mut bytes = Vec::new();
    for (key, committed) in &slice.acts {
        bytes.clear();
        bytes = committed.entry.encode(bytes);
        table.insert(key, bytes.as_slice())?;
    }
    if slice.retracted.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(t::RETRACTED)?;
    for (key, retraction) in &slice.retracted {
        table.insert(key, pack(retraction).as_slice())?;
    }
    Ok(())
}

fn write_artifacts(transaction: &WriteTransaction, slice: &ArchiveSlice<'_>) -> StoreResult<()> {
    if slice.artifacts.is_empty() {
        return Ok(());
    }
    let mut artifacts = transaction.open_table(t::ARTIFACTS)?;
    let mut ids = transaction.open_table(t::ARTIFACT_IDS)?;
    let mut references = transaction.open_table(t::ARTIFACT_REFS)?;
    let mut threads = transaction.open_table(t::ARTIFACT_THREADS)?;
    for (entry, published) in &slice.artifacts {
        artifacts.insert(entry, pack(*published).as_slice())?;
        ids.insert(&published.id, entry)?;
        let objected = objections(published);
        for id in &published.references {
            let row = pack(&(published.id, objected.contains(id)));
            references.insert(&t::reference(id, *entry), row.as_slice())?;
        }
        if let Some(thread) = published.thread {
            threads.insert(&pair(thread.0, *entry), ())?;
        }
    }
    Ok(())
}

/// The artifacts that an artifact objects to, if it is an `OBJECTION` (artifacts.md §2).
pub(crate) fn objections(published: &Published) -> Vec<[u8; 32]> {
    #[derive(serde::Deserialize)]
    struct ObjectionReference {
        artifact_id: String,
        relation: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct ObjectionReferences {
        references: Vec<ObjectionReference>,
    }
    if &*published.kind != "OBJECTION" {
        return Vec::new();
    }
    // A published artifact is valid, so this cannot fail; if it does, it objects to all it names.
    let Ok(read) = serde_json::from_slice::<ObjectionReferences>(&published.bytes) else {
        return published.references.clone();
    };
    let objects = |id: &&[u8; 32]| {
        let hex = id.iter().fold(String::from("sha256:"), |hex, byte| format!("{hex}{byte:02x}"));
        read.references.iter().any(|reference| {
            reference.artifact_id == hex && reference.relation.as_deref() == Some("objects-to")
        })
    };
    published.references.iter().filter(objects).copied().collect()
}

fn write_outcomes(
    transaction: &WriteTransaction,
    slice: &ArchiveSlice<'_>,
    bucket: u32,
    entries: usize,
) -> StoreResult<()> {
    let mut outcomes = transaction.open_table(t::OUTCOMES)?;
    let mut ages = transaction.open_table(t::OUTCOME_AGES)?;
    for (digest, record) in &slice.outcomes {
        outcomes.insert(digest, pack(record).as_slice())?;
        ages.insert(&t::outcome_age(record.bucket, digest), ())?;
    }
    // Expired buckets are removed in pieces, one with each slice, so that no slice takes long.
    let kept = t::outcome_age(bucket.saturating_sub(BUCKETS_KEPT), &[0; 16]);
    let mut old = Vec::new();
    for row in ages.range::<&[u8; 20]>(..&kept)?.take(2 * entries + FORGOTTEN_MIN) {
        old.push(*row?.0.value());
    }
    for key in old {
        let (bucket, digest) = t::bucket_and_digest(&key);
        let stored = match outcomes.get(&digest)? {
            Some(row) => Some(unpack::<OutcomeRecord>("outcomes", row.value())?.bucket),
            None => None,
        };
        // A key that was used again since is remembered in a later bucket.
        if stored == Some(bucket) {
            outcomes.remove(&digest)?;
        }
        ages.remove(&key)?;
    }
    Ok(())
}

/// Stores the snapshots that end with an archived act. The numbers of entries are given once, so an
/// act under the number that the snapshot names is the one that it was made after.
fn write_snapshots(transaction: &WriteTransaction, snapshots: &[Thread]) -> StoreResult<()> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let acts = transaction.open_table(t::ACTS)?;
    let mut table = transaction.open_table(t::SNAPSHOTS)?;
    for snapshot in snapshots {
        let summary = snapshot.summary();
        if acts.get(&pair(summary.id.0, summary.position.entry()))?.is_some() {
            table.insert(summary.id.0, pack(&Snapshot::of(snapshot.clone())).as_slice())?;
        }
    }
    Ok(())
}
