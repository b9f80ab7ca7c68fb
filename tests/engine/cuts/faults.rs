//! The disk fails at each write and each sync of each commit of the load, and of the archiving that
//! follows it; the process goes on.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use parley::journal::WriterStep;
use parley::journal::options::{JournalOptions, RETRY_MS, STALL_MS};
use parley::storage::disk::Disk;
use parley_kit::journal::{JournalHarness, Waiting, is_stored};
use parley_kit::recorded::Player;
use parley_kit::{Cut, Faults, FaultyDisk, Op};

use super::load::{Mark, Recording, options, record, submit};
use super::{Extent, WORKERS, goes_on, good, over_workers, restarted};

/// Of so many writes and syncs of a commit one is looked at, where not all are; which ones moves
/// from commit to commit.
const STRIDE: usize = 12;

/// A moment before a commit, and the disk then.
struct Before<'a> {
    recording: &'a Recording,
    image: FaultyDisk,
    mark: Mark,
    commit: usize,
}

/// Runs `look` at the moment before each commit, over all workers; gives the sum of what it gave.
fn before_each(recording: &Recording, look: impl Fn(&Before<'_>) -> u64 + Sync) -> u64 {
    let sums = over_workers(|worker| {
        let mut player = Player::default();
        let (mut played, mut sum) = (0, 0);
        let before = recording.marks.iter().filter(|mark| mark.asked > mark.told);
        for (commit, mark) in before.enumerate() {
            recording.ops[played..mark.at].iter().for_each(|op| player.play(op));
            played = mark.at;
            if commit % WORKERS == worker {
                let image = player.disk().copy();
                image.cut(Cut::Kill);
                sum += look(&Before { recording, image, mark: *mark, commit });
            }
        }
        sum
    });
    sums.into_iter().sum()
}

/// Goal: a write or a sync that fails, whichever it is, loses nothing acknowledged, leaves no half
/// act, stops no reading, and writing goes on once the disk does. Method: from the moment before
/// each commit of the load, the commit and the archiving after it with a fault at the n-th write,
/// or the n-th sync, for each n until there are no more: the write is refused or torn, the sync
/// loses what it had though it looks clean, or wrote it all the same, once or until the disk is
/// mended.
#[test]
fn each_write_and_each_sync() {
    let extent = Extent::read(STRIDE);
    let began = Instant::now();
    let recording = record(extent.seed);
    let struck = before_each(&recording, |before| {
        let mut struck = 0;
        for of_syncs in [false, true] {
            let mut at = 1;
            loop {
                let wanted = extent.takes(before.commit + at);
                let faults = fault(of_syncs, at as u64, before.commit + at);
                if wanted && !before.survives(faults, &options()) {
                    break;
                }
                // No commit and no archiving of this load has as many: then a fault would not
                // strike.
                assert!(at < 2_000, "{faults:?} strikes for ever");
                struck += u64::from(wanted);
                at += 1;
            }
        }
        struck
    });
    println!("seed {}: {struck} faults in {:?}", extent.seed, began.elapsed());
}

/// The `n`-th fault at the write or the sync `at`.
fn fault(of_syncs: bool, at: u64, n: usize) -> Faults {
    let lasting = n % 4 >= 2;
    if of_syncs {
        Faults { sync: at, sync_reached: n.is_multiple_of(2), lasting, ..Faults::default() }
    } else {
        Faults { write: at, torn: n.is_multiple_of(2), lasting, ..Faults::default() }
    }
}

impl Before<'_> {
    /// Commits and archives with `faults`; then the disk is mended, one more act is stored, and the
    /// power goes. Gives whether the disk failed at all.
    fn survives(&self, faults: Faults, options: &JournalOptions) -> bool {
        let what = format!("commit {}, {faults:?}", self.commit);
        let (expected, Mark { told, asked, .. }) = (&self.recording.expected, self.mark);
        let disk = self.image.copy();
        let mut harness = JournalHarness::open(&disk, options.clone()).unwrap();
        assert_eq!(harness.journal.committed(), told, "{what}");
        disk.set(faults);
        let mut waiting = self.submit(&harness);
        let step = harness.work();
        let stored = waiting.iter_mut().map(is_stored).filter(|stored| *stored).count();
        let whole = stored == waiting.len();
        assert!(stored == 0 || whole, "{what}: half a batch is acknowledged");
        assert_eq!(step, if whole { WriterStep::Idle } else { WriterStep::Down }, "{what}");
        drop(harness.archiver.finish());
        let last = if whole { asked } else { told };
        let struck = disk.has_struck() || !whole;
        let view = harness.journal.view();
        assert_eq!(view.position().entry(), last, "{what}");
        good(expected.audit_touched(&view, (told, asked), last), &what);
        drop(view);

        disk.mend();
        harness.clock.pass(RETRY_MS);
        harness.work();
        let next = goes_on(&mut harness, asked + 1, &what);
        good(harness.archiver.finish(), &what);
        let cut = [Cut::ForgetAll, Cut::Kill, Cut::KeepSome(next.number)][self.commit % 3];
        let harness = restarted(harness, &disk, cut, &next, &what);
        let thread = next.entry.act().map(|act| act.thread);
        good(expected.audit_acts(&harness.journal.view(), last, thread), &what);
        struck
    }

    /// Asks for the entries of the commit.
    fn submit(&self, harness: &JournalHarness) -> Vec<Waiting> {
        let batch = self.mark.told as usize..self.mark.asked as usize;
        let batch = self.recording.expected.entries[batch].iter();
        batch.map(|committed| submit(harness, committed)).collect()
    }
}

/// Goal: a disk without room takes no write and loses none, whether it says so or not, and takes
/// them again once there is room. Method: before each commit the disk tells of too little room, or
/// no file may grow by more than a little.
#[test]
fn full() {
    let extent = Extent::read(2);
    let recording = record(extent.seed);
    let struck = before_each(&recording, |before| {
        if !extent.takes(before.commit) {
            return 0;
        }
        let said = Faults { free_bytes: Some(1), ..Faults::default() };
        let said = before.survives(said, &options());
        assert!(said, "commit {}: a disk that says it is full is written", before.commit);
        let grown = before.image.bytes().unwrap() + (before.commit as u64 % 5) * 4_096;
        let unsaid = Faults { bytes_max: Some(grown), ..Faults::default() };
        before.survives(unsaid, &JournalOptions { free_bytes_min: 0, ..options() });
        1
    });
    println!("seed {}: {struck} commits on a full disk", extent.seed);
}

/// Goal: while any sync of a commit hangs, calls are refused at once, what is not committed is not
/// shown, reading goes on; what hangs is answered once the disk goes on. Method: at each sync of
/// each commit time passes beyond what a commit may take, and the door is asked.
#[test]
fn each_sync_stalls() {
    let recording = record(1);
    let stalls = before_each(&recording, |before| {
        let Mark { told, asked, .. } = before.mark;
        let disk = before.image.copy();
        let mut harness = JournalHarness::open(&disk, options()).unwrap();
        let mut waiting = before.submit(&harness);
        let stalls = Arc::new(Mutex::new(0));
        let (journal, clock, count) =
            (Arc::clone(&harness.journal), Arc::clone(&harness.clock), Arc::clone(&stalls));
        disk.watch(Some(Arc::new(move |_, op: Op| {
            if !op.is_sync() {
                return true;
            }
            assert!(journal.is_writable());
            clock.pass(STALL_MS + 1);
            assert!(!journal.is_writable() && journal.refuses().is_some());
            assert_eq!(journal.committed(), told);
            assert_eq!(journal.view().position().entry(), told);
            // The next sync is a commit of its own as far as time goes.
            clock.unpass(STALL_MS + 1);
            *count.lock().unwrap() += 1;
            true
        })));
        assert_eq!(harness.work(), WriterStep::Idle);
        disk.watch(None);
        assert!(waiting.iter_mut().all(is_stored));
        assert!(harness.journal.is_writable());
        let view = harness.journal.view();
        good(before.recording.expected.audit(&view, asked, 1), "after a stall");
        let stalls = *stalls.lock().unwrap();
        assert!(stalls > 0);
        stalls
    });
    println!("{stalls} syncs that hung");
}
