//! The engine behind the gateway: journal, view, actors, and what each of them is worth on a disk
//! that fails.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on panics, says what it did, and measures"
)]

mod actors;
mod cuts;
mod fuzz_corpus;
mod journal;
mod reference;
mod simulation;
mod view;
