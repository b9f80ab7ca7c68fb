//! Listening: from committed entries to feeds (bindings.md §6).

pub mod chunks;
pub mod client;
pub mod connection;
pub mod hub;
pub mod listener;
pub mod replay;
pub mod sse;
pub mod tickets;
