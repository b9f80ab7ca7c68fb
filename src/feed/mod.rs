//! Listening: from committed entries to feeds (bindings.md §6).

pub mod client;
pub mod connection;
pub mod hub;
pub mod listener;
pub mod replay;
pub mod replay_cache;
pub mod sse;
pub mod tickets;
