//! The binary as a process: commands, kills, backups and attacks.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on panics, says what it did, and measures"
)]

mod attack;
mod audit;
mod backup;
mod commands;
mod crash;
mod faults;
mod feed_kill;
mod lifecycle;
