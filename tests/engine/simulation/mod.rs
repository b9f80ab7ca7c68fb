//! A seeded simulation of the shipped router, thread actors, passivation, permits, batches, hub and
//! journal: one runtime whose clock stands still until nobody has anything to do, a disk in memory,
//! a writer that commits when the world says so. docs/TESTING.md says how it is built and read.

mod acts;
mod cast;
mod chance;
mod clock;
mod ear;
mod events;
mod ledger;
mod lies;
mod life;
mod meddler;
mod planted;
mod readers;
mod record;
mod seeds;
mod sessions;
mod shadow;
mod temper;
mod trace;
mod world;
