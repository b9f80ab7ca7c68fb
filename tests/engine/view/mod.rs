//! The read side of the journal: archive, tail, views, folding, cursors.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod backend;
mod cursors;
mod faults;
mod inbox;
mod model;
mod readers;
mod world;

use std::sync::Arc;

use parley::clock::{Clock, Stopwatch};
use parley::journal::Committed;
use parley::journal::archive::Archive;
use parley::journal::archiver::{Archiver, ArchiverDeps};
use parley::journal::view::{TailMax, View, Views};
use parley_protocol::time::Millis;

use backend::Disk;
use model::Model;
use world::World;

const CACHE_BYTES: usize = 1 << 20;

/// A clock that tests move; no work takes time under it, so that no fold is due by time alone.
#[derive(Debug, Default)]
struct Hands(std::sync::atomic::AtomicU64);

impl Hands {
    fn set(&self, now: Millis) {
        self.0.store(now.0, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Millis {
        Millis(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }

    fn stopwatch(&self) -> Stopwatch {
        Stopwatch::still()
    }
}

/// Views and their folder over one disk.
struct Rig {
    disk: Disk,
    views: Arc<Views>,
    folder: Archiver,
    clock: Arc<Hands>,
}

impl Rig {
    fn new(disk: Disk, max: TailMax) -> Self {
        let archive = Archive::open(Box::new(disk.clone()), CACHE_BYTES).unwrap();
        let views = Arc::new(Views::new(archive.read().unwrap(), max));
        let clock = Arc::new(Hands::default());
        let deps = ArchiverDeps {
            views: Arc::clone(&views),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            reopen: {
                let disk = disk.clone();
                Box::new(move || Archive::open(Box::new(disk.clone()), CACHE_BYTES))
            },
            rescue: {
                let disk = disk.clone();
                Box::new(move || Archive::open(Box::new(disk.beside()), CACHE_BYTES))
            },
            free_space: Box::new(|| Ok(())),
            slice_bytes_max: 64 << 20,
        };
        let folder = Archiver::new(deps, archive);
        Self { disk, views, folder, clock }
    }

    /// What a restart makes of what is on `disk`: the archive, and the entries after it pushed.
    fn restarted(disk: Disk, entries: &[Arc<Committed>]) -> Self {
        let rig = Self::new(disk, TailMax::default());
        rig.views.push(entries);
        rig
    }

    fn view(&self) -> View {
        self.views.view()
    }
}

/// Goal: a view shows every committed row once, in order, whatever is folded, and an old one goes
/// on showing what it showed. Method: random acts through the core, pushed in random batches,
/// folded at random moments, with power cuts and snapshots between; each view and some old ones
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
    let mut rig = Rig::new(Disk::default(), TailMax::default());
    let mut old: Vec<(View, usize)> = Vec::new();
    for step in 0..steps {
        let before = world.entries.len();
        for _ in 0..world.rng.below(4) {
            world.act();
        }
        rig.clock.set(world.now);
        rig.views.push(&world.entries[before..]);
        match world.rng.below(20) {
            0..=5 => {
                rig.folder.step().map_err(|error| error.to_string())?;
            }
            6 => {
                for thread in world.threads.values() {
                    rig.views.offer_snapshot(thread.clone());
                }
            }
            7 => rig.folder.finish().map_err(|error| error.to_string())?,
            8 if world.rng.once_in(4) => {
                rig = Rig::restarted(rig.disk.after_power_cut(), &world.entries);
                rig.clock.set(world.now);
                old.clear();
            }
            9 => old.push((rig.view(), world.entries.len())),
            10 => {
                rig.folder.reopen_now().map_err(|error| error.to_string())?;
                // Views from before cannot read a database that was closed.
                old.clear();
            }
            _ => {}
        }
        if step % 25 == 0 && !world.entries.is_empty() {
            let mut rng = world.rng.clone();
            Model(&world.entries).compare(&rig.view(), &mut rng)?;
            if old.len() > 3 {
                old.remove(0);
            }
            for (view, length) in old.iter().filter(|(_, length)| *length > 0) {
                Model(&world.entries[..*length]).compare(view, &mut rng)?;
            }
        }
    }
    rig.folder.finish().map_err(|error| error.to_string())?;
    let last = world.entries.last().map_or(0, |committed| committed.number);
    assert_eq!(rig.views.durable_upto(), last);
    assert_eq!((rig.views.tail_entries(), rig.views.tail_bytes()), (0, 0));
    let mut rng = world.rng.clone();
    Model(&world.entries).compare(&rig.view(), &mut rng)?;
    let rig = Rig::restarted(rig.disk.after_power_cut(), &[]);
    Model(&world.entries).compare(&rig.view(), &mut rng)
}
