//! Rows as bytes: the form in which tables are copied, whatever their types.

use super::error::StoreError;

/// A row: its key and its value.
pub type RawRow = (Vec<u8>, Vec<u8>);
/// Rows of one table, in the order of their keys.
pub type RawRows = Box<dyn Iterator<Item = Result<RawRow, StoreError>> + Send>;
/// Gives the next row of one table of a copy; `None` after the last.
pub type NextRow<'a> = &'a mut dyn FnMut() -> Result<Option<RawRow>, StoreError>;
