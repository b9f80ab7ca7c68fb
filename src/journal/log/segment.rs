//! One file of the log: made and opened for writing by the one writer, or opened for reading only.

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use redb::{Database, ReadableDatabase, TableDefinition};

use super::chunk::{ChunkReader, RawEntry};
use crate::journal::options::{ACTIVE_CACHE_BYTES, SEALED_CACHE_BYTES};
use crate::storage::disk::{Disk, open_made};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::latch::{BoxedFile, ErrorLatch};
use crate::storage::migration::FileFormat;
use crate::storage::overlay::Overlay;
use crate::storage::panic_guard::{open_closed, open_database, panic_guard};

/// The name of a segment until it is complete.
pub const NEW_NAME: &str = "log-new.redb";

/// Rows under the number of their first entry.
pub const ENTRIES: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("entries");
/// `format`, and `first`: the number that the file is named after.
const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");

/// The format of a segment.
pub const FILE_FORMAT: FileFormat = FileFormat {
    is_name: |name| parse_name(name).is_some(),
    stated: |database| {
        let row = database.begin_read()?.open_table(META)?.get("format")?;
        Ok(row.and_then(|row| u32::try_from(row.value()).ok()))
    },
    state: |writing, format| {
        writing.open_table(META)?.insert("format", u64::from(format))?;
        Ok(())
    },
    oldest: 1,
    steps: &[],
};

/// The name of the segment that begins with `first`.
pub fn name(first: u64) -> String {
    format!("log-{first:020}.redb")
}

/// The name of the empty file beside a segment whose last commit failed, and so was not
/// acknowledged: it tells a check that nothing is lost with that commit.
pub fn failed_name(segment: &str) -> String {
    format!("{segment}.failed")
}

/// The number that a segment of this name begins with; `None` if it is not the name of one.
pub fn parse_name(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?.strip_suffix(".redb")?;
    let good = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if good { digits.parse().ok() } else { None }
}

/// How a segment is open.
#[derive(Debug)]
enum SegmentHandle {
    Closed,
    /// By the writer.
    Writing(Database),
    /// For reading: the file is not written.
    Reading(Database),
    /// Another one has taken over under its name, with its entries.
    Replaced(Arc<Segment>),
}

/// One file of the log.
#[derive(Debug)]
pub struct Segment {
    /// The number that it begins with; it has no entry below.
    pub first: u64,
    slot: RwLock<SegmentHandle>,
}

/// Refuses a newer format, and a file under a wrong name.
fn check_meta(database: &Database, first: u64) -> StoreResult<()> {
    let file = || name(first);
    let reading = database.begin_read()?;
    let meta = reading
        .open_table(META)
        .map_err(|_| StoreError::damaged(file(), "it is no segment of the log"))?;
    let number = |key| -> StoreResult<u64> {
        let value = meta.get(key)?;
        value
            .map(|value| value.value())
            .ok_or_else(|| StoreError::damaged(file(), format!("it does not say its {key}")))
    };
    let format = u32::try_from(number("format")?).unwrap_or(u32::MAX);
    StoreError::refuse_newer(&file(), format, FILE_FORMAT.current())?;
    let named = number("first")?;
    if named != first {
        let detail = format!("it begins with entry {named}, its name says {first}");
        return Err(StoreError::damaged(file(), detail));
    }
    Ok(())
}

/// A segment that another one is about to take over from; see [`Segment::begin_replacing`].
#[derive(Debug)]
pub struct Replacing<'a> {
    segment: &'a Segment,
    slot: RwLockWriteGuard<'a, SegmentHandle>,
}

impl Replacing<'_> {
    /// Lets `with` take over: who still holds the replaced segment reads that one.
    pub fn finish(mut self, with: &Arc<Segment>) -> StoreResult<()> {
        let handle = std::mem::replace(&mut *self.slot, SegmentHandle::Replaced(Arc::clone(with)));
        self.segment.close_handle(handle)
    }
}

impl Segment {
    /// A segment that is on the disk, not opened yet.
    pub fn stored(first: u64) -> Arc<Self> {
        Arc::new(Self { first, slot: RwLock::new(SegmentHandle::Closed) })
    }

    fn slot(&self) -> RwLockReadGuard<'_, SegmentHandle> {
        self.slot.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot_mut(&self) -> RwLockWriteGuard<'_, SegmentHandle> {
        self.slot.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        name(self.first)
    }

    /// Makes the segment that begins with `first`, with the rows that `fill` writes. It appears on
    /// the disk under its name complete and synced, replacing a file of that name.
    pub fn create(
        disk: &dyn Disk,
        first: u64,
        fill: impl FnOnce(&mut redb::Table<'_, u64, &'static [u8]>) -> StoreResult<()>,
    ) -> StoreResult<(Arc<Self>, ErrorLatch)> {
        let error = |error| StoreError::io(NEW_NAME, error);
        if disk.list().map_err(error)?.iter().any(|name| name == NEW_NAME) {
            disk.remove(NEW_NAME).map_err(error)?;
        }
        let latch = ErrorLatch::default();
        let backend = BoxedFile::latched(disk.create(NEW_NAME).map_err(error)?, latch.clone());
        let database = open_database(NEW_NAME, ACTIVE_CACHE_BYTES, backend)?;
        let written = (|| {
            let writing = database.begin_write()?;
            {
                let mut meta = writing.open_table(META)?;
                meta.insert("format", u64::from(FILE_FORMAT.current()))?;
                meta.insert("first", first)?;
                fill(&mut writing.open_table(ENTRIES)?)?;
            }
            writing.commit()?;
            disk.rename(NEW_NAME, &name(first)).map_err(error)?;
            disk.sync().map_err(error)
        })();
        if let Err(error) = written {
            latch.trip();
            return Err(error);
        }
        let slot = RwLock::new(SegmentHandle::Writing(database));
        Ok((Arc::new(Self { first, slot }), latch))
    }

    /// Opens it for writing, if its last writer closed it in good order; `None` if not: then it is
    /// unknown which bytes are on the disk, and it must only be read.
    pub fn open_for_writing(&self, disk: &dyn Disk) -> StoreResult<Option<ErrorLatch>> {
        let file = self.name();
        let latch = ErrorLatch::default();
        let backend = BoxedFile::latched(open_made(disk, &file)?, latch.clone());
        let database = open_closed(&file, ACTIVE_CACHE_BYTES, backend)?;
        let Some(database) = database else { return Ok(None) };
        check_meta(&database, self.first)?;
        *self.slot_mut() = SegmentHandle::Writing(database);
        Ok(Some(latch))
    }

    /// Calls `with` with the database, opening the file for reading if it is closed. A panic of the
    /// database, which a damaged file may cause, is an error.
    pub fn with<T>(
        &self,
        disk: &dyn Disk,
        with: impl FnOnce(&Database) -> StoreResult<T>,
    ) -> StoreResult<T> {
        loop {
            let replacement = match &*self.slot() {
                SegmentHandle::Writing(database) | SegmentHandle::Reading(database) => {
                    return panic_guard(&self.name(), || with(database));
                }
                SegmentHandle::Replaced(segment) => Some(Arc::clone(segment)),
                SegmentHandle::Closed => None,
            };
            if let Some(segment) = replacement {
                return segment.with(disk, with);
            }
            let mut slot = self.slot_mut();
            if matches!(*slot, SegmentHandle::Closed) {
                *slot = SegmentHandle::Reading(self.open_for_reading(disk)?);
            }
        }
    }

    fn open_for_reading(&self, disk: &dyn Disk) -> StoreResult<Database> {
        let file = self.name();
        let overlay = Overlay::new(open_made(disk, &file)?);
        let overlay = overlay.map_err(|error| StoreError::io(&file, error))?;
        let database = open_database(&file, SEALED_CACHE_BYTES, overlay)?;
        check_meta(&database, self.first)?;
        Ok(database)
    }

    /// Closes it; a segment that is written in good order, unless its latch has tripped.
    pub fn close(&self) -> StoreResult<()> {
        let mut slot = self.slot_mut();
        if matches!(*slot, SegmentHandle::Replaced(_)) {
            return Ok(());
        }
        self.close_handle(std::mem::replace(&mut *slot, SegmentHandle::Closed))
    }

    fn close_handle(&self, handle: SegmentHandle) -> StoreResult<()> {
        match handle {
            SegmentHandle::Writing(database) => panic_guard(&self.name(), || Ok(database.close()?)),
            SegmentHandle::Reading(database) => panic_guard(&self.name(), || {
                drop(database);
                Ok(())
            }),
            SegmentHandle::Closed | SegmentHandle::Replaced(_) => Ok(()),
        }
    }

    /// Waits for its readers and keeps others out, until the segment that takes over is known or
    /// the result is dropped: meanwhile no reader opens the file, whose name may pass to another.
    pub fn begin_replacing(&self) -> Replacing<'_> {
        Replacing { segment: self, slot: self.slot_mut() }
    }

    /// Whether it is open for reading only.
    pub fn is_reading(&self) -> bool {
        matches!(*self.slot(), SegmentHandle::Reading(_))
    }

    /// Calls `each` with every entry from the number `from` to below `end`, in order, until it
    /// breaks.
    pub fn scan(
        &self,
        disk: &dyn Disk,
        from: u64,
        end: u64,
        mut each: impl FnMut(RawEntry<'_>) -> StoreResult<ControlFlow<()>>,
    ) -> StoreResult<()> {
        self.with(disk, |database| {
            let damaged = |key: u64| {
                StoreError::damaged(self.name(), format!("the row of entry {key} is altered"))
            };
            let reading = database.begin_read()?;
            let table = reading.open_table(ENTRIES)?;
            // The row that contains `from` may begin before it.
            let start = table.range(..=from)?.next_back().transpose()?;
            let start = start.map_or(from, |(key, _)| key.value());
            for row in table.range(start..end)? {
                let (key, value) = row?;
                let key = key.value();
                let mut chunk = ChunkReader::new(key, value.value()).ok_or_else(|| damaged(key))?;
                for raw in chunk.by_ref().filter(|raw| raw.number >= from) {
                    if raw.number >= end || each(raw)?.is_break() {
                        return Ok(());
                    }
                }
                if !chunk.is_whole() {
                    return Err(damaged(key));
                }
            }
            Ok(())
        })
    }
}
