//! What the journal and the tokens store their files with.

pub mod disk;
pub mod error;
pub(crate) mod free_space;
pub mod migration;
pub(crate) mod overlay;
pub(crate) mod panic_guard;
pub mod read_only;
