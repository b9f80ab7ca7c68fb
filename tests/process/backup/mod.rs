//! Backup, restore, check and migration, with the binary on a real disk (operations.md §1, §3).
//!
//! `PARLEY_FLIPS=500 cargo test --test process backup::` flips that many bits, `PARLEY_SEED`
//! others.

mod check;
mod copy;
mod damage;
mod format1;
mod forum;
mod load;
mod migrate;
mod refuse;
pub mod site;
mod take;
