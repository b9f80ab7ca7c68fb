//! Listening: from committed entries to feeds (bindings.md §6).

pub mod chunks;
pub mod client;
pub mod connection;
pub mod encode;
pub mod hub;
pub mod listener;
pub mod outlet;
pub mod replay;
pub mod sse;
pub mod tickets;
pub mod told;

use parley_protocol::refusal::{Reason, Refusal};

/// What should be there is not.
fn internal() -> Refusal {
    let detail = "The server failed to read what it has stored. Connect again from your cursor.";
    Refusal::new(Reason::Internal, detail)
}
