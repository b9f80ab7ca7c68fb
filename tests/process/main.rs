//! The binary as a process: commands, kills, backups and attacks.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on panics, and says what it did"
)]

mod attack;
mod backup;
mod commands;
mod crash;
mod feed_kill;
mod lifecycle;
