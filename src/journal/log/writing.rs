//! The one writer of the log: appends, rotation, and the new segment that takes over after a
//! failure or an unclean end.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use parley_protocol::entry::Entry;

use super::chunk::{ChunkWriter, RawEntry};
use super::segment::{ENTRIES, Segment, failed_name};
use super::{Log, SegmentSet, parse_name};
use crate::journal::Committed;
use crate::journal::options::CHUNK_BYTES;
use crate::storage::disk::Disk;
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::latch::ErrorLatch;

/// The segment that is written.
#[derive(Debug)]
struct ActiveSegment {
    segment: Arc<Segment>,
    latch: ErrorLatch,
    /// Bytes of its rows, about.
    bytes: u64,
}

/// Writes the log; there is one at a time.
///
/// [`LogWriter::append`] in the order of numbers. After an error of it [`LogWriter::make_ready`]
/// must succeed before the next one; in between nothing is written. [`LogWriter::last`] rises only
/// by appends that succeeded. [`LogWriter::close`] ends it in good order; a drop without it has the
/// effect of a kill.
#[derive(Debug)]
pub struct LogWriter {
    log: Arc<Log>,
    /// `None` after a failure, until [`LogWriter::make_ready`].
    active: Option<ActiveSegment>,
    /// The number of the last entry that is known to be on the disk.
    last: u64,
    segment_bytes: u64,
    rotated: bool,
}

/// Makes an empty log, whose entries will have the numbers from `first` on.
///
/// # Errors
/// Those of the disk.
pub fn begin(disk: &dyn Disk, first: u64) -> StoreResult<()> {
    let (segment, _) = Segment::create(disk, first, |_| Ok(()))?;
    segment.close()
}

/// Opens the log, making one if nothing was ever stored. Returns its entries after
/// `archived_upto`, the number up to which all are archived. Without room (`has_room`) for the
/// segment that takes over after an unclean end, the log is only read until
/// [`LogWriter::make_ready`].
///
/// # Errors
/// [`StoreError::Damaged`] if an entry is missing or altered, [`StoreError::NewerFormat`], and
/// those of the disk.
pub fn open(
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    archived_upto: u64,
    has_room: bool,
) -> StoreResult<(LogWriter, Vec<(u64, Entry)>)> {
    let error = |error| StoreError::io("log", error);
    let mut firsts = stored(&*disk)?;
    if firsts.is_empty() {
        if archived_upto > 0 {
            let detail = format!("there is none, but entries up to {archived_upto} were stored");
            return Err(StoreError::damaged("the log", detail));
        }
        begin(&*disk, 1)?;
        firsts.push(1);
    }
    if firsts.iter().all(|first| *first > archived_upto + 1) {
        let detail = format!("the entries after {archived_upto} are missing");
        return Err(StoreError::damaged("the log", detail));
    }
    let by_first: BTreeMap<_, _> =
        firsts.into_iter().map(|first| (first, Segment::stored(first))).collect();
    let (_, last) = by_first.last_key_value().expect("it was filled above");
    let last = Arc::clone(last);
    let latch = last.open_for_writing(&*disk)?;
    let bytes = disk.open(&last.name()).and_then(|file| file.len()).map_err(error)? / 2;
    let log = Arc::new(Log {
        disk,
        shown: AtomicU64::new(archived_upto),
        segments: Mutex::new(SegmentSet { by_first, ..SegmentSet::default() }),
    });
    let mut writer =
        LogWriter { log, active: None, last: archived_upto, segment_bytes, rotated: true };
    let entries = writer.tail(archived_upto)?;
    match latch {
        Some(latch) => writer.active = Some(ActiveSegment { segment: last, latch, bytes }),
        None if has_room => match writer.renew(archived_upto) {
            Err(error) if error.is_full() => {
                tracing::warn!(%error, "there is no room for a new segment of the log");
            }
            renewed => renewed?,
        },
        None => {}
    }
    Ok((writer, entries))
}

/// The first numbers of the segments on the disk.
fn stored(disk: &dyn Disk) -> StoreResult<Vec<u64>> {
    let names = disk.list().map_err(|error| StoreError::io("log", error))?;
    Ok(names.iter().filter_map(|name| parse_name(name)).collect())
}

/// Inserts entries into a table, several in one row; ends with [`ChunkInserter::flush`].
pub(super) struct ChunkInserter<'a, 'txn> {
    table: &'a mut redb::Table<'txn, u64, &'static [u8]>,
    chunk: Option<ChunkWriter>,
    last: u64,
    /// Bytes of the rows inserted.
    pub(super) bytes: u64,
    spare: Vec<u8>,
}

impl<'a, 'txn> ChunkInserter<'a, 'txn> {
    pub(super) fn after(last: u64, table: &'a mut redb::Table<'txn, u64, &'static [u8]>) -> Self {
        Self { table, chunk: None, last, bytes: 0, spare: Vec::new() }
    }

    pub(super) fn push(
        &mut self,
        number: u64,
        encode: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> StoreResult<()> {
        let chunk = self.chunk.get_or_insert_with(|| {
            ChunkWriter::new(self.last, number, std::mem::take(&mut self.spare))
        });
        chunk.push(number, encode);
        self.last = number;
        if chunk.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// As [`ChunkInserter::push`], for an entry that is encoded already.
    pub(super) fn push_raw(&mut self, number: u64, entry: &[u8]) -> StoreResult<()> {
        self.push(number, |mut bytes| {
            bytes.extend_from_slice(entry);
            bytes
        })
    }

    pub(super) fn flush(&mut self) -> StoreResult<()> {
        if let Some(chunk) = self.chunk.take() {
            let (key, value) = chunk.finish();
            self.table.insert(key, value.as_slice())?;
            self.bytes += value.len() as u64;
            self.spare = value;
        }
        Ok(())
    }
}

impl LogWriter {
    /// The log as readers see it.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The number of the last entry that is on the disk.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether it takes appends now.
    pub fn is_ready(&self) -> bool {
        self.active.is_some()
    }

    /// Whether a new segment was begun since the last call.
    pub fn has_rotated(&mut self) -> bool {
        std::mem::take(&mut self.rotated)
    }

    /// Prepares the next append after an error: a new segment takes over.
    ///
    /// # Errors
    /// Those of the disk; it may be called again.
    pub fn make_ready(&mut self, archived_upto: u64) -> StoreResult<()> {
        match &self.active {
            None => self.renew(archived_upto),
            Some(active) if active.bytes >= self.segment_bytes => self.rotate(),
            Some(_) => Ok(()),
        }
    }

    /// Writes `entries` to the disk, all or none, and syncs.
    ///
    /// # Errors
    /// Those of the disk. It is unknown then whether the entries are stored, and nothing can be
    /// appended until [`LogWriter::make_ready`], after which they are not.
    pub fn append(&mut self, entries: &[Arc<Committed>]) -> StoreResult<()> {
        if self.active.as_ref().is_some_and(|active| active.bytes >= self.segment_bytes) {
            self.rotate()?;
        }
        let Some(active) = &mut self.active else {
            return Err(StoreError::damaged("the log", "its last segment failed"));
        };
        let last = self.last;
        let written = active.segment.with(&*self.log.disk, |database| {
            let writing = database.begin_write()?;
            let bytes = {
                let mut table = writing.open_table(ENTRIES)?;
                let mut rows = ChunkInserter::after(last, &mut table);
                for committed in entries {
                    rows.push(committed.number, |bytes| committed.entry.encode(bytes))?;
                }
                rows.flush()?;
                rows.bytes
            };
            writing.commit()?;
            Ok(bytes)
        });
        match written {
            Ok(bytes) if !active.latch.is_tripped() => {
                active.bytes += bytes;
                self.last = entries.last().map_or(last, |committed| committed.number);
                Ok(())
            }
            Ok(_) => {
                self.fail_commit();
                Err(StoreError::damaged("the log", "the disk failed while it was written"))
            }
            Err(error) => {
                self.fail_commit();
                Err(error)
            }
        }
    }

    /// Abandons the segment after a commit that failed, and notes that it did.
    fn fail_commit(&mut self) {
        let failed = self.active.as_ref().map(|active| failed_name(&active.segment.name()));
        self.fail();
        if let Some(Err(error)) = failed.map(|name| self.log.disk.create(&name)) {
            tracing::debug!(%error, "the failed commit could not be noted");
        }
    }

    /// Removes the notes of failed commits: a new segment has taken over.
    fn forget_failed(&self) {
        let disk = &self.log.disk;
        let names = disk.list().unwrap_or_default();
        let is_note = |name: &&String| name.strip_suffix(".failed").and_then(parse_name).is_some();
        for name in names.iter().filter(is_note) {
            if let Err(error) = disk.remove(name) {
                tracing::debug!(%error, name, "the note of a failed commit could not be removed");
            }
        }
    }

    /// Abandons the segment that is written: its file is not written any more.
    fn fail(&mut self) {
        if let Some(active) = self.active.take() {
            active.latch.trip();
            if let Err(error) = active.segment.close() {
                tracing::debug!(%error, "the failed segment did not close in order");
            }
        }
    }

    /// Begins a new segment.
    fn rotate(&mut self) -> StoreResult<()> {
        let (segment, latch) = Segment::create(&*self.log.disk, self.last + 1, |_| Ok(()))?;
        self.log.segments().by_first.insert(segment.first, Arc::clone(&segment));
        self.rotated = true;
        let sealed = self.active.replace(ActiveSegment { segment, latch, bytes: 0 });
        // Every commit synced it: without a clean end it is repaired, in memory, whenever it is
        // read.
        if let Some(sealed) = sealed
            && let Err(error) = sealed.segment.close()
        {
            tracing::warn!(%error, file = sealed.segment.name(), "a sealed segment did not close");
        }
        Ok(())
    }

    /// Begins the segment that takes over after a failure or an unclean end, with a copy of the
    /// entries that are not archived.
    fn renew(&mut self, archived_upto: u64) -> StoreResult<()> {
        self.fail();
        let last = {
            let segments = self.log.segments();
            segments.by_first.last_key_value().map(|(_, segment)| Arc::clone(segment))
        };
        let doubtful = last.expect("a log has a segment");
        let first = doubtful.first.max(archived_upto + 1);
        let (disk, end) = (Arc::clone(&self.log.disk), self.last + 1);
        let is_same_name = first == doubtful.first;
        let mut replacing = None;
        let mut bytes = 0;
        let (segment, latch) = Segment::create(&*disk, first, |table| {
            let mut rows = ChunkInserter::after(0, table);
            doubtful.scan(&*disk, first, end, |raw| {
                // The first one may follow an entry that is not copied; later ones are in order.
                rows.last = raw.previous;
                rows.push_raw(raw.number, raw.bytes)?;
                Ok(ControlFlow::Continue(()))
            })?;
            rows.flush()?;
            bytes = rows.bytes;
            replacing = is_same_name.then(|| doubtful.begin_replacing());
            Ok(())
        })?;
        match replacing {
            Some(replacing) => replacing.finish(&segment)?,
            None => doubtful.close()?,
        }
        self.log.segments().by_first.insert(first, Arc::clone(&segment));
        self.active = Some(ActiveSegment { segment, latch, bytes });
        self.forget_failed();
        Ok(())
    }

    /// The entries after `archived_upto`; an error if one is missing.
    fn tail(&mut self, archived_upto: u64) -> StoreResult<Vec<(u64, Entry)>> {
        let log = Arc::clone(&self.log);
        let mut entries = Vec::new();
        for (segment, end) in log.segments_from(archived_upto + 1).unwrap_or_default() {
            let from = segment.first.max(archived_upto + 1);
            segment.scan(&*log.disk, from, end, |raw: RawEntry<'_>| {
                let before = self.last;
                let follows = if before == archived_upto {
                    raw.previous <= before
                } else {
                    raw.previous == before
                };
                if !follows {
                    let detail = format!("entries between {before} and {} are missing", raw.number);
                    return Err(StoreError::damaged(segment.name(), detail));
                }
                let entry = Entry::decode(raw.bytes);
                let entry = entry.ok_or_else(|| super::undecoded(raw.number))?;
                entries.push((raw.number, entry));
                self.last = raw.number;
                Ok(ControlFlow::Continue(()))
            })?;
            log.opened(&segment);
        }
        Ok(entries)
    }

    /// Closes the log in good order.
    ///
    /// # Errors
    /// Those of the disk; acknowledged entries are stored in any case.
    pub fn close(&mut self) -> StoreResult<()> {
        let active = self.active.take();
        active.map_or(Ok(()), |active| active.segment.close())
    }
}

impl Drop for LogWriter {
    /// Without [`LogWriter::close`], the effect of a kill.
    fn drop(&mut self) {
        self.fail();
    }
}
