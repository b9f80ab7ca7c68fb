//! From one start to the next: what is replayed, what is dropped, what is noticed.

use std::sync::Arc;

use parley::journal::log;
use parley::journal::options::JournalOptions;
use parley::storage::disk::{Disk, MemoryDisk};
use parley::storage::error::StoreError;
use parley::storage::latch::BoxedFile;
use parley_kit::journal::{JournalHarness, came};
use parley_kit::{Cut, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::ids::ThreadId;

use super::interrupted;

fn segments(disk: &impl Disk) -> Vec<u64> {
    let mut firsts: Vec<_> =
        disk.list().unwrap().iter().filter_map(|name| log::parse_name(name)).collect();
    firsts.sort_unstable();
    firsts
}

/// Goal: what the log holds beyond the archive is replayed to exactly what it was. Method: threads
/// that speak in turn, some of it archived; after a kill, heads and whole threads equal those from
/// before, and numbering goes on.
#[test]
fn replay() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    let threads: Vec<_> =
        (0..4).map(|n| harness.opened("local:ada", &format!("ask {n}"))).collect();
    let mut holders: Vec<_> = threads.iter().map(|thread| harness.load(*thread)).collect();
    for round in 0..6 {
        for (n, holder) in holders.iter_mut().enumerate() {
            let by = ["local:bob", "local:eve"][(round + n) % 2];
            let kind = [Kind::Inform, Kind::Propose][round % 2];
            harness.say(holder, by, kind, &format!("{round} {n}"));
        }
        harness.work();
        if round == 2 {
            harness.archiver.finish().unwrap();
        }
    }
    let state = |harness: &JournalHarness| -> Vec<_> {
        let view = harness.journal.view();
        let thread = |id: &ThreadId| view.thread(*id).unwrap().unwrap();
        let head = |id: &ThreadId| view.summary(*id).unwrap().unwrap();
        threads.iter().map(|id| (Arc::unwrap_or_clone(head(id)), thread(id))).collect()
    };
    let (before, position) = (state(&harness), harness.journal.position());
    let mut harness = harness.restart(&disk, Cut::Kill).unwrap();
    assert!(state(&harness) == before);
    assert_eq!(harness.journal.position(), position);
    let mut holder = harness.load(threads[0]);
    let mut next = harness.say(&mut holder, "local:cat", Kind::Inform, "goes on");
    harness.work();
    let committed = came(&mut next).stored();
    assert_eq!(committed.number, position.entry() + 1);
    assert_eq!(committed.entry.act().unwrap().message().unwrap().id.0, 4 + 6 * 4 + 1);
    assert_eq!(harness.opened("local:ada", "a new one").0, 5);
}

/// Goal: segments follow each other, are kept as long as a replay reaches or the archive lacks
/// them, and are dropped then. Method: small segments under a steady load, first without archiving,
/// then with it; a replay gets everything from the oldest on, and is told when it asks for more.
#[test]
fn rotation() {
    let disk = MemoryDisk::default();
    let options =
        JournalOptions { segment_bytes: 1_200, replay_max: 50, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&disk, options.clone()).unwrap();
    for n in 0..100 {
        harness.opened("local:ada", &format!("ask {n}"));
    }
    assert!(segments(&disk).len() > 3 && segments(&disk)[0] == 1, "nothing is archived yet");
    let all = harness.journal.log().entries(0, usize::MAX, usize::MAX).unwrap().unwrap();
    assert!(all.entries.iter().map(|(number, _)| *number).eq(1..=100), "{:?}", all.entries);
    for n in 100..200 {
        harness.opened("local:ada", &format!("ask {n}"));
        harness.archiver.finish().unwrap();
    }
    let oldest = harness.journal.log().oldest();
    assert!((100..=150).contains(&oldest), "{oldest}");
    assert!(harness.journal.log().entries(oldest - 2, 10, 1_000).unwrap().is_none());
    let after = oldest - 1;
    let few = harness.journal.log().entries(after, 7, usize::MAX).unwrap().unwrap();
    assert_eq!((few.entries.len(), few.upto), (7, after + 7));
    let little = harness.journal.log().entries(after, usize::MAX, 1).unwrap().unwrap();
    assert_eq!((little.entries.len(), little.upto), (1, after + 1));
    let rest = harness.journal.log().entries(after, usize::MAX, usize::MAX).unwrap().unwrap();
    assert!(rest.entries.iter().map(|(number, _)| *number).eq(oldest..=200), "{:?}", rest.entries);
    harness.finish();
    let harness = JournalHarness::open(&disk, options).unwrap();
    assert_eq!(harness.journal.log().oldest(), oldest);
    assert_eq!(harness.subjects().len(), 200);
}

/// Goal: a segment closed in good order is written on; one that was not is taken over by a new
/// one. Method: count the segments after both kinds of end, with everything archived.
#[test]
fn good_order() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    harness.opened("local:ada", "one");
    harness.finish();
    let mut harness = JournalHarness::start(&disk);
    harness.opened("local:ada", "two");
    assert_eq!(segments(&disk), [1]);
    harness.archiver.finish().unwrap();
    let mut harness = harness.restart(&disk, Cut::Kill).unwrap();
    assert_eq!(segments(&disk), [1, 3]);
    harness.opened("local:ada", "three");
    assert_eq!(harness.subjects(), ["one", "two", "three"]);
    let all = harness.journal.log().entries(0, 10, usize::MAX).unwrap().unwrap();
    assert_eq!(all.entries.len(), 3, "what was taken over is still there for replays");
}

/// Goal: an entry that is missing is noticed. Method: remove segments that the archive does not
/// make up for.
#[test]
fn missing() {
    let options = JournalOptions { segment_bytes: 1_200, ..JournalOptions::default() };
    let fill = |archive: bool| {
        let disk = MemoryDisk::default();
        let mut harness = JournalHarness::open(&disk, options.clone()).unwrap();
        for n in 0..60 {
            harness.opened("local:ada", &format!("ask {n}"));
            if archive && n == 30 {
                harness.archiver.finish().unwrap();
            }
        }
        harness.writer.finish();
        disk
    };
    type Choose = fn(&[u64]) -> &[u64];
    let cases: [(&str, bool, Choose); 4] = [
        ("all", true, |all| all),
        ("all but the last, which begins after what is archived", true, |all| {
            &all[..all.len() - 1]
        }),
        ("the first, and nothing is archived", false, |all| &all[..1]),
        ("one in the middle", false, |all| &all[1..2]),
    ];
    for (what, archive, gone) in cases {
        let disk = fill(archive);
        let firsts = segments(&disk);
        assert!(firsts.len() > 3 && firsts[firsts.len() - 1] > 32, "{firsts:?}");
        for first in gone(&firsts) {
            disk.remove(&log::name(*first)).unwrap();
        }
        let opened = JournalHarness::open(&disk, options.clone()).map(drop);
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{what}: {opened:?}");
    }
}

/// Goal: a file of a newer version stops the start. Method: write a higher format into a segment.
#[test]
fn newer() {
    let disk = MemoryDisk::default();
    log::begin(&disk, 1).unwrap();
    {
        let backend = BoxedFile::new(disk.open(&log::name(1)).unwrap());
        let database = redb::Builder::new().create_with_backend(backend).unwrap();
        let writing = database.begin_write().unwrap();
        let meta = redb::TableDefinition::<&str, u64>::new("meta");
        writing.open_table(meta).unwrap().insert("format", 2).unwrap();
        writing.commit().unwrap();
    }
    let opened = JournalHarness::open(&disk, JournalOptions::default()).map(drop);
    assert!(
        matches!(&opened, Err(StoreError::NewerFormat { found: 2, known: 1, .. })),
        "{opened:?}"
    );
}

/// Goal: no altered bit of a log that was closed in good order is taken for what was written.
/// Method: flip one bit, in steps over the file; a start notices it, or shows what was there.
#[test]
fn flipped() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    for n in 0..40 {
        harness.opened("local:ada", &format!("ask {n}"));
    }
    let want = harness.subjects();
    harness.writer.finish();
    drop(harness.archiver);
    let name = log::name(1);
    let len = disk.bytes_of(&name).len();
    let (mut noticed, mut harmless) = (0, 0);
    for byte in (0..len).step_by(997) {
        let disk = disk.copy();
        disk.flip(&name, byte);
        match JournalHarness::open(&disk, JournalOptions::default()) {
            Ok(harness) => {
                assert_eq!(harness.subjects(), want, "byte {byte}");
                harmless += 1;
            }
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 0 && harmless > 0, "{noticed} {harmless}");
}

/// Goal: a first start that is interrupted at any moment leaves a folder that the next one can use.
/// Method: the n-th write or sync of the first start fails and the power goes, or the process.
#[test]
fn first_start() {
    let begin = |disk: &FaultyDisk| JournalHarness::open(disk, JournalOptions::default());
    interrupted(60, begin, |mut harness| {
        assert_eq!(harness.opened("local:ada", "first").0, 1);
    });
}
