//! Storage: files on a [`disk`](disk::Disk) and the databases in them, for the journal and the
//! tokens alike: errors, the guard against panics, the latch after a failed write, the overlay, the
//! format of a file and its migration. Imports neither the journal nor the tokens.

pub mod disk;
pub mod error;
pub(crate) mod free_space;
pub mod latch;
pub mod migration;
pub(crate) mod overlay;
pub(crate) mod panic_guard;
pub mod read_only;
pub(crate) mod rows;
