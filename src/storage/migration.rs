//! From an older format to the present one (operations.md §3): after a copy is kept, each file in
//! one transaction, the version last; whatever cuts it short, the next start goes on.
//!
//! The original is never written: a second copy of it is migrated and takes its name at the end.
//! So a file is of the old format or of the new one, and a log that was not closed in good order
//! is not written on.

use redb::{Builder, Database, ReadableDatabase, WriteTransaction};

use crate::journal::archive;
use crate::journal::log::{self, parse_name};
use crate::journal::recovery::ARCHIVE_NAME;
use crate::storage::disk::{BoxedFile, Disk};
use crate::storage::error::StoreError;
use crate::storage::overlay::Overlay;
use crate::storage::panic_guard::{open_database, panic_guard};
use crate::tokens::{self, TOKENS_NAME};

/// Bytes copied at once.
const PIECE_BYTES: u64 = 1 << 20;
/// Bytes of page cache for the file that is migrated.
const CACHE_BYTES: usize = 16 << 20;

/// What makes the next format out of one: everything but the version itself, which is written
/// after the last step.
pub type MigrationStep = fn(&WriteTransaction) -> Result<(), StoreError>;

/// The steps of one kind of file, each from one format to the next.
#[derive(Clone, Copy, Debug)]
pub struct MigrationSteps {
    /// The format that the first step begins with.
    pub from: u32,
    /// The steps, in order; the last one ends with the present format.
    pub steps: &'static [MigrationStep],
}

/// The steps of all kinds of files.
#[derive(Clone, Copy, Debug)]
pub struct Migrations {
    /// Of the archive.
    pub archive: MigrationSteps,
    /// Of each segment of the log.
    pub log: MigrationSteps,
    /// Of the tokens.
    pub tokens: MigrationSteps,
}

/// What this version migrates: nothing yet, there is one format of each kind so far.
pub const SHIPPED: Migrations = Migrations {
    archive: MigrationSteps { from: archive::FORMAT, steps: &[] },
    log: MigrationSteps { from: log::LOG_FORMAT, steps: &[] },
    tokens: MigrationSteps { from: tokens::FORMAT, steps: &[] },
};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Archive,
    Log,
    Tokens,
}

impl FileKind {
    /// The kind of the file `name`; `None` for one that holds no part of the store.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            ARCHIVE_NAME => Some(Self::Archive),
            TOKENS_NAME => Some(Self::Tokens),
            name => parse_name(name).map(|_| Self::Log),
        }
    }

    /// The format that this version writes.
    pub(crate) fn known(self) -> u32 {
        match self {
            Self::Archive => archive::FORMAT,
            Self::Log => log::LOG_FORMAT,
            Self::Tokens => tokens::FORMAT,
        }
    }

    /// The format that a file of this kind states; `None` if it states none.
    pub(crate) fn stated(self, database: &Database) -> Result<Option<u32>, StoreError> {
        let reading = database.begin_read()?;
        Ok(match self {
            Self::Archive => {
                let row = reading.open_table(archive::META)?.get(archive::FORMAT_ROW)?;
                row.and_then(|row| row.value().try_into().ok().map(u32::from_le_bytes))
            }
            Self::Log => {
                let row = reading.open_table(log::META)?.get("format")?;
                row.and_then(|row| u32::try_from(row.value()).ok())
            }
            Self::Tokens => {
                let row = reading.open_table(tokens::META)?.get("format")?;
                row.map(|row| row.value())
            }
        })
    }

    fn state(self, writing: &WriteTransaction, format: u32) -> Result<(), StoreError> {
        match self {
            Self::Archive => {
                let mut meta = writing.open_table(archive::META)?;
                meta.insert(archive::FORMAT_ROW, format.to_le_bytes().as_slice())?;
            }
            Self::Log => {
                writing.open_table(log::META)?.insert("format", u64::from(format))?;
            }
            Self::Tokens => {
                writing.open_table(tokens::META)?.insert("format", format)?;
            }
        }
        Ok(())
    }
}

impl Migrations {
    fn of(&self, kind: FileKind) -> &MigrationSteps {
        match kind {
            FileKind::Archive => &self.archive,
            FileKind::Log => &self.log,
            FileKind::Tokens => &self.tokens,
        }
    }
}

/// A file to be migrated.
struct OutdatedFile {
    name: String,
    kind: FileKind,
    format: u32,
}

/// The name of the copy that is kept of the file `name` of an older format.
pub fn kept_name(name: &str, format: u32) -> String {
    format!("{name}.v{format}.kept")
}

/// Migrates every file that is of an older format, after a copy of all of them is kept under
/// [`kept_name`]. Gives the names of the files migrated.
///
/// # Errors
/// What the disk says; calling it again goes on.
pub fn migrate(disk: &dyn Disk, migrations: &Migrations) -> Result<Vec<String>, StoreError> {
    let mut names = disk.list().map_err(|error| StoreError::io("the data folder", error))?;
    names.sort();
    let mut old = Vec::new();
    for name in &names {
        let Some(kind) = FileKind::of(name) else { continue };
        let MigrationSteps { from, steps } = migrations.of(kind);
        // Where nothing older can be, nothing is opened.
        if steps.is_empty() {
            continue;
        }
        let format = panic_guard(name, || format_of(disk, name, kind))?;
        if format < *from {
            let detail = format!("its format {format} is older than any that can be migrated");
            return Err(StoreError::damaged(name, detail));
        }
        if ((format - from) as usize) < steps.len() {
            old.push(OutdatedFile { name: name.clone(), kind, format });
        }
    }
    for OutdatedFile { name, format, .. } in &old {
        let kept = kept_name(name, *format);
        if !names.contains(&kept) {
            let draft = copy(disk, name)?;
            disk.rename(&draft, &kept)
                .and_then(|()| disk.sync())
                .map_err(|error| StoreError::io(kept, error))?;
        }
    }
    for old in &old {
        panic_guard(&old.name, || run(disk, old, migrations.of(old.kind)))?;
        tracing::info!(file = old.name, from = old.format, "a file was migrated");
    }
    Ok(old.into_iter().map(|old| old.name).collect())
}

fn format_of(disk: &dyn Disk, name: &str, kind: FileKind) -> Result<u32, StoreError> {
    let error = |error| StoreError::io(name, error);
    let file = Overlay::new(disk.open(name).map_err(error)?).map_err(error)?;
    let format = kind.stated(&open_database(name, &builder(), file)?)?;
    format.ok_or_else(|| StoreError::damaged(name, "it does not state its format"))
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Copies the file `name`; gives the name of the copy, which is on the disk.
fn copy(disk: &dyn Disk, name: &str) -> Result<String, StoreError> {
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

fn run(disk: &dyn Disk, old: &OutdatedFile, steps: &MigrationSteps) -> Result<(), StoreError> {
    let OutdatedFile { name, kind, format } = old;
    let draft = copy(disk, name)?;
    let error = |error| StoreError::io(&draft, error);
    let database = open_database(&draft, &builder(), BoxedFile(disk.open(&draft).map_err(error)?))?;
    let mut writing = database.begin_write()?;
    writing.set_two_phase_commit(true);
    for step in &steps.steps[(format - steps.from) as usize..] {
        step(&writing)?;
    }
    kind.state(&writing, steps.from + steps.steps.len() as u32)?;
    writing.commit()?;
    database.close()?;
    disk.rename(&draft, name).and_then(|()| disk.sync()).map_err(error)
}
