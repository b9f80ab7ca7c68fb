//! Checks a whole store (operations.md §1): every page, every entry, and that the archive equals
//! the state that its acts make. The folder is not changed.
//!
//! Threads are rebuilt one at a time, so that memory is bounded by the largest one and by the tail,
//! as at a start.

mod archive;
mod artifacts;
mod expected;
mod log;
mod pages;
mod threads;

use std::path::Path;
use std::sync::Arc;

use super::open_read_only;
use crate::clock::Clock;
use crate::journal::options::JournalOptions;
use crate::journal::{self, Journal, OpenedJournal};
use crate::storage::disk::Disk;
use crate::storage::disk::{FolderDisk, names};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::migration::FileFormat;
use crate::storage::panic_guard::panic_guard;
use crate::storage::read_only::ReadOnlyDisk;
use crate::tokens::{self, ADMIN_TOKEN_NAME, Tokens};

/// A kind of file of the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Archive,
    Log,
    Tokens,
}

impl FileKind {
    /// The kind of the file `name`; `None` for one that is no part of the store.
    fn of(name: &str) -> Option<Self> {
        let kinds = [Self::Archive, Self::Log, Self::Tokens];
        kinds.into_iter().find(|kind| (kind.format().is_name)(name))
    }

    fn format(self) -> &'static FileFormat {
        match self {
            Self::Archive => &journal::archive::FILE_FORMAT,
            Self::Log => &journal::log::FILE_FORMAT,
            Self::Tokens => &tokens::FILE_FORMAT,
        }
    }
}

/// Findings that are reported; more are only counted.
const FINDINGS_MAX: usize = 100;

/// What is to be done about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Nothing: the next start repairs it, and nothing is lost.
    Start,
    /// The version that wrote the file is to be used.
    NewerVersion,
    /// Something is lost: a backup is to be restored.
    Restore,
}

/// A defect of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is to be done about it.
    pub remedy: Remedy,
    /// The file concerned, by its name in the data folder.
    pub file: String,
    /// The defect.
    pub detail: String,
}

/// The formats that the files state; `None` where there is no such file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFormats {
    /// Of the archive.
    pub archive: Option<u32>,
    /// Of the log's segments, the lowest.
    pub log: Option<u32>,
    /// Of the tokens.
    pub tokens: Option<u32>,
}

/// The sizes of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// The number of the last entry.
    pub last_entry: u64,
    /// Entries in the log.
    pub log_entries: u64,
    /// Those of them that the next start moves into the archive. The numbers below count them.
    pub unarchived: u64,
    /// Threads.
    pub threads: u64,
    /// Acts in them.
    pub acts: u64,
    /// Claims in them.
    pub claims: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Remembered outcomes.
    pub outcomes: u64,
    /// Tokens ever made.
    pub tokens: u64,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The files checked.
    pub files: Vec<String>,
    /// Their formats.
    pub formats: StoreFormats,
    /// The instance's identifier, if the archive could be read.
    pub instance: Option<[u8; 16]>,
    /// The era.
    pub era: u64,
    /// The sizes of the store.
    pub counts: StoreCounts,
    /// The first defects.
    pub findings: Vec<Finding>,
    /// The number of further defects.
    pub more: u64,
    /// Whether a file has an older format, so that its contents were not checked.
    pub is_outdated: bool,
}

impl CheckReport {
    /// Whether there is no defect but those that the next start repairs.
    pub fn is_good(&self) -> bool {
        self.remedy().is_none_or(|remedy| remedy == Remedy::Start)
    }

    /// What is to be done about the worst finding.
    pub fn remedy(&self) -> Option<Remedy> {
        self.findings.iter().map(|finding| finding.remedy).max()
    }

    fn find(&mut self, file: impl Into<String>, detail: impl Into<String>) {
        self.find_with(Remedy::Restore, file, detail);
    }

    /// Reports a defect that the next start repairs.
    fn find_repairable(&mut self, file: impl Into<String>, detail: impl Into<String>) {
        self.find_with(Remedy::Start, file, detail);
    }

    fn find_with(&mut self, remedy: Remedy, file: impl Into<String>, detail: impl Into<String>) {
        let (file, detail) = (file.into(), detail.into());
        // What a start repairs must not hide what it does not.
        let is_room = self.findings.len() < FINDINGS_MAX;
        if is_room || (remedy == Remedy::Restore && self.remedy() != Some(Remedy::Restore)) {
            self.findings.push(Finding { remedy, file, detail });
        } else {
            self.more += 1;
        }
    }

    /// Reports an error as a defect of `file`.
    fn fail(&mut self, file: &str, error: StoreError) {
        match error {
            StoreError::Damaged { file, detail } => self.find(file, detail),
            StoreError::NewerFormat { found, known, .. } => {
                let detail = format!("it has format {found}, this version knows up to {known}");
                self.find_with(Remedy::NewerVersion, file, detail);
            }
            other => self.find(file, other.to_string()),
        }
    }

    /// Does a part of the check; an error ends the part and is a finding.
    fn part(&mut self, file: &str, work: impl FnOnce(&mut Self) -> StoreResult<()>) {
        if let Err(error) = panic_guard(file, || work(self)) {
            self.fail(file, error);
        }
    }
}

/// Checks the store in `folder`, which no server may use meanwhile.
///
/// # Errors
/// If it cannot be checked: [`StoreError::NoStore`], [`StoreError::Locked`],
/// [`StoreError::Unfinished`], [`StoreError::Io`]. A defect is no error.
pub fn check(folder: &Path, clock: Arc<dyn Clock>) -> StoreResult<CheckReport> {
    let below = Arc::new(FolderDisk::open_read_only(folder)?);
    check_disk(open_read_only(below, folder)?, clock)
}

/// Checks the store on a disk.
///
/// # Errors
/// As [`check`].
pub fn check_disk(disk: ReadOnlyDisk, clock: Arc<dyn Clock>) -> StoreResult<CheckReport> {
    let disk = Arc::new(disk);
    let names = names(&*disk)?;
    let mut report = CheckReport::default();
    let last_segment = names.iter().rfind(|name| journal::log::parse_name(name).is_some()).cloned();
    for name in &names {
        let Some(kind) = FileKind::of(name) else { continue };
        let is_last = Some(name) == last_segment.as_ref();
        report.part(name, |report| pages::check(&disk, name, kind, is_last, report));
        report.files.push(name.clone());
    }
    // With damaged pages, or another format, further findings would mean nothing.
    if report.is_good() && !report.is_outdated {
        report.part(journal::archive::FILE_NAME, |report| check_store(&disk, &clock, report));
        if names.iter().any(|name| name == tokens::FILE_NAME) {
            report.part(tokens::FILE_NAME, |report| check_tokens(&disk, &names, &clock, report));
        } else {
            report.find(tokens::FILE_NAME, "it is missing");
        }
    }
    Ok(report)
}

fn check_tokens(
    disk: &Arc<ReadOnlyDisk>,
    names: &[String],
    clock: &Arc<dyn Clock>,
    report: &mut CheckReport,
) -> StoreResult<()> {
    let tokens = Tokens::open(Arc::clone(disk) as _, "", Arc::clone(clock))?;
    report.counts.tokens = tokens.rows().count() as u64;
    if !tokens.is_sound() {
        report.find(tokens::FILE_NAME, "two tokens have one secret");
    }
    // The file may be kept elsewhere.
    if names.iter().any(|name| name == ADMIN_TOKEN_NAME) {
        let secret = secret(disk).map_err(|error| StoreError::io(ADMIN_TOKEN_NAME, error))?;
        if !tokens.knows(secret.trim()) {
            report.find(ADMIN_TOKEN_NAME, "it holds the secret of no token in this folder");
        }
    }
    Ok(())
}

/// The first bytes of `admin.token`: a secret is short.
fn secret(disk: &ReadOnlyDisk) -> std::io::Result<String> {
    const BYTES_MAX: u64 = 4_096;
    let file = disk.open(ADMIN_TOKEN_NAME)?;
    let mut bytes = vec![0; file.len()?.min(BYTES_MAX) as usize];
    file.read(0, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens the store as a start does, and checks its contents.
fn check_store(
    disk: &Arc<ReadOnlyDisk>,
    clock: &Arc<dyn Clock>,
    report: &mut CheckReport,
) -> StoreResult<()> {
    let mut opened =
        Journal::open(JournalOptions::default(), Arc::clone(disk) as _, Arc::clone(clock))?;
    let OpenedJournal { journal, archiver, meta, .. } = &mut opened;
    report.instance = Some(meta.instance);
    report.era = meta.era;
    report.counts.last_entry = journal.committed();
    let archived_upto = journal.view().archive().upto();
    // As a start does, in memory: then all is counted, and checked, where a start would show it.
    archiver.finish()?;
    let archive = journal.view().archive();
    let mut logged = log::LogCoverage::default();
    report.part("the log", |report| {
        logged = log::check(journal.log(), &archive, archived_upto, report)?;
        Ok(())
    });
    report.part(journal::archive::FILE_NAME, |report| {
        archive::check(meta, &archive, &logged, report)
    });
    Ok(())
}
