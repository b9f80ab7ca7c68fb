//! The read side of the journal: archive, tail, views, archiving, cursors.

mod cursors;
mod faults;
mod inbox;
pub mod model;
mod readers;
pub mod world;

use std::sync::Arc;

use parley::clock::Clock;
use parley::journal::Committed;
use parley::journal::archive::Archive;
use parley::journal::archiver::{Archiver, ArchiverDeps};
use parley::journal::view::{TailMax, View, Views};
use parley::storage::disk::Disk;
use parley::storage::error::StoreError;
use parley_kit::{Cut, FaultyDisk, TestClock};

use model::{Model, read};
use world::World;

const CACHE_BYTES: usize = 1 << 20;
/// The one file on a disk.
const FILE: &str = "archive";

/// Opens the archive on `disk`, or begins one.
fn open_archive(disk: &FaultyDisk) -> Result<Archive, StoreError> {
    let file = disk.open(FILE).unwrap_or_else(|_| {
        let file = disk.create(FILE).unwrap();
        disk.sync().unwrap();
        file
    });
    Archive::open(file, CACHE_BYTES)
}

/// What a power cut leaves of `disk`.
fn after_power_cut(disk: &FaultyDisk) -> FaultyDisk {
    let left = disk.copy();
    left.cut(Cut::ForgetAll);
    left
}

/// Views and their archiver over one disk.
struct ViewHarness {
    disk: FaultyDisk,
    views: Arc<Views>,
    archiver: Archiver,
    clock: Arc<TestClock>,
}

impl ViewHarness {
    fn new(disk: FaultyDisk, max: TailMax) -> Self {
        let archive = open_archive(&disk).unwrap();
        let views = Arc::new(Views::new(archive.read().unwrap(), max));
        let clock = Arc::new(TestClock::default());
        let (reopened, rescued) = (disk.clone(), disk.clone());
        let deps = ArchiverDeps {
            views: Arc::clone(&views),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            reopen: Box::new(move || open_archive(&reopened)),
            // Nothing that is written beside the disk gets onto it.
            rescue: Box::new(move || open_archive(&rescued.copy())),
            free_space: Box::new(|| Ok(())),
            slice_bytes_max: 64 << 20,
        };
        let archiver = Archiver::new(deps, archive);
        Self { disk, views, archiver, clock }
    }

    /// What a restart makes of what is on `disk`: the archive, and the entries after it pushed.
    fn holding(disk: FaultyDisk, entries: &[Arc<Committed>]) -> Self {
        let harness = Self::new(disk, TailMax::default());
        harness.views.push(entries);
        harness
    }

    fn view(&self) -> View {
        self.views.view()
    }
}

/// Goal: a view shows every committed row once, in order, whatever is archived, and an old one goes
/// on showing what it showed. Method: random acts through the core, pushed in random batches,
/// archived at random moments, with power cuts and snapshots between; each view and some old ones
/// are compared in full with a list of entries.
#[test]
fn a_view_equals_the_model() {
    for seed in 1..=24 {
        let outcome = run(seed, 300);
        assert!(outcome.is_ok(), "seed {seed}: {}", outcome.unwrap_err());
    }
}

fn run(seed: u64, steps: usize) -> model::Found {
    let mut world = World::new(seed);
    let mut harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    let mut old: Vec<(View, usize)> = Vec::new();
    for step in 0..steps {
        harness.views.push(world.acts(world.rng.below(4)));
        harness.clock.set(world.now);
        match world.rng.below(20) {
            0..=5 => drop(read("archiving", harness.archiver.step())?),
            6 => {
                for thread in world.threads.values() {
                    harness.views.offer_snapshot(|| thread.clone());
                }
            }
            7 => read("archiving", harness.archiver.finish())?,
            8 if world.rng.once_in(4) => {
                harness = ViewHarness::holding(after_power_cut(&harness.disk), &world.entries);
                harness.clock.set(world.now);
                old.clear();
            }
            9 => old.push((harness.view(), world.entries.len())),
            10 => {
                read("reopening", harness.archiver.reopen())?;
                // Views from before cannot read a database that was closed.
                old.clear();
            }
            _ => {}
        }
        if step % 25 == 0 && !world.entries.is_empty() {
            Model(&world.entries).compare(&harness.view(), &world.rng)?;
            if old.len() > 3 {
                old.remove(0);
            }
            for (view, length) in old.iter().filter(|(_, length)| *length > 0) {
                Model(&world.entries[..*length]).compare(view, &world.rng)?;
            }
        }
    }
    read("archiving", harness.archiver.finish())?;
    let last = world.entries.last().map_or(0, |committed| committed.number);
    assert_eq!(harness.views.durable_upto(), last);
    assert_eq!((harness.views.tail_entries(), harness.views.tail_bytes()), (0, 0));
    Model(&world.entries).compare(&harness.view(), &world.rng)?;
    let harness = ViewHarness::holding(after_power_cut(&harness.disk), &[]);
    Model(&world.entries).compare(&harness.view(), &world.rng)
}
