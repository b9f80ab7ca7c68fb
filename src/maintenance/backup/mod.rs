//! Backup and restore (operations.md §1): the whole store as one stream, and a data folder made of
//! it (docs/decisions/0005-backup.md).

mod copy;
pub(crate) mod frames;
mod restore;

pub use copy::BackupCopy;
pub use frames::verify;
pub use restore::{Restored, restore};

/// The names of the sections of a copy.
mod section {
    /// Facts about the copy: rows by name.
    pub const HEAD: &str = "head";
    /// The prefix of the sections that hold the archive's tables.
    pub const ARCHIVE: &str = "archive.";
    /// The entries of the log, as they were encoded.
    pub const LOG: &str = "log";
    /// The tokens, as they are stored.
    pub const TOKENS: &str = "tokens";
}

/// Rows of [`section::HEAD`].
mod head {
    /// The format of the archive's tables, four bytes, as all numbers here little-endian.
    pub const ARCHIVE_FORMAT: &[u8] = b"archive_format";
    /// The format of the log, four bytes.
    pub const LOG_FORMAT: &[u8] = b"log_format";
    /// The format of the tokens, four bytes.
    pub const TOKENS_FORMAT: &[u8] = b"tokens_format";
    /// The text of the copy's cursor.
    pub const CURSOR: &[u8] = b"cursor";
    /// The number of the last entry, eight bytes.
    pub const LAST: &[u8] = b"last";
    /// When it was taken, in milliseconds, eight bytes.
    pub const TAKEN_AT: &[u8] = b"taken_at";
}
