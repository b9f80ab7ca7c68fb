//! The power goes, or the process is killed, at each moment of the load.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parley::clock::SystemClock;
use parley::maintenance::check::check_disk;
use parley::maintenance::open_read_only;
use parley_kit::journal::JournalHarness;
use parley_kit::recorded::Player;
use parley_kit::{Cut, Faults, FaultyDisk};

use super::load::{Mark, Recording, options, record};
use super::{Extent, WORKERS, goes_on, good, over_workers, restarted};

/// Of so many writes one is looked at, where not all are.
const STRIDE: usize = 16;
/// Of so many cuts one is followed by another act, by a second cut and by a check of the store.
const GOES_ON: usize = 16;
/// Of so many commits one is followed through each moment of its own recovery.
const RECOVERIES: usize = 20;

/// Goal: after a cut at any write and any sync of a load, a start shows every acknowledged act, of
/// a batch under way all or nothing, and all that is derived is what the acts make of it. Method:
/// the load's operations are played anew, one by one; before each write half of it is done and the
/// process killed, after it some of the sectors that were not synced stay; around each sync all
/// that was not synced is forgotten. Each time the store is opened and audited, and now and then
/// goes on. A failing moment names its place in the record.
#[test]
fn each_write_and_each_sync() {
    let extent = Extent::read(STRIDE);
    let began = Instant::now();
    let recording = record(extent.seed);
    let acts = recording.expected.acts();
    assert!(acts >= 2_000, "{acts} acts");
    let counts = over_workers(|worker| played(&recording, extent, worker));
    let writes = recording.ops.iter().filter(|op| op.is_write()).count();
    let syncs = recording.ops.iter().filter(|op| op.is_sync()).count();
    println!(
        "seed {}: {acts} acts, {writes} writes, {syncs} syncs, {} cuts in {:?}",
        extent.seed,
        counts.iter().sum::<usize>(),
        began.elapsed()
    );
}

/// Carries the record out and cuts at this worker's share of the moments; gives how many cuts there
/// were.
fn played(recording: &Recording, extent: Extent, worker: usize) -> usize {
    let mut player = Player::default();
    let mut cuts = 0;
    for (at, op) in recording.ops.iter().enumerate() {
        let mine = at % WORKERS == worker;
        let seed = extent.seed << 32 | at as u64;
        let mut look = |player: &Player, at: usize, cut: Cut| {
            cuts += 1;
            cut_at(recording, player.disk(), at, cut);
        };
        if mine && op.is_sync() {
            look(&player, at, Cut::ForgetAll);
            look(&player, at, Cut::KeepSome(seed));
            player.play(op);
            look(&player, at + 1, Cut::ForgetAll);
        } else if mine && op.is_write() && extent.takes(at / WORKERS) {
            player.play_half(op);
            look(&player, at, Cut::Kill);
            player.play(op);
            look(&player, at + 1, Cut::KeepSome(seed));
        } else {
            player.play(op);
            if mine && !op.is_write() && extent.takes(at / WORKERS) {
                look(&player, at + 1, Cut::Kill);
            }
        }
    }
    cuts
}

/// What is left of `disk` after a cut must hold what was told once the operations before `at` are
/// done.
fn cut_at(recording: &Recording, disk: &FaultyDisk, at: usize, cut: Cut) {
    let mark = recording.mark(at);
    let left = disk.copy();
    left.cut(cut);
    let what = format!("at {at}, {cut:?}, {mark:?}");
    let (mut harness, last) = opened(recording, &left, mark, at as u64, &what);
    if !at.is_multiple_of(GOES_ON) {
        return;
    }
    let next = goes_on(&mut harness, last + 1, &what);
    drop(restarted(harness, &left, Cut::ForgetAll, &next, &what));
    let checked = open_read_only(Arc::new(left), Path::new("the disk")).unwrap();
    let report = check_disk(checked, Arc::new(SystemClock)).unwrap();
    // There are no tokens beside this journal, and nothing else is to be found.
    let found: Vec<_> = report.findings.iter().filter(|it| it.file != "tokens.redb").collect();
    assert!(found.is_empty(), "{what}: {found:?}");
    assert_eq!(report.counts.last_entry, last + 1, "{what}");
}

/// Opens what is left on `disk`, which must hold what was told at `mark` and, as a whole or not at
/// all, what was asked for; gives the last entry too.
fn opened(
    recording: &Recording,
    disk: &FaultyDisk,
    mark: Mark,
    seed: u64,
    what: &str,
) -> (JournalHarness, u64) {
    let harness = good(JournalHarness::open(disk, options()), what);
    let last = harness.journal.committed();
    assert!(last == mark.told || last == mark.asked, "{what}: {last} entries");
    good(recording.expected.audit(&harness.journal.view(), last, seed), what);
    (harness, last)
}

/// Goal: a start that is cut off itself takes nothing along. Method: now and then in the load the
/// process is killed; the start after it fails at its n-th write or sync, for each n until it
/// fails no more, and the power goes; then the store is opened and audited.
#[test]
fn recovery_that_is_cut() {
    let extent = Extent::read(3);
    let recording = record(extent.seed + 1);
    let mut player = Player::default();
    let mut played = 0;
    let mut starts = 0;
    for (turn, mark) in recording.marks.iter().enumerate() {
        recording.ops[played..mark.at].iter().for_each(|op| player.play(op));
        played = mark.at;
        if turn % RECOVERIES != 1 {
            continue;
        }
        let mut at = 1;
        loop {
            let cut = [Cut::ForgetAll, Cut::Kill, Cut::KeepSome(at)][(at % 3) as usize];
            let lasting = Faults { torn: true, lasting: true, ..Faults::default() };
            let (write, sync) = (Faults { write: at, ..lasting }, Faults { sync: at, ..lasting });
            let struck = [write, sync].map(|faults| {
                let left = player.disk().copy();
                left.cut(Cut::Kill);
                left.set(faults);
                drop(JournalHarness::open(&left, options()));
                let struck = left.has_struck();
                left.cut(cut);
                starts += 1;
                let what = format!("mark {turn}, {faults:?}, {cut:?}");
                opened(&recording, &left, *mark, 1, &what);
                struck
            });
            if struck == [false, false] {
                break;
            }
            at += extent.stride as u64;
        }
    }
    println!("seed {}: {starts} starts that were cut off", extent.seed);
}

/// Goal: the tests above would notice an answer that leaves before the sync. Method: the record
/// without the syncs of a stretch, which is what a disk that lies makes of it: a start misses
/// something acknowledged, or refuses.
#[test]
fn planted() {
    let recording = record(1);
    let mut player = Player::default();
    let end = recording.marks[recording.marks.len() / 2].at;
    let begin = recording.marks[recording.marks.len() / 4].at;
    for (at, op) in recording.ops[..end].iter().enumerate() {
        if at < begin || !op.is_sync() {
            player.play(op);
        }
    }
    let mark = recording.mark(end);
    let left = player.disk().copy();
    left.cut(Cut::ForgetAll);
    let found = JournalHarness::open(&left, options()).map(|harness| harness.journal.committed());
    assert!(found.as_ref().map_or(true, |last| *last < mark.told), "{found:?} {mark:?}");
}
