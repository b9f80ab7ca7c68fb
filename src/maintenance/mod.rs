//! Operations on a whole data folder, journal and tokens together: backup, restore, check
//! (operations.md §1).

pub mod backup;
pub mod check;

use std::path::Path;
use std::sync::Arc;

use crate::journal::archive;
use crate::storage::disk::{Disk, names};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::read_only::ReadOnlyDisk;

/// The store on the disk `below`, which lies in `folder`, to be read without changing it.
///
/// # Errors
/// [`StoreError::NoStore`] if there is none, [`StoreError::Io`].
pub fn open_read_only(below: Arc<dyn Disk>, folder: &Path) -> StoreResult<ReadOnlyDisk> {
    if !names(&*below)?.iter().any(|name| name == archive::FILE_NAME) {
        return Err(StoreError::NoStore { folder: folder.to_owned() });
    }
    Ok(ReadOnlyDisk::over(below))
}
