//! Faults, bounds, and what must be noticed.

use std::sync::Arc;
use std::time::Duration;

use parley::journal::Committed;
use parley::journal::archive::SyncMode;
use parley::journal::view::{TailMax, Views};
use parley::storage::disk::Disk;
use parley::storage::error::StoreError;
use parley::storage::latch::BoxedFile;
use parley_kit::acts::{post, principal};
use parley_kit::{Faults, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::entry::{Entry, KeyUse, StoredOutcome};
use parley_protocol::ids::ThreadId;
use parley_protocol::time::Millis;

use super::model::Model;
use super::world::World;
use super::{FILE, ViewHarness, open_archive};

/// Goal: a archive that loses one row is caught by the comparison with the model. Method: archive
/// all entries but one, for many choices of the one.
#[test]
fn a_lost_row_is_caught() {
    for seed in 1..=30 {
        let mut world = World::new(seed);
        world.grow_to(60);
        let lost = world.rng.index(59);
        let mut slice = world.entries.clone();
        slice.remove(lost);
        let archive = open_archive(&FaultyDisk::default()).unwrap();
        let views = Views::new(archive.read().unwrap(), TailMax::default());
        views.push(&world.entries);
        archive.append(&slice, &[], world.now, SyncMode::Durable).unwrap();
        views.show(archive.read().unwrap());
        let found = Model(&world.entries).compare(&views.view(), &world.rng);
        assert!(found.is_err(), "seed {seed}: the loss of {:?} went unseen", world.entries[lost]);
    }
}

/// Goal: the tail says when it is full, and is not once the folder has caught up. Method: push
/// beyond a small bound, archive.
#[test]
fn a_full_tail() {
    let mut world = World::new(1);
    let max = TailMax { entries: 10, ..TailMax::default() };
    let mut harness = ViewHarness::new(FaultyDisk::default(), max);
    harness.views.push(world.grow_to(9));
    assert!(!harness.views.is_full());
    let tenth = world.open();
    harness.views.push(&[tenth]);
    assert!(harness.views.is_full());
    while harness.archiver.step().unwrap() {}
    assert!(!harness.views.is_full());
    let small = TailMax { bytes: 100, ..TailMax::default() };
    let harness = ViewHarness::new(FaultyDisk::default(), small);
    harness.views.push(&world.entries[..1]);
    assert!(harness.views.is_full(), "the bound on bytes counts too");
}

/// Goal: while the disk refuses, archiving fails, reads go on and nothing is lost; once it takes
/// writes again, archiving goes on. Method: a disk that refuses between archives.
#[test]
fn a_disk_that_refuses() {
    let mut world = World::new(11);
    let mut harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    for round in 0..12 {
        harness.views.push(world.acts(40));
        if round % 3 != 0 {
            harness.archiver.step().unwrap();
        }
        harness.disk.set(Faults::refusing());
        let error = harness.archiver.finish().expect_err("the disk refuses");
        assert!(matches!(error, StoreError::Database(_)), "{error}");
        harness.disk.mend();
        if round % 2 == 0 {
            harness.archiver.step().unwrap();
        }
        Model(&world.entries).compare(&harness.view(), &world.rng).unwrap();
    }
    harness.archiver.finish().unwrap();
    assert_eq!(harness.views.tail_entries(), 0);
    Model(&world.entries).compare(&harness.view(), &world.rng).unwrap();
}

/// Goal: what is in the tail can be read though the archive cannot. Method: the archive is
/// closed.
#[test]
fn reads_from_the_tail_alone() {
    let mut world = World::new(2);
    let opened = world.open();
    let harness = ViewHarness::holding(FaultyDisk::default(), std::slice::from_ref(&opened));
    drop(harness.archiver);
    let view = harness.views.view();
    assert!(view.summary(ThreadId(1)).unwrap().is_some());
    assert!(view.act_at(ThreadId(1), opened.number).unwrap().is_some());
}

/// Goal: an outcome is remembered for 24 hours at least and forgotten in the end, whatever a clock
/// does that leaps once. Method: one outcome every hour under a clock that tests move.
#[test]
fn outcomes_age() {
    let mut harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    let hour = 3_600_000;
    let outcome = |number: u64, at: Millis| {
        let key = KeyUse { key: [u8::try_from(number).unwrap(); 16], content: [1; 16] };
        let entry = Entry::Outcome(at, key, StoredOutcome::Unchanged(ThreadId(1)));
        Arc::new(Committed { number, entry, summary: None, claims: Vec::new() })
    };
    let began = Millis(1_800_000_000_000);
    let mut archive = |number, at, now| {
        harness.clock.set(now);
        harness.views.push(&[outcome(number, at)]);
        harness.archiver.finish().unwrap();
        harness.views.view()
    };
    let after = |hours| Millis(began.0 + hours * hour);
    for number in 1..=50 {
        archive(number, after(number), after(number));
    }
    // A clock that leaps a year ahead and comes back.
    archive(150, after(50), after(50 + 365 * 24));
    for number in 151..=190 {
        let view = archive(number, after(number - 100), after(number - 100));
        for (past, hours) in (1..=50).map(|past| (past, number - 100 - past)) {
            let found = view.outcome(&[u8::try_from(past).unwrap(); 16]).unwrap();
            if hours <= 24 {
                assert!(found.is_some(), "{past} is forgotten after {hours} hours");
            } else if hours > 61 {
                assert!(found.is_none(), "{past} is remembered after {hours} hours");
            }
        }
    }
}

/// Lets the first thread go on until it has `acts`.
fn inform_until(world: &mut World, acts: u64) {
    while world.threads[&ThreadId(1)].summary().seq < acts {
        let command = post(Kind::Inform, Some(ThreadId(1)), "and so on");
        world.command_on(ThreadId(1), &principal("human:eve"), &command);
    }
}

/// Goal: a long thread wakes from its snapshot, and a snapshot ahead of the archive is stored once
/// its last act is, and not before. Method: one thread of many acts, offered as it is and as it is
/// not yet.
#[test]
fn snapshots() {
    let mut world = World::new(21);
    world.open();
    inform_until(&mut world, 200);
    let mut harness = ViewHarness::holding(FaultyDisk::default(), &world.entries);
    harness.archiver.finish().unwrap();
    let stored = world.threads[&ThreadId(1)].clone();
    let at = world.entries.len();
    inform_until(&mut world, 260);
    assert!(harness.views.offer_snapshot(|| stored.clone()));
    assert!(harness.views.offer_snapshot(|| world.threads[&ThreadId(1)].clone()));
    harness.archiver.finish().unwrap();
    let rebuilt = |harness: &ViewHarness| {
        let rebuilt = harness.view().rebuilt(ThreadId(1)).unwrap().unwrap();
        (rebuilt.thread, rebuilt.acts_read)
    };
    assert_eq!(rebuilt(&harness), (stored, 0));
    harness.views.push(&world.entries[at..]);
    let thread = &world.threads[&ThreadId(1)];
    assert_eq!(rebuilt(&harness), (thread.clone(), 60), "its last act is not archived");
    harness.archiver.finish().unwrap();
    assert_eq!(rebuilt(&harness), (thread.clone(), 0));
}

/// Goal: closing archives everything, and the next opening has nothing to replay. Method: the
/// folder on its own thread, pushed to from here.
#[test]
fn closing_folds_all() {
    let mut world = World::new(31);
    let harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    let archiver = harness.archiver;
    let archiver = std::thread::spawn(|| archiver.run());
    for _ in 0..40 {
        harness.views.push(world.acts(30));
    }
    harness.views.close();
    archiver.join().unwrap();
    let last = world.entries.last().unwrap().number;
    assert_eq!(harness.views.durable_upto(), last);
    let archive = open_archive(&harness.disk).unwrap();
    assert_eq!(archive.read().unwrap().upto(), last);
    let views = Views::new(archive.read().unwrap(), TailMax::default());
    Model(&world.entries).compare(&views.view(), &world.rng).unwrap();
}

/// Goal: closing ends even if the disk refuses for good. Method: it does.
#[test]
fn closing_ends_on_a_dead_disk() {
    let mut world = World::new(41);
    let harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    harness.disk.set(Faults::refusing());
    let archiver = harness.archiver;
    let archiver = std::thread::spawn(|| archiver.run());
    harness.views.push(&[world.open()]);
    harness.views.pause(Duration::from_millis(1));
    harness.views.close();
    archiver.join().unwrap();
    assert_eq!(harness.views.durable_upto(), 0);
}

/// Goal: an archive of a newer version is not opened. Method: one with its format raised.
#[test]
fn a_newer_format() {
    let disk = FaultyDisk::default();
    drop(open_archive(&disk).unwrap());
    let file = BoxedFile::new(disk.open(FILE).unwrap());
    let database = redb::Database::builder().create_with_backend(file).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta: redb::TableDefinition<'_, u8, &[u8]> = redb::TableDefinition::new("meta");
    transaction.open_table(meta).unwrap().insert(0, 3_u32.to_le_bytes().as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = open_archive(&disk).expect_err("it is newer");
    assert!(matches!(error, StoreError::NewerFormat { found: 3, known: 2, .. }), "{error}");
}
