//! Restore (operations.md §1): makes a data folder of a copy, completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parley_protocol::entry::Entry;
use parley_protocol::time::Millis;

use super::frames::{FrameReader, verify};
use super::{head, section};
use crate::clock::Clock;
use crate::journal::archive::{self, Archive, HighestNumbers, Refill};
use crate::journal::log;
use crate::journal::options::JournalOptions;
use crate::storage::disk::{self, Disk, FolderDisk, LOCK_NAME, UNFINISHED_NAME};
use crate::storage::error::{StoreError, StoreResult};
use crate::tokens::{self, Tokens};

/// Bytes of page cache while the era begins: one row is read and written.
const CACHE_BYTES: usize = 4 << 20;

/// A restored store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The cursor of the last entry; it and all earlier ones are valid.
    pub cursor: String,
    /// The era that begins.
    pub era: u64,
    /// The number of the last entry.
    pub last: u64,
    /// When the copy was taken.
    pub taken_at: Millis,
}

/// Fills `folder`, which is absent or empty, from the copy at `file`. The copy is verified before
/// the first file is made; until all files are on the disk the folder has [`UNFINISHED_NAME`], and
/// no server starts on it.
///
/// # Errors
/// Any [`StoreError`]; then the files and folders made here are removed.
pub fn restore(file: &Path, folder: &Path, clock: &Arc<dyn Clock>) -> StoreResult<Restored> {
    refuse_used(folder)?;
    verify(file)?;
    // The tables of the archive take more room than their rows in the copy.
    let needed_bytes = 2 * fs::metadata(file).map_or(0, |metadata| metadata.len());
    let restored = (|| {
        let mut target = RestoreTarget::take(folder)?;
        let restored = fill(file, &mut target, clock)?;
        target.keep()?;
        Ok(restored)
    })();
    restored.map_err(|error: StoreError| error.in_folder(folder, needed_bytes))
}

/// Refuses a folder that is not empty.
fn refuse_used(folder: &Path) -> StoreResult<()> {
    let shown = || folder.display().to_string();
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::io(shown(), error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    // Fails with a better error if a server uses it.
    FolderDisk::lock(folder)?;
    Err(StoreError::NotEmpty { folder: folder.to_owned() })
}

/// The folder while it is filled; dropped without [`RestoreTarget::keep`], it is removed.
struct RestoreTarget {
    disk: Arc<FolderDisk>,
    /// The folders that were made for it, the outermost first.
    created: Vec<PathBuf>,
    is_kept: bool,
}

impl RestoreTarget {
    fn take(folder: &Path) -> StoreResult<Self> {
        let absent = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let mut created: Vec<_> =
            folder.ancestors().take_while(absent).map(Path::to_owned).collect();
        created.reverse();
        let disk = FolderDisk::open(folder).inspect_err(|_| remove(&created))?;
        let names = disk.list().map_err(|error| StoreError::io(UNFINISHED_NAME, error))?;
        if names.iter().any(|name| name != LOCK_NAME) {
            // Another process was faster.
            return Err(StoreError::NotEmpty { folder: folder.to_owned() });
        }
        let target = Self { disk: Arc::new(disk), created, is_kept: false };
        let failed = |error| StoreError::io(UNFINISHED_NAME, error);
        let path = target.disk.path().join(UNFINISHED_NAME);
        let marker = OpenOptions::new().write(true).create_new(true).open(path);
        marker.and_then(|marker| marker.sync_all()).map_err(failed)?;
        target.disk.sync().map_err(failed)?;
        Ok(target)
    }

    /// Marks the folder as complete and syncs it.
    fn keep(mut self) -> StoreResult<()> {
        let failed = |error| StoreError::io(UNFINISHED_NAME, error);
        self.disk.sync().map_err(failed)?;
        self.disk.remove(UNFINISHED_NAME).map_err(failed)?;
        self.is_kept = true;
        self.disk.sync().map_err(failed)?;
        for folder in &self.created {
            let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            let synced = File::open(parent.unwrap_or(Path::new("."))).and_then(|it| it.sync_all());
            synced.map_err(|error| StoreError::io(folder.display().to_string(), error))?;
        }
        Ok(())
    }
}

impl Drop for RestoreTarget {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // The marker last: a file that cannot be removed must not be taken for a store.
        let mut names = self.disk.list().unwrap_or_default();
        names.sort_by_key(|name| name == UNFINISHED_NAME);
        for name in names {
            let _ = self.disk.remove(&name);
        }
        remove(&self.created);
    }
}

/// Removes empty folders, the innermost first.
fn remove(created: &[PathBuf]) {
    for folder in created.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

fn fill(file: &Path, target: &mut RestoreTarget, clock: &Arc<dyn Clock>) -> StoreResult<Restored> {
    let disk: Arc<dyn Disk> = Arc::clone(&target.disk) as _;
    let mut copy = FrameReader::open(file)?;
    let stated = StatedTotals::read(&mut copy)?;
    disk::make(&*disk, archive::FILE_NAME, |file| fill_archive(file, &mut copy))?;
    let (last, used) = fill_log(&*disk, &mut copy)?;
    if last != stated.last {
        return Err(copy.bad("it holds other entries than it states"));
    }
    Tokens::refill(&*disk, &mut || copy.row_of(section::TOKENS))?;
    if let Some(section) = copy.section()? {
        let detail = format!("its section {section} is none that this version knows");
        return Err(copy.bad(detail));
    }
    let mut archive = open_archive(&*disk)?;
    archive.begin_era(clock.now(), last, used)?;
    let era = archive.meta().era;
    archive.close()?;
    // No handle is made, so the realm does not matter.
    let tokens = Tokens::open(disk, "", Arc::clone(clock))?;
    tokens.renew_admin(target.disk.path(), archive::SKIPPED_BY_RESTORE)?;
    Ok(Restored { cursor: stated.cursor, era, last, taken_at: stated.taken_at })
}

fn open_archive(disk: &dyn Disk) -> StoreResult<Archive> {
    Archive::open(disk::open_made(disk, archive::FILE_NAME)?, CACHE_BYTES)
}

fn fill_archive(file: Box<dyn redb::StorageBackend>, copy: &mut FrameReader) -> StoreResult<()> {
    let refill = Refill::begin(file)?;
    while let Some(section) = copy.section()?
        && section.starts_with(section::ARCHIVE)
    {
        let section = section.to_owned();
        refill.put(&section[section::ARCHIVE.len()..], &mut || copy.row_of(&section))?;
    }
    refill.finish()
}

/// Fills the log; returns its last number and the highest numbers that its entries use.
fn fill_log(disk: &dyn Disk, copy: &mut FrameReader) -> StoreResult<(u64, HighestNumbers)> {
    let archived_upto = open_archive(disk)?.read()?.upto();
    let mut used = HighestNumbers::default();
    let segment_bytes = JournalOptions::default().segment_bytes;
    let last = log::refill(disk, segment_bytes, archived_upto, &mut || {
        let row = copy.row_of(section::LOG)?;
        if let Some((_, entry)) = &row {
            let entry = Entry::decode(entry);
            let entry = entry.ok_or_else(|| copy.bad("an entry of it cannot be read"))?;
            used = used.max(HighestNumbers::of(0, &entry));
        }
        Ok(row)
    })?;
    Ok((last, HighestNumbers { entry: last, ..used }))
}

/// The section [`section::HEAD`] of a copy.
struct StatedTotals {
    cursor: String,
    last: u64,
    taken_at: Millis,
}

impl StatedTotals {
    fn read(copy: &mut FrameReader) -> StoreResult<Self> {
        let mut stated = Self { cursor: String::new(), last: 0, taken_at: Millis(0) };
        while let Some((name, value)) = copy.row_of(section::HEAD)? {
            let known = match &*name {
                head::ARCHIVE_FORMAT => Some(("its archive", archive::FILE_FORMAT)),
                head::LOG_FORMAT => Some(("its log", log::FILE_FORMAT)),
                head::TOKENS_FORMAT => Some(("its tokens", tokens::FILE_FORMAT)),
                _ => None,
            };
            if let Some((what, format)) = known {
                let found = value.try_into().map(u32::from_le_bytes);
                let found = found.map_err(|_| copy.bad("a format of it cannot be read"))?;
                let file = format!("the copy ({what})");
                StoreError::refuse_newer(&file, found, format.current())?;
                continue;
            }
            let number = value.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            match &*name {
                head::CURSOR => stated.cursor = String::from_utf8_lossy(&value).into_owned(),
                head::LAST => stated.last = number,
                head::TAKEN_AT => stated.taken_at = Millis(number),
                _ => {}
            }
        }
        Ok(stated)
    }
}
