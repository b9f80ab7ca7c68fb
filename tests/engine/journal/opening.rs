//! What a start after a kill reads, and what it leaves to the first wake of a thread.

use parley::journal::archive;
use parley_kit::journal::{JournalHarness, is_stored};
use parley_kit::{Cut, Faults, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::ids::ThreadId;

/// Bytes of the archive that a start after a kill reads, where ten threads of `archived` acts each have three more
/// that are not archived.
fn read_at_start(archived: usize) -> u64 {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    let threads: Vec<_> = (0..10).map(|n| harness.opened("local:ada", &n.to_string())).collect();
    let mut holders: Vec<_> = threads.iter().map(|thread| harness.load(*thread)).collect();
    let mut speak = |harness: &mut JournalHarness, acts: usize| {
        for n in 0..acts {
            for holder in &mut holders {
                let (by, kind) =
                    (["local:bob", "local:eve"][n % 2], [Kind::Inform, Kind::Ask][n % 2]);
                harness.say(holder, by, kind, &"x".repeat(200));
            }
            harness.work();
        }
    };
    speak(&mut harness, archived);
    harness.archiver.finish().unwrap();
    speak(&mut harness, 3);
    let before = disk.read_bytes(archive::FILE_NAME);
    let harness = harness.restart(&disk, Cut::Kill).unwrap();
    let read = disk.read_bytes(archive::FILE_NAME) - before;
    let view = harness.journal.view();
    for thread in threads {
        let summary = view.summary(thread).unwrap().unwrap();
        assert_eq!(*view.thread(thread).unwrap().unwrap().summary(), *summary);
        assert_eq!(summary.seq as usize, 1 + archived + 3);
    }
    read
}

/// Goal: a start costs what is not archived, however long the threads are that it belongs to.
/// Method: the same three acts in each of ten threads, which have 10 acts before, or 1 000; the
/// start reads little more of the longer ones.
#[test]
fn reads_heads() {
    let (short, long) = (read_at_start(10), read_at_start(1_000));
    println!("{short} bytes, {long} bytes");
    assert!(long < 2 * short + (64 << 10), "{short} bytes, {long} bytes");
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
