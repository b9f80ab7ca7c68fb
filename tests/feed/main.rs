//! The feed over real sockets (bindings.md §6), against a whole server.

mod chance;
mod expected;
mod forum;
mod seams;
mod socket;
