//! The load: random histories of threads, artifacts and remembered outcomes, through the journal as
//! its writer, its publisher and its archiver ship, on a disk that takes everything down.

use parley::journal::options::JournalOptions;
use parley::journal::{Append, Committed, ReplyPort, WriterStep};
use parley_kit::journal::{JournalHarness, Waiting, is_stored};
use parley_kit::recorded::Recorder;
use parley_kit::{FaultyDisk, Op};
use parley_protocol::entry::Entry;
use tokio::sync::oneshot;

use super::audit::ExpectedEntries;
use crate::view::world::World;

/// Commits of the load.
pub const COMMITS: usize = 200;
/// Acts of each, beside what is no act.
const ACTS: usize = 11;

/// Small segments that are soon dropped, so that rotation and dropping are part of the load.
pub fn options() -> JournalOptions {
    JournalOptions { segment_bytes: 24_000, replay_max: 300, ..JournalOptions::default() }
}

/// What can be there at a moment of the load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// How many operations are recorded.
    pub at: usize,
    /// The last entry that is acknowledged.
    pub told: u64,
    /// The last one that was asked for.
    pub asked: u64,
}

/// A load that was run.
pub struct Recording {
    /// All that was done to the disk.
    pub ops: Vec<Op>,
    /// In order.
    pub marks: Vec<Mark>,
    /// All that was asked for.
    pub expected: ExpectedEntries,
}

impl Recording {
    /// What can be there once the operations before `at` are done.
    pub fn mark(&self, at: usize) -> Mark {
        let after = self.marks.partition_point(|mark| mark.at <= at);
        after.checked_sub(1).map_or(Mark::default(), |before| self.marks[before])
    }
}

/// Puts an entry that was judged and applied already into the journal's queue.
pub fn submit(harness: &JournalHarness, committed: &Committed) -> Waiting {
    let (sender, waiting) = oneshot::channel();
    let reply = ReplyPort { sender, permit: None };
    let append = Append {
        lease: None,
        entry: committed.entry.clone(),
        summary: committed.summary.clone(),
        claims: committed.claims.clone(),
        reply,
    };
    let opens = committed.entry.act().filter(|act| act.seq == 0).map(|act| act.thread);
    let taken = match opens {
        None => harness.journal.append(|_| append).map(|number| (number, None)),
        Some(_) => {
            let opened = harness.journal.open_thread(|_, _| append);
            opened.map(|(number, thread)| (number, Some(thread)))
        }
    };
    if let Ok(given) = taken {
        assert_eq!(given, (committed.number, opens), "the world numbers as the journal does");
    }
    waiting
}

/// Runs the load.
pub fn record(seed: u64) -> Recording {
    let disk = FaultyDisk::default();
    let recorder = Recorder::of(&disk);
    let mut world = World::without_gaps(seed);
    let mut harness = JournalHarness::open(&disk, options()).unwrap();
    let mut marks = vec![Mark { at: recorder.ops().len(), told: 0, asked: 0 }];
    for commit in 0..COMMITS {
        let from = world.entries.len();
        let mut acts = 0;
        while acts < ACTS {
            let happened = world.act();
            acts += usize::from(happened.is_some_and(|one| matches!(one.entry, Entry::Act(_))));
        }
        let batch = &world.entries[from..];
        let mut waiting: Vec<_> = batch.iter().map(|one| submit(&harness, one)).collect();
        let (told, asked) = (from as u64, world.entries.len() as u64);
        let began = recorder.ops().len();
        marks.push(Mark { at: began, told, asked });
        assert_eq!(harness.work(), WriterStep::Idle);
        assert!(waiting.iter_mut().all(is_stored));
        // Segments that are dropped are dropped after the answers have left.
        marks.push(Mark { at: recorder.removal_after(began), told: asked, asked });
        if commit % 20 == 7 {
            for thread in world.threads.values().filter(|thread| thread.summary().seq > 64) {
                harness.journal.offer_snapshot(|| thread.clone());
            }
        }
        match commit % 8 {
            7 => harness.archiver.finish().unwrap(),
            2 | 5 => drop(harness.archiver.step().unwrap()),
            _ => {}
        }
    }
    harness.finish();
    let ops = recorder.ops().clone();
    Recording { ops, marks, expected: ExpectedEntries::new(world.entries) }
}
