//! The feed over real sockets (bindings.md §6), against a whole server.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on panics, and says what it did"
)]

mod bounds;
mod chance;
mod closing;
mod doors;
mod events;
mod expected;
mod forum;
mod kill;
mod live;
mod return_many;
mod seams;
mod socket;
mod stalled;
mod subscribe;
mod tickets;
