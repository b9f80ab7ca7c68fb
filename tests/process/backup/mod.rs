//! Backup, restore, check and migration, with the binary on a real disk (operations.md §1, §3).
//!
//! `PARLEY_FLIPS=500 cargo test --test backup` flips that many bits, `PARLEY_SEED` others.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on panics, and says what it did"
)]

#[path = "../../support/dice.rs"]
mod dice;
#[path = "../../support/disk.rs"]
#[expect(dead_code, reason = "a disk that fails in more ways than are tried here")]
mod disk;

mod check;
mod copy;
mod damage;
mod forum;
mod load;
mod migrate;
mod refuse;
mod site;
mod take;
