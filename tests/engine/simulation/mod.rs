//! A seeded simulation of the shipped router, thread actors, passivation, permits, batches, hub and
//! journal: one runtime whose clock stands still until no task can run, a disk in memory,
//! a writer that commits when the world says so. docs/TESTING.md says how it is built and read.

mod acts;
mod auditor;
mod events;
mod history;
mod injector;
mod mutants;
mod options;
mod participants;
mod readers;
mod seeds;
mod server_run;
mod sessions;
mod trace;
mod world;
