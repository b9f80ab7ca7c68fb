//! The journal: one order, group commit, nothing acknowledged lost.

#[path = "../support/disk.rs"]
mod disk;
#[path = "../support/rig.rs"]
mod rig;

mod commit;
mod failure;
mod folder;
mod restart;
