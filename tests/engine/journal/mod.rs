//! The journal: one order, group commit, nothing acknowledged lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../../support/disk.rs"]
mod disk;
#[path = "../../support/rig.rs"]
mod rig;

mod commit;
mod failure;
mod folder;
mod restart;
mod tokens;
