//! Rows as bytes: the form in which tables are copied, whatever their types.

use super::error::StoreResult;

/// A row: its key and its value.
pub type RawRow = (Vec<u8>, Vec<u8>);
/// Rows of one table, in the order of their keys.
pub type RawRows = Box<dyn Iterator<Item = StoreResult<RawRow>> + Send>;
/// Gives the next row of one table of a copy; `None` after the last.
pub type NextRow<'a> = &'a mut dyn FnMut() -> StoreResult<Option<RawRow>>;
