//! From an older format to the current one (operations.md §3): a copy of the old file is kept, then
//! each file is migrated in one transaction, the format written last. An interrupted migration goes
//! on at the next start.
//!
//! The original is never written: a second copy of it is migrated and takes its name at the end. So
//! a file is of the old format or of the current one, and a log that was not closed in good order
//! is not written on.

use redb::{Database, WriteTransaction};

use super::disk::{Disk, names};
use super::error::{StoreError, StoreResult};
use super::latch::BoxedFile;
use super::overlay::Overlay;
use super::panic_guard::{open_database, panic_guard};

/// Bytes copied at once.
const PIECE_BYTES: u64 = 1 << 20;
/// Bytes of page cache for the file that is migrated.
const CACHE_BYTES: usize = 16 << 20;

/// Makes the next format out of one: everything but the format itself, which is written after the
/// last step.
pub type MigrationStep = fn(&WriteTransaction) -> StoreResult<()>;

/// One kind of file: its names, the format that it states, and the steps from older formats.
#[derive(Clone, Copy, Debug)]
pub struct FileFormat {
    /// Whether a file of this name is of this kind.
    pub is_name: fn(&str) -> bool,
    /// The format that a file states; `None` if it states none.
    pub stated: fn(&Database) -> StoreResult<Option<u32>>,
    /// Writes the format that a file states.
    pub state: fn(&WriteTransaction, u32) -> StoreResult<()>,
    /// The oldest format that can be migrated: the first step begins with it.
    pub oldest: u32,
    /// The steps, in order, each from one format to the next.
    pub steps: &'static [MigrationStep],
}

impl FileFormat {
    /// The format that this version writes: the one after the last step.
    pub const fn current(&self) -> u32 {
        self.oldest + self.steps.len() as u32
    }

    /// Takes the steps from `format` to the current one, and writes the current one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] for a format before the oldest, and those of the steps.
    pub fn upgrade(&self, writing: &WriteTransaction, format: u32) -> StoreResult<()> {
        let first = format.checked_sub(self.oldest).ok_or_else(|| {
            let detail = format!("its format {format} is older than any that can be migrated");
            StoreError::damaged("the store", detail)
        })?;
        for step in self.steps.iter().skip(first as usize) {
            step(writing)?;
        }
        (self.state)(writing, self.current())
    }
}

/// A file to be migrated.
struct OutdatedFile<'a> {
    name: &'a str,
    format: u32,
    target: &'a FileFormat,
}

/// The name of the copy that is kept of the file `name` of an older format.
pub fn kept_name(name: &str, format: u32) -> String {
    format!("{name}.v{format}.kept")
}

/// Migrates every file that is of an older format of one of `formats`, after a copy of all of them
/// is kept under [`kept_name`]. Returns the names of the files migrated.
///
/// # Errors
/// Those of the disk, and [`StoreError::Damaged`] for a format before the oldest; calling it again
/// goes on.
pub fn migrate(disk: &dyn Disk, formats: &[FileFormat]) -> StoreResult<Vec<String>> {
    let names = names(disk)?;
    let mut outdated = Vec::new();
    for name in &names {
        // Where nothing older can be, nothing is opened.
        let of_name = |format: &&FileFormat| !format.steps.is_empty() && (format.is_name)(name);
        let Some(target) = formats.iter().find(of_name) else { continue };
        let format = panic_guard(name, || format_of(disk, name, target))?;
        if format < target.oldest {
            let detail = format!("its format {format} is older than any that can be migrated");
            return Err(StoreError::damaged(name, detail));
        }
        if format < target.current() {
            outdated.push(OutdatedFile { name, format, target });
        }
    }
    for OutdatedFile { name, format, .. } in &outdated {
        let kept = kept_name(name, *format);
        if !names.contains(&kept) {
            let draft = copy(disk, name)?;
            disk.rename(&draft, &kept)
                .and_then(|()| disk.sync())
                .map_err(|error| StoreError::io(kept, error))?;
        }
    }
    for file in &outdated {
        panic_guard(file.name, || run(disk, file))?;
        tracing::info!(file = file.name, from = file.format, "a file was migrated");
    }
    Ok(outdated.iter().map(|file| file.name.to_owned()).collect())
}

fn format_of(disk: &dyn Disk, name: &str, target: &FileFormat) -> StoreResult<u32> {
    let error = |error| StoreError::io(name, error);
    let file = Overlay::new(disk.open(name).map_err(error)?).map_err(error)?;
    let format = (target.stated)(&open_database(name, CACHE_BYTES, file)?)?;
    format.ok_or_else(|| StoreError::damaged(name, "it does not state its format"))
}

/// Copies the file `name` and syncs the copy; returns its name.
fn copy(disk: &dyn Disk, name: &str) -> StoreResult<String> {
    let draft = format!("{name}.draft");
    let copied = || -> std::io::Result<()> {
        if disk.list()?.contains(&draft) {
            disk.remove(&draft)?;
        }
        let (from, to) = (disk.open(name)?, disk.create(&draft)?);
        let len = from.len()?;
        to.set_len(len)?;
        let mut at = 0;
        let mut piece = vec![0; PIECE_BYTES as usize];
        while at < len {
            let part = &mut piece[..(len - at).min(PIECE_BYTES) as usize];
            from.read(at, part)?;
            to.write(at, part)?;
            at += part.len() as u64;
        }
        to.sync_data()?;
        from.close()?;
        to.close()
    };
    copied().map_err(|error| StoreError::io(&draft, error))?;
    Ok(draft)
}

fn run(disk: &dyn Disk, file: &OutdatedFile<'_>) -> StoreResult<()> {
    let OutdatedFile { name, format, target } = file;
    let draft = copy(disk, name)?;
    let error = |error| StoreError::io(&draft, error);
    let database =
        open_database(&draft, CACHE_BYTES, BoxedFile::new(disk.open(&draft).map_err(error)?))?;
    let mut writing = database.begin_write()?;
    writing.set_two_phase_commit(true);
    target.upgrade(&writing, *format)?;
    writing.commit()?;
    database.close()?;
    disk.rename(&draft, name).and_then(|()| disk.sync()).map_err(error)
}
