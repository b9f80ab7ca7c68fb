//! Checks the pages and the format of one file.

use redb::{Builder, Database, StorageBackend};

use super::CheckReport;
use super::FileKind;
use crate::journal::log::failed_name;
use crate::storage::disk::{Disk, names};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::latch::BoxedFile;
use crate::storage::panic_guard::{open_closed, open_with};
use crate::storage::read_only::ReadOnlyDisk;

/// Bytes of page cache.
const CACHE_BYTES: usize = 16 << 20;

/// Verifies the checksum of every page of the last commit of the file `name`, and its format.
/// `is_last`: whether it is the log's last segment.
///
/// # Errors
/// The defect of the file.
pub(super) fn check(
    disk: &ReadOnlyDisk,
    name: &str,
    kind: FileKind,
    is_last: bool,
    report: &mut CheckReport,
) -> StoreResult<()> {
    let file = disk.open(name).map_err(|error| StoreError::io(name, error))?;
    let header = DatabaseHeader::read(name, &*file)?;
    // A file of tokens that goes back one commit would show no gap, and a revoked token would be
    // valid again.
    if kind == FileKind::Tokens && header.is_older() && header.other_is_whole(disk, name)? {
        report.find(name, "another commit than the last one is taken for the last one");
    }
    let database = match header.strictly(name, file) {
        Ok(database) => database,
        // A power cut or a full disk may tear the last commit of a file that is written. What the
        // archive loses is in the log. In the log it was not acknowledged where the server has
        // noted that it failed, or where a later segment follows without a gap.
        Err(_)
            if kind != FileKind::Tokens
                && (kind == FileKind::Archive || !is_last || has_failed(disk, name)?)
                && !is_closed(disk, name)? =>
        {
            let file = disk.open(name).map_err(|error| StoreError::io(name, error))?;
            let database = verified(name, file)?;
            if is_last || kind == FileKind::Archive {
                let detail = "its last commit is incomplete, as after a full disk or a power cut: \
                              the next start goes on from the commit before";
                report.find_repairable(name, detail);
            }
            database
        }
        Err(error) if kind == FileKind::Log && is_last && !is_closed(disk, name)? => {
            report.fail(name, error);
            let detail = "after a power cut this may be its last commit, which was not \
                          acknowledged then: the next start goes on from the commit before";
            report.find(name, detail);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    check_format(name, kind, &database, report)
}

fn check_format(
    name: &str,
    kind: FileKind,
    database: &Database,
    report: &mut CheckReport,
) -> StoreResult<()> {
    let Some(stated) = (kind.format().stated)(database)? else {
        report.find(name, "it does not state its format");
        return Ok(());
    };
    let current = kind.format().current();
    StoreError::refuse_newer(name, stated, current)?;
    if stated < current {
        report.is_outdated = true;
        let detail = format!("it has the older format {stated}, which the next start migrates");
        report.find_repairable(name, detail);
        return Ok(());
    }
    let formats = &mut report.formats;
    match kind {
        FileKind::Archive => formats.archive = Some(stated),
        FileKind::Log => formats.log = Some(stated),
        FileKind::Tokens => formats.tokens = Some(stated),
    }
    Ok(())
}

/// The first bytes of a database, in the format that redb documents: which of its two slots has the
/// last commit.
struct DatabaseHeader([u8; Self::BYTES]);

impl DatabaseHeader {
    const BYTES: usize = 320;
    /// Flags: which slot has the last commit, and whether that commit had two phases.
    const FLAGS: usize = 9;
    const SECOND_SLOT: u8 = 1;
    const TWO_PHASE: u8 = 4;
    /// The number of the commit in each slot.
    const COMMITS: [usize; 2] = [64 + 104, 192 + 104];

    fn read(name: &str, file: &dyn StorageBackend) -> StoreResult<Self> {
        let error = |error| StoreError::io(name, error);
        let mut header = [0; Self::BYTES];
        if file.len().map_err(error)? < Self::BYTES as u64 {
            return Err(StoreError::damaged(name, "it is too short for a database"));
        }
        file.read(0, &mut header).map_err(error)?;
        Ok(Self(header))
    }

    /// Whether the other slot has a later commit than the selected one.
    fn is_older(&self) -> bool {
        let commit = |slot: usize| {
            let at = Self::COMMITS[slot];
            u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
        };
        let last = usize::from(self.0[Self::FLAGS] & Self::SECOND_SLOT);
        commit(1 - last) > commit(last)
    }

    /// Whether the commit in the other slot is complete. One that is not was never acknowledged: a
    /// close on a full disk leaves one.
    fn other_is_whole(&self, disk: &ReadOnlyDisk, name: &str) -> StoreResult<bool> {
        let mut other = Self(self.0);
        other.0[Self::FLAGS] ^= Self::SECOND_SLOT;
        let file = disk.open(name).map_err(|error| StoreError::io(name, error))?;
        Ok(other.strictly(name, file).is_ok())
    }

    /// Opens the database, if its last commit is complete. Otherwise redb would go back to the
    /// commit before, unless it takes the last one for a commit in two phases: so the flag is set.
    fn strictly(&self, name: &str, file: Box<dyn StorageBackend>) -> StoreResult<Database> {
        // A write to a read-only disk stays in memory.
        let flags = self.0[Self::FLAGS] | Self::TWO_PHASE;
        file.write(Self::FLAGS as u64, &[flags]).map_err(|error| StoreError::io(name, error))?;
        verified(name, file)
    }
}

/// Opens the database and verifies every checksum.
fn verified(name: &str, file: Box<dyn StorageBackend>) -> StoreResult<Database> {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    open_with(name, &builder, BoxedFile::new(file))
}

/// Whether the server has noted that the last commit of the segment failed.
fn has_failed(disk: &ReadOnlyDisk, name: &str) -> StoreResult<bool> {
    let noted = failed_name(name);
    Ok(names(disk)?.contains(&noted))
}

/// Whether the file was closed in good order.
fn is_closed(disk: &ReadOnlyDisk, name: &str) -> StoreResult<bool> {
    let file = disk.open(name).map_err(|error| StoreError::io(name, error))?;
    Ok(open_closed(name, CACHE_BYTES, BoxedFile::new(file))?.is_some())
}
