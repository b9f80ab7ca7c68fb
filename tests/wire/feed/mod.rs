//! The feed over real sockets (bindings.md §6), against a whole server.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on panics, and says what it did"
)]

mod bounds;
mod chance;
mod chunks;
mod closing;
mod doors;
mod events;
mod expected;
mod forum;
mod kill;
mod live;
mod return_many;
#[expect(dead_code, reason = "the tests of the journal use more of it")]
#[path = "../../support/rig.rs"]
mod rig;
mod seams;
mod socket;
mod stalled;
mod subscribe;
mod tickets;
