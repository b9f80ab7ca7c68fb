//! What a start after a kill reads, and what it leaves to the first wake of a thread.

use std::sync::Arc;

use parley::journal::WriteOutcome;
use parley::journal::archive::{self, Archive, SyncMode};
use parley::journal::options::JournalOptions;
use parley::storage::disk::Disk;
use parley_kit::journal::{JournalHarness, is_stored};
use parley_kit::{Cut, Faults, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::ids::ThreadId;
use parley_protocol::time::Millis;

/// Goal: a start reads the summaries of the threads that the log has acts of, not the threads.
/// Method: an archive that holds a summary, and not all acts that made it, is opened with a log
/// that goes on after it.
#[test]
fn reads_summaries() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    let mut opening = harness.ask("local:ada", "ask");
    harness.work();
    let mut stored = vec![opening.try_recv().unwrap()];
    let mut holder = harness.load(ThreadId(1));
    for n in 0..5 {
        let mut next = harness.say(&mut holder, "local:bob", Kind::Inform, &n.to_string());
        harness.work();
        stored.push(next.try_recv().unwrap());
    }
    let stored: Vec<_> = stored
        .into_iter()
        .map(|outcome| match outcome {
            Ok(WriteOutcome::Committed(committed)) => committed,
            other => panic!("{other:?}"),
        })
        .collect();
    disk.cut(Cut::Kill);
    drop(harness);
    {
        let file = disk.open(archive::FILE_NAME).unwrap();
        let archive = Archive::open(file, 1 << 20).unwrap();
        let lacking = [Arc::clone(&stored[0]), Arc::clone(&stored[3])];
        archive.append(&lacking, &[], Millis(1), SyncMode::Durable).unwrap();
        archive.close().unwrap();
    }
    let harness = JournalHarness::start(&disk);
    let view = harness.journal.view();
    assert_eq!(*view.summary(ThreadId(1)).unwrap().unwrap(), *holder.thread.summary());
    assert!(view.thread(ThreadId(1)).is_err(), "the thread as a whole cannot be read");
}

/// Goal: a snapshot that ends with an act that was never stored is never stored, though later
/// entries are. Method: an act whose commit fails is in the snapshot offered; then others follow.
#[test]
fn no_snapshot_of_what_failed() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    let thread = harness.opened("local:ada", "ask");
    let mut holder = harness.load(thread);
    for _ in 0..80 {
        harness.say(&mut holder, "local:bob", Kind::Inform, "more");
        harness.work();
    }
    harness.archiver.finish().unwrap();
    disk.set(Faults::refusing());
    let mut lost = harness.say(&mut holder, "local:bob", Kind::Inform, "lost");
    assert!(harness.journal.offer_snapshot(|| holder.thread.clone()));
    harness.work();
    assert!(!is_stored(&mut lost));
    disk.mend();
    harness.clock.pass(10_000);
    harness.work();
    let mut holder = harness.load(thread);
    for _ in 0..3 {
        let mut kept = harness.say(&mut holder, "local:eve", Kind::Inform, "kept");
        harness.work();
        assert!(is_stored(&mut kept));
    }
    harness.archiver.finish().unwrap();
    let rebuilt = harness.journal.view().rebuilt(ThreadId(1)).unwrap().unwrap();
    assert_eq!(rebuilt.thread, holder.thread);
    assert_eq!(rebuilt.acts_read, 84, "there is no snapshot");
}

/// Goal: a start after a kill on a disk without a free byte shows all that is stored, refuses
/// writes, and takes them once there is room. Method: the disk is as large as its files at the
/// kill; the log was not closed, so that a new segment would be needed.
#[test]
fn without_a_free_byte() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    for n in 0..20 {
        harness.opened("local:ada", &n.to_string());
    }
    harness.archiver.finish().unwrap();
    for n in 20..30 {
        harness.opened("local:ada", &n.to_string());
    }
    let want = harness.subjects();
    disk.cut(Cut::Kill);
    drop(harness);
    let full = disk.bytes().unwrap();
    disk.set(Faults { bytes_max: Some(full), ..Faults::default() });
    for free_bytes_min in [0, 1 << 20] {
        let options = JournalOptions { free_bytes_min, ..JournalOptions::default() };
        let mut harness = JournalHarness::open(&disk, options).unwrap();
        assert_eq!(harness.subjects(), want);
        assert!(!harness.journal.is_writable());
        let mut refused = harness.ask("local:ada", "no room");
        harness.work();
        assert!(!is_stored(&mut refused));
        disk.cut(Cut::Kill);
        disk.set(Faults { bytes_max: Some(full), ..Faults::default() });
    }
    let mut harness = JournalHarness::start(&disk);
    assert_eq!(harness.subjects(), want);
    disk.mend();
    harness.clock.pass(10_000);
    harness.work();
    harness.opened("local:ada", "room");
    assert_eq!(harness.subjects().len(), 31);
    harness.finish();
    assert_eq!(JournalHarness::start(&disk).subjects().len(), 31);
}
