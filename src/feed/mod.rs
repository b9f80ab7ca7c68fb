//! Listening: from committed entries to feeds (bindings.md §6).

pub mod client;
pub mod connection;
pub mod encode;
pub mod hub;
pub mod inbox;
pub mod listener;
pub mod publication;
pub mod publish;
pub mod replay;
pub mod replay_cache;
pub mod sse;
pub mod subscriber;
pub mod tickets;
