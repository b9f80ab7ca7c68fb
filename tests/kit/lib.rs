//! What the tests of the server share: a server in this process and as a process of its own,
//! clients, a feed's listener, and everything that a run must hold in its hands to be repeated:
//! randomness, the clock, the disk, the journal's steps. docs/TESTING.md says which to use where.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on panics; what a name says is not said again"
)]

pub mod acts;
pub mod artifact;
pub mod client;
pub mod clock;
pub mod connection;
pub mod disk;
pub mod engine;
pub mod expected;
pub mod feed;
pub mod folder;
pub mod fuzz;
pub mod http;
pub mod journal;
pub mod mount;
pub mod numbers;
pub mod observed;
pub mod panics;
pub mod peer;
pub mod process;
pub mod recorded;
pub mod server;

use std::fmt::Debug;
use std::ops::Range;

pub use client::Client;
pub use clock::{TestClock, elapse};
pub use connection::Connection;
pub use disk::{Cut, Faults, FaultyDisk, Op};
pub use expected::{ExpectedFeed, ExpectedFrame};
pub use feed::{Frame, Heard, Listener};
pub use folder::Folder;
pub use http::Answer;
pub use mount::Mounted;
pub use observed::Observed;
pub use parley_naive::rng::Rng;
pub use peer::Peer;
pub use process::{Ended, GENEROUS, Process};
pub use server::{BlockingServer, Server};

/// The number in the environment variable `variable`, else `default`.
pub fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number")),
        Err(_) => default,
    }
}

/// An error of what `wrong` says unless `good`.
pub fn ensure(good: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(wrong()) }
}

/// An error that names `what` unless it is as it must be.
pub fn same<T: PartialEq + Debug>(what: impl Debug, got: &T, want: &T) -> Result<(), String> {
    ensure(got == want, || format!("{what:?}: got {got:?}, want {want:?}"))
}

/// The random numbers of `PARLEY_SEED`, or of this process's number; the seed is printed.
pub fn printed_rng() -> Rng {
    let seed = number("PARLEY_SEED", u64::from(std::process::id()));
    println!("seed {seed}");
    Rng::new(seed)
}

/// The seeds of a run: `PARLEY_SEEDS` of them, else `usual`, from `PARLEY_SEED` on, else 1.
pub fn seeds(usual: u64) -> Range<u64> {
    let first = number("PARLEY_SEED", 1);
    first..first + number("PARLEY_SEEDS", usual)
}

/// The position that a cursor's text begins with.
pub fn position(cursor: &str) -> u64 {
    cursor.split('.').next().and_then(|text| text.parse().ok()).expect("a cursor has a position")
}
