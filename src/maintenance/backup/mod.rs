//! Backup and restore (operations.md §1): everything as one stream, and everything made of it again
//! (docs/decisions/0005-backup.md).

mod copy;
pub(crate) mod frames;
mod restore;

pub use copy::BackupCopy;
pub use frames::verify;
pub use restore::{Restored, restore};

/// Sections of a copy that are no tables of the archive.
mod section {
    /// What the copy is: rows named after what they hold.
    pub const HEAD: &str = "head";
    /// What the names of the archive's tables begin with here.
    pub const ARCHIVE: &str = "archive.";
    /// The entries that the log holds, as they were encoded.
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
