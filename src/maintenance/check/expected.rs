//! What the tables should hold, counted while threads and artifacts are checked.

use crate::journal::archive::{HighestNumbers, Lengths};

/// The rows and numbers that the acts and artifacts read so far make.
#[derive(Debug, Default)]
pub(super) struct ExpectedRows {
    /// Rows that the tables should have.
    pub rows: Lengths,
    /// The highest numbers used.
    pub maxima: HighestNumbers,
    /// Acts that the log should hold too.
    pub logged_acts: u64,
    /// Artifacts that the log should hold too.
    pub logged_artifacts: u64,
}
