//! Listening: from committed entries to feeds (bindings.md §6).

pub mod encode;
pub mod hub;
pub mod outlet;
pub mod told;
