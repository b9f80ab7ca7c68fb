//! The feed over real sockets (bindings.md §6), against a whole server.

mod bounds;
mod chunks;
mod closing;
mod doors;
mod events;
mod expected;
mod live;
mod return_many;
mod seams;
mod stalled;
mod subscribe;
mod tickets;
