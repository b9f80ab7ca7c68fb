//! When the disk fails: nothing acknowledged is lost, nothing that failed is told, and writing
//! goes on once the disk does.

use parley::journal::WriterStep;
use parley::journal::options::{JournalOptions, RETRY_MS, STALL_MS};
use parley_kit::journal::{Came, JournalHarness, Waiting, came, is_stored};
use parley_kit::{Cut, Faults, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Reason;

use super::nth_fault;

/// Lets the writer try again.
fn retry(harness: &mut JournalHarness) {
    harness.clock.pass(RETRY_MS);
    harness.work();
}

/// The ways in which one commit fails.
fn ways() -> [(&'static str, Faults); 5] {
    let write = |write, torn| Faults { write, torn, lasting: true, ..Faults::default() };
    let sync = |sync_reached| Faults { sync: 1, sync_reached, lasting: true, ..Faults::default() };
    [
        ("the first write fails", write(1, false)),
        ("a write is torn", write(1, true)),
        ("the second write fails", write(2, true)),
        ("the sync loses what it had", sync(false)),
        ("the sync fails and wrote all the same", sync(true)),
    ]
}

/// Goal: a commit that fails leaves no trace, and service goes on after it. Method: for each way
/// of failing, an act before, two in the failing batch with a barrier behind them, one queued
/// behind that batch, one while the disk is down, one after; then the power goes, and a restart
/// shows exactly what was acknowledged.
#[test]
fn failed_commit() {
    for (way, faults) in ways() {
        let disk = FaultyDisk::default();
        let options = JournalOptions { batch_entries_max: 4, ..JournalOptions::default() };
        let mut harness = JournalHarness::open(&disk, options).unwrap();
        let thread = harness.opened("local:ada", "before");
        let mut holder = harness.load(thread);
        let mut failing = vec![
            harness.ask("local:ada", "failing"),
            harness.say(&mut holder, "local:bob", Kind::Inform, "failing"),
            harness.behind(&holder),
            harness.ask("local:ada", "failing"),
            harness.ask("local:ada", "queued behind"),
        ];
        let generation = harness.journal.generation();
        disk.set(faults);
        assert_eq!(harness.work(), WriterStep::Down, "{way}");
        failing.push(harness.ask("local:ada", "while down"));
        retry(&mut harness);
        assert!(failing.iter_mut().all(|one| !is_stored(one)), "{way}");
        assert!(!harness.journal.is_writable(), "{way}");
        assert!(harness.journal.generation() > generation, "{way}");
        assert_eq!(harness.subjects(), ["before"], "{way}: reading goes on");
        let replayed = harness.journal.log().entries(0, 10, 1 << 20).unwrap().unwrap();
        assert_eq!(replayed.entries.len(), 1, "{way}: replaying goes on");

        disk.mend();
        retry(&mut harness);
        assert!(harness.journal.is_writable(), "{way}");
        let mut stale = harness.say(&mut holder, "local:bob", Kind::Inform, "stale");
        harness.work();
        assert!(!is_stored(&mut stale), "{way}: the lease is void");
        let mut holder = harness.load(thread);
        let mut after = harness.say(&mut holder, "local:bob", Kind::Inform, "after");
        harness.work();
        assert!(is_stored(&mut after), "{way}");
        harness.opened("local:ada", "new");
        let shown = harness.subjects();
        let count = harness.journal.view().summary(thread).unwrap().unwrap().message_count;

        let harness = harness.restart(&disk, Cut::ForgetAll).unwrap();
        assert_eq!(harness.journal.view().summary(thread).unwrap().unwrap().message_count, count);
        assert_eq!(harness.subjects(), shown, "{way}");
    }
}

/// Goal: no number is given twice, also not one whose act failed. Method: entries, threads and
/// messages of failing and of stored acts, in memory and after a restart, are all different.
#[test]
fn numbers() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    let mut seen = std::collections::BTreeSet::new();
    let mut note = |harness: &mut JournalHarness, waiting: &mut Waiting| {
        harness.work();
        if let Came::Stored(committed) = came(waiting) {
            let act = committed.entry.act().unwrap();
            assert!(seen.insert((0, committed.number)) && seen.insert((1, act.thread.0)));
            assert!(seen.insert((2, act.message().unwrap().id.0)));
            assert!(seen.insert((3, act.event.as_ref().unwrap().id.0)));
        }
    };
    for round in 0..6 {
        let mut waiting = harness.ask("local:ada", "one");
        if round % 2 == 0 {
            disk.set(Faults { sync: 1, ..Faults::default() });
        }
        note(&mut harness, &mut waiting);
        retry(&mut harness);
        let mut waiting = harness.ask("local:ada", "two");
        note(&mut harness, &mut waiting);
        if round % 3 == 2 {
            harness = harness.restart(&disk, Cut::ForgetAll).unwrap();
        }
    }
    assert_eq!(seen.len(), 4 * 9);
}

/// Goal: what a failed sync may have written is wholly there after a restart or not at all.
/// Method: five openings in one batch whose sync fails; the process is killed before it can do
/// anything about it, in three ways.
#[test]
fn failed_and_killed() {
    for (sync_reached, cut) in
        [(true, Cut::ForgetAll), (true, Cut::Kill), (false, Cut::Kill), (false, Cut::ForgetAll)]
    {
        let disk = FaultyDisk::default();
        let mut harness = JournalHarness::start(&disk);
        harness.opened("local:ada", "before");
        let _failing: Vec<_> = (0..5).map(|_| harness.ask("local:ada", "failing")).collect();
        disk.set(Faults { sync: 1, sync_reached, lasting: true, ..Faults::default() });
        harness.work();
        let harness = harness.restart(&disk, cut).unwrap();
        let count = harness.subjects().len();
        assert!(count == 1 || count == 6, "{count}");
        // What a start shows is not taken back either, whatever the failed sync said of it.
        assert_eq!(harness.restart(&disk, Cut::ForgetAll).unwrap().subjects().len(), count);
    }
}

/// Goal: a disk with too little room takes no writes, and takes them again once there is room.
/// Method: tell less than must stay free, then more.
#[test]
fn full() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    harness.opened("local:ada", "before");
    let little = JournalOptions::default().free_bytes_min - 1;
    disk.set(Faults { free_bytes: Some(little), ..Faults::default() });
    harness.clock.pass(1_000);
    let mut refused = harness.ask("local:ada", "no room");
    assert_eq!(harness.work(), WriterStep::Down);
    assert!(!is_stored(&mut refused));
    assert_eq!(disk.writes(), 0, "a full disk is kept away from the database");
    disk.mend();
    retry(&mut harness);
    assert_eq!(harness.opened("local:ada", "after").0, 3);
}

/// Goal: a disk that is full without having said so is a failed commit like any other. Method: no
/// file may grow; then write until it must.
#[test]
fn full_unsaid() {
    let disk = FaultyDisk::default();
    let options = JournalOptions { free_bytes_min: 0, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&disk, options).unwrap();
    let bytes_max = parley::storage::disk::Disk::bytes(&disk).unwrap();
    disk.set(Faults { bytes_max: Some(bytes_max), ..Faults::default() });
    let body = "x".repeat(400);
    let mut stored = 0;
    while harness.journal.is_writable() {
        let mut waiting: Vec<_> = (0..100).map(|_| harness.ask("local:ada", &body)).collect();
        harness.work();
        stored += waiting.iter_mut().map(is_stored).filter(|stored| *stored).count();
    }
    let logged = harness.journal.log().entries(0, 10_000, 1 << 30).unwrap().unwrap();
    assert_eq!(logged.entries.len(), stored);
    disk.mend();
    retry(&mut harness);
    harness.opened("local:ada", "after");
    let harness = harness.restart(&disk, Cut::ForgetAll).unwrap();
    let stretch = harness.journal.log().entries(0, usize::MAX, usize::MAX).unwrap().unwrap();
    assert_eq!(stretch.entries.len(), stored + 1);
}

/// Goal: what is committed and not archived is bounded, whatever becomes of the archive. Method:
/// nothing is archived until the bound: the next are 503 `overloaded` at once; if it lasts, those
/// that wait are refused too; once it is archived, writing goes on.
#[test]
fn fold_behind() {
    let options =
        JournalOptions { tail_entries_max: 10, batch_entries_max: 10, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&FaultyDisk::default(), options).unwrap();
    let mut taken: Vec<_> = (0..10).map(|_| harness.ask("local:ada", "taken")).collect();
    let mut waiting = harness.ask("local:ada", "waiting");
    assert_eq!(harness.work(), WriterStep::Full);
    assert!(taken.iter_mut().all(is_stored));
    let mut refused = harness.ask("local:ada", "refused");
    assert!(matches!(came(&mut refused), Came::Refused(Reason::Overloaded)));
    assert!(harness.journal.unavailable().is_none(), "busy is ready");
    assert!(matches!(came(&mut waiting), Came::Nothing));
    harness.clock.pass(STALL_MS + 1);
    harness.work();
    assert!(!is_stored(&mut waiting) && !harness.journal.is_writable());
    retry(&mut harness);
    assert!(!harness.journal.is_writable());
    harness.load(ThreadId(1));
    harness.archiver.finish().unwrap();
    retry(&mut harness);
    assert_eq!(harness.opened("local:ada", "again").0, 12);
}

/// Goal: while the disk hangs, calls are refused at once, reading goes on, and what hangs is
/// answered once the disk goes on. Method: a sync that waits, on a thread of its own.
#[test]
fn stall() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    harness.opened("local:ada", "before");
    let mut hanging = harness.ask("local:ada", "hanging");
    disk.stall(true);
    let mut writer = harness.writer;
    let working = std::thread::spawn(move || {
        writer.step();
        writer
    });
    disk.wait_for_stall();
    assert!(harness.journal.is_writable());
    harness.clock.pass(STALL_MS + 1);
    assert!(!harness.journal.is_writable());
    assert!(harness.journal.refuses().is_some());
    assert!(harness.journal.unavailable().is_some(), "a stalled disk is not ready");
    let mut lease = harness.journal.acquire(ThreadId(1));
    assert!(lease.try_recv().unwrap().is_err(), "a lease that nobody can give is refused");
    assert_eq!(harness.journal.view().position().entry(), 1);
    disk.stall(false);
    harness.writer = working.join().unwrap();
    assert!(harness.journal.is_writable());
    harness.work();
    assert!(is_stored(&mut hanging));
}

/// Goal: a calendar clock that leaps an hour ahead and back is no stall, of a commit or of the
/// archiver, and puts no retry off. Method: leaps while a sync hangs, while the tail is full, and
/// after a failure, each of which then goes on.
#[test]
fn clock_leaps() {
    const HOUR: u64 = 3_600_000;
    let disk = FaultyDisk::default();
    let options =
        JournalOptions { tail_entries_max: 2, batch_entries_max: 1, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&disk, options).unwrap();
    let mut hanging = harness.ask("local:ada", "hanging");
    disk.stall(true);
    let mut writer = harness.writer;
    let working = std::thread::spawn(move || {
        writer.step();
        writer
    });
    disk.wait_for_stall();
    harness.clock.ahead(HOUR);
    let is_writable = harness.journal.is_writable();
    harness.clock.back(HOUR);
    disk.stall(false);
    harness.writer = working.join().unwrap();
    assert!(is_writable, "a leap is no stall of a commit");
    let mut filling = harness.ask("local:ada", "fills the tail");
    let mut waiting = harness.ask("local:ada", "waiting");
    assert_eq!(harness.work(), WriterStep::Full);
    assert!(is_stored(&mut hanging) && is_stored(&mut filling));
    harness.clock.ahead(HOUR);
    assert_eq!(harness.work(), WriterStep::Full);
    assert!(matches!(came(&mut waiting), Came::Nothing), "a leap is no stall of the archiver");
    harness.archiver.finish().unwrap();
    harness.work();
    assert!(is_stored(&mut waiting));
    harness.archiver.finish().unwrap();
    disk.set(Faults { sync: 1, ..Faults::default() });
    let mut failing = harness.ask("local:ada", "failing");
    harness.work();
    assert!(!is_stored(&mut failing));
    harness.clock.back(HOUR);
    disk.mend();
    assert_eq!(harness.work(), WriterStep::Down, "a leap brings no retry forward");
    retry(&mut harness);
    assert!(harness.journal.is_writable());
}

/// Goal: the tests above would notice an answer that leaves before the sync. Method: plant the
/// fault, a disk whose sync does nothing: the same checks find something acknowledged missing.
#[test]
fn planted() {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    harness.opened("local:ada", "before");
    disk.set(Faults { sync_lies: true, ..Faults::default() });
    let mut told = harness.ask("local:ada", "told too early");
    harness.work();
    assert!(is_stored(&mut told));
    assert_eq!(harness.restart(&disk, Cut::ForgetAll).unwrap().subjects(), ["before"]);
}

/// Goal: what a failed sync of the archive lost is not built on, and reading goes on meanwhile.
/// Method: many threads, archived, their log dropped; the sync of a archive that touches an early
/// one fails, or all do for a while, and the machine takes for written what is not; the process
/// goes on or is killed; then the power goes while the next archive is on its way, or after it.
#[test]
fn archive_lost_page() {
    let options =
        JournalOptions { segment_bytes: 2_000, replay_max: 6, ..JournalOptions::default() };
    for n in 1..=4 {
        for (lasting, killed) in [(false, false), (false, true), (true, false), (true, true)] {
            let disk = FaultyDisk::default();
            let mut harness = JournalHarness::open(&disk, options.clone()).unwrap();
            for thread in 0..150 {
                harness.ask("local:ada", &format!("ask {thread}"));
            }
            harness.work();
            harness.archiver.finish().unwrap();
            let mut holder = harness.load(ThreadId(5));
            harness.say(&mut holder, "local:bob", Kind::Inform, "more");
            harness.work();
            disk.set(Faults { sync: n, lasting, ..Faults::default() });
            for _ in 0..3 {
                drop(harness.archiver.finish());
                assert_eq!(harness.subjects().len(), 150, "{n} {lasting}");
            }
            disk.mend();
            if killed {
                harness = harness.restart(&disk, Cut::Kill).unwrap();
            }
            let whole = |disk: &FaultyDisk, how: &str| {
                let harness = JournalHarness::open(disk, options.clone()).unwrap();
                let view = harness.journal.view();
                for id in 1..=150 {
                    let thread = view.thread(ThreadId(id)).unwrap().unwrap();
                    let count = thread.summary().message_count;
                    assert_eq!(count, 1 + u64::from(id == 5), "{id}: {n} {lasting} {killed} {how}");
                }
            };
            for seed in 0..12 {
                let disk = disk.copy();
                let mut harness = JournalHarness::open(&disk, options.clone()).unwrap();
                harness.ask("local:ada", "next");
                harness.work();
                disk.set(Faults { sync: 1 + seed % 3, lasting: true, ..Faults::default() });
                drop(harness.archiver.finish());
                disk.cut(Cut::KeepSome(seed));
                whole(&disk, "next");
            }
            for _ in 0..20 {
                harness.ask("local:ada", "later");
                harness.work();
                harness.archiver.finish().unwrap();
            }
            disk.cut(Cut::ForgetAll);
            whole(&disk, "later");
        }
    }
}

/// Goal: whatever fails at whatever moment, in the log or in the archive, a restart shows
/// everything acknowledged and nothing that was never asked. Method: a small load, archived as it
/// goes, over small segments that are soon dropped; at its n-th write or sync the disk fails once,
/// or goes on failing for a while; at the end the power goes or the process, then the power once
/// more. A failing row names its numbers.
#[test]
fn sweep() {
    for n in 1..=40 {
        for kind in 0..4 {
            let cuts = [Cut::ForgetAll, Cut::Kill, Cut::KeepSome(n * 7 + kind)];
            swept(nth_fault(n, n * 2, kind), cuts[(n % 3) as usize]);
        }
    }
}

fn swept(faults: Faults, cut: Cut) {
    let disk = FaultyDisk::default();
    let options =
        JournalOptions { segment_bytes: 2_000, replay_max: 6, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&disk, options).unwrap();
    disk.set(faults);
    let (mut acknowledged, mut unknown) = (Vec::new(), Vec::new());
    for round in 0..12 {
        let bodies: Vec<_> = (0..3).map(|n| format!("{round} {n}")).collect();
        let mut waiting: Vec<_> =
            bodies.iter().map(|body| harness.ask("local:ada", body)).collect();
        harness.work();
        for (body, waiting) in bodies.into_iter().zip(&mut waiting) {
            if is_stored(waiting) { acknowledged.push(body) } else { unknown.push(body) }
        }
        if round == 8 {
            disk.mend();
        }
        // What cannot be archived now is archived later.
        let archived = if round % 3 == 1 {
            harness.archiver.finish()
        } else {
            harness.archiver.step().map(drop)
        };
        assert!(archived.is_ok() || round < 8, "{archived:?}: {faults:?}");
        retry(&mut harness);
        assert_eq!(harness.subjects(), acknowledged, "{faults:?}");
    }
    assert!(acknowledged.len() >= 9, "writing went on: {faults:?}");
    // Something is under way when the power goes.
    disk.set(Faults { sync: 1, lasting: true, ..Faults::default() });
    unknown.push("last".into());
    harness.ask("local:ada", "last");
    harness.work();
    let mut harness = harness.restart(&disk, cut).unwrap();
    let shown = harness.subjects();
    for body in &acknowledged {
        assert!(shown.contains(body), "{body} is lost: {faults:?} {cut:?}");
    }
    for body in &shown {
        let known = acknowledged.contains(body) || unknown.contains(body);
        assert!(known, "{body} was never asked: {faults:?} {cut:?}");
    }
    harness.opened("local:ada", "again");
    let harness = harness.restart(&disk, Cut::ForgetAll).unwrap();
    assert_eq!(harness.subjects().len(), shown.len() + 1, "{faults:?} {cut:?}");
}
