//! The forum behind the gateway, with everything in its way that can be: actors that sleep, panic
//! and dawdle, disks that fail, faults that are planted and must be found.

mod budget;
mod crowd;
mod failure;
mod keys;
mod planted;
mod shadow;
mod site;
mod storm;
