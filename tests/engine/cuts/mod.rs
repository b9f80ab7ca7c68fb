//! A load of two thousand acts, cut at each write and each sync, and with a fault at each write
//! and each sync of each of its commits: what was acknowledged is there, and no half act is.
//!
//! `PARLEY_CUTS=all cargo test --release --test engine cuts::` leaves nothing out; else every sync
//! is looked at and a part of the writes, another part with each `PARLEY_SEED`.

mod audit;
mod faults;
mod load;
mod power;

use std::fmt::Display;
use std::sync::Arc;

use parley::journal::{Committed, WriterStep};
use parley_kit::journal::{Came, JournalHarness, came};
use parley_kit::{Cut, FaultyDisk, number};

/// Threads that go through the moments of a load at once.
const WORKERS: usize = 2;

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Of so many writes one; of syncs each.
    stride: usize,
    seed: u64,
}

impl Extent {
    /// As the environment says; `stride` where it does not say "all".
    fn read(stride: usize) -> Self {
        let seed = number("PARLEY_SEED", 1);
        let all = std::env::var("PARLEY_CUTS").is_ok_and(|text| text == "all");
        Self { stride: if all { 1 } else { stride }, seed }
    }

    /// Whether the moment `at` is one of those that are looked at.
    fn takes(self, at: usize) -> bool {
        (at as u64 + self.seed).is_multiple_of(self.stride as u64)
    }
}

/// What each worker gives, all at work at once.
fn over_workers<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let workers = (0..WORKERS).map(|worker| scope.spawn(move || work(worker)));
        workers.collect::<Vec<_>>().into_iter().map(|it| it.join().unwrap()).collect()
    })
}

/// What `result` holds; it must be good, whatever was done to the disk, which `what` tells.
fn good<T>(result: Result<T, impl Display>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Stores one more act, as the entry `number`.
fn goes_on(harness: &mut JournalHarness, number: u64, what: &str) -> Arc<Committed> {
    let mut next = harness.ask("local:ada", "goes on");
    assert_eq!(harness.work(), WriterStep::Idle, "{what}");
    let Came::Stored(next) = came(&mut next) else { panic!("{what}: not stored") };
    assert_eq!(next.number, number, "{what}: a number is given once");
    next
}

/// Cuts `disk` and opens what is left, whose last entry is `last`.
fn restarted(
    harness: JournalHarness,
    disk: &FaultyDisk,
    cut: Cut,
    last: &Committed,
    what: &str,
) -> JournalHarness {
    let harness = good(harness.restart(disk, cut), what);
    assert_eq!(harness.journal.committed(), last.number, "{what}");
    let thread = last.entry.act().unwrap().thread;
    assert_eq!(harness.journal.view().summary(thread).unwrap(), last.summary, "{what}");
    harness
}
