//! Storage: files on a [`disk`](disk::Disk), the databases in them, and what is common to all who
//! keep some: errors, the guard against panics, the latch after a failed write, the format of a
//! file and its migration. Knows neither the journal nor the tokens.

pub mod disk;
pub mod error;
pub(crate) mod free_space;
pub(crate) mod latch;
pub mod migration;
pub(crate) mod overlay;
pub(crate) mod panic_guard;
pub mod read_only;
pub(crate) mod rows;
