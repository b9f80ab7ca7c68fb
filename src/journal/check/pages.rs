//! The pages of one file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::Builder;

use super::Report;
use crate::journal::archive::Boxed;
use crate::journal::calm::open_database;
use crate::journal::disk::Disk;
use crate::journal::error::StoreError;
use crate::journal::migration::Kind;
use crate::journal::still::StillDisk;

/// Bytes of page cache.
const CACHE_BYTES: usize = 16 << 20;

/// Verifies the checksum of every page that the last commit of the file `name` holds, and its
/// format. `is_last`: whether it is the log's last segment.
pub(super) fn check(
    disk: &StillDisk,
    name: &str,
    kind: Kind,
    is_last: bool,
    report: &mut Report,
) -> Result<(), StoreError> {
    let error = |error| StoreError::io(name, error);
    let file = disk.open(name).map_err(error)?;
    if file.len().map_err(error)? == 0 {
        report.find(name, "it is empty");
        return Ok(());
    }
    let fell_back = Arc::new(AtomicBool::new(false));
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    let noted = Arc::clone(&fell_back);
    // Between the first scan and the second, the database says so only if it has to go back.
    builder.set_repair_callback(move |repair| {
        if repair.progress() > 0.0 && repair.progress() < 0.5 {
            noted.store(true, Ordering::Relaxed);
        }
    });
    let database = open_database(name, &builder, Boxed(file))?;
    match kind.stated(&database)? {
        Some(format) if format == kind.known() => {
            let formats = &mut report.formats;
            match kind {
                Kind::Archive => formats.archive = Some(format),
                Kind::Log => formats.log = Some(format),
                Kind::Tokens => formats.tokens = Some(format),
            }
        }
        Some(found) if found > kind.known() => {
            let (file, known) = (name.to_owned(), kind.known());
            return Err(StoreError::NewerFormat { file, found, known });
        }
        Some(older) => {
            let detail = format!("it has the older format {older}: start the server once");
            report.find(name, detail);
        }
        None => report.find(name, "it does not state its format"),
    }
    // A power cut may tear the last commit of a segment that was being written, which nobody was
    // told of. A later segment that follows without a gap proves it; else it may be a loss.
    let is_torn = kind == Kind::Log && !is_last && !is_closed(disk, name)?;
    if fell_back.load(Ordering::Relaxed) && !is_torn {
        report.find(name, "its last commit is not what was written; the one before is");
    }
    Ok(())
}

/// Whether the file was closed in good order. Its pages are verified already.
fn is_closed(disk: &StillDisk, name: &str) -> Result<bool, StoreError> {
    let file = disk.open(name).map_err(|error| StoreError::io(name, error))?;
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_repair_callback(redb::RepairSession::abort);
    match open_database(name, &builder, Boxed(file)) {
        Ok(_) => Ok(true),
        Err(StoreError::Database(error)) if matches!(*error, redb::Error::RepairAborted) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
