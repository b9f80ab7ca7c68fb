//! The format of the file, and what a file says of itself.

use redb::{Database, ReadableDatabase, TableError};

use super::tables::{self as t, damaged, meta_row, unpack};
use super::{ArchiveMeta, claims_apart};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::migration::FileFormat;

/// The format of the file.
pub const FILE_FORMAT: FileFormat = FileFormat {
    is_name: |name| name == t::FILE_NAME,
    stated: |database| {
        let row = database.begin_read()?.open_table(t::META)?.get(meta_row::FORMAT)?;
        Ok(row.and_then(|row| row.value().try_into().ok().map(u32::from_le_bytes)))
    },
    state: |writing, format| {
        let mut meta = writing.open_table(t::META)?;
        meta.insert(meta_row::FORMAT, format.to_le_bytes().as_slice())?;
        Ok(())
    },
    oldest: 1,
    steps: &[claims_apart::migrate],
};

/// The archive's own rows; `None` if it was never initialized.
pub(super) fn stored_meta(database: &Database) -> StoreResult<Option<ArchiveMeta>> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(t::META) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let format = table.get(meta_row::FORMAT)?.ok_or_else(|| damaged("meta holds no format"))?;
    let found = format.value().try_into().map(u32::from_le_bytes);
    let found = found.map_err(|_| damaged("the format cannot be read"))?;
    StoreError::refuse_newer(t::FILE_NAME, found, FILE_FORMAT.current())?;
    let meta = table.get(meta_row::META)?.ok_or_else(|| damaged("meta is empty"))?;
    unpack("meta", meta.value()).map(Some)
}
