//! The forum behind the gateway, with everything in its way that can be: actors that sleep, panic
//! and dawdle, disks that fail, faults that are planted and must be found.

mod audit;
mod budget;
mod crowd;
mod ending;
mod failure;
mod harness;
mod held;
mod keys;
mod planted;
mod snapshots;
mod storm;
