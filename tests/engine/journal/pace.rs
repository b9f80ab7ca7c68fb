//! What opening after a kill costs: the acts that are not archived, whatever threads they are in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parley::journal::options::JournalOptions;
use parley::storage::disk::FolderDisk;
use parley_kit::Folder;
use parley_kit::journal::{Holder, JournalHarness};
use parley_protocol::act::Kind;
use parley_protocol::ids::ThreadId;

/// Openings of each, of which the median counts.
const ROUNDS: usize = 5;

/// How long opening takes where so many acts, in so many archived threads, are in the log alone.
fn opening(threads: u64, acts: u64) -> Duration {
    let folder = Folder::new("pace");
    let (lived, killed) = (folder.join("lived"), folder.join("killed"));
    let open = |path| {
        let disk: Arc<FolderDisk> = Arc::new(FolderDisk::open(path).unwrap());
        JournalHarness::open_on(disk, JournalOptions::default()).unwrap()
    };
    let mut harness = open(&lived);
    for first in (0..threads).step_by(10_000) {
        for thread in first..threads.min(first + 10_000) {
            drop(harness.ask("local:ada", &format!("What is number {thread}?")));
        }
        harness.work();
        harness.archiver.finish().unwrap();
    }
    let mut holders: Vec<Holder> =
        (1..=threads).map(|thread| harness.load(ThreadId(thread))).collect();
    for act in 0..acts {
        let holder = &mut holders[usize::try_from(act % threads).unwrap()];
        let by = if (act / threads).is_multiple_of(2) { "local:ada" } else { "local:bob" };
        drop(harness.say(holder, by, Kind::Inform, &format!("It is so, says act {act}.")));
        if act % 1_000 == 999 {
            harness.work();
        }
    }
    harness.work();
    let mut took: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let _ = std::fs::remove_dir_all(&killed);
            std::fs::create_dir(&killed).unwrap();
            // As a kill leaves them: neither file is closed.
            for name in parley_kit::folder::names(&lived) {
                std::fs::copy(lived.join(&name), killed.join(&name)).unwrap();
            }
            let began = Instant::now();
            let opened = open(&killed);
            let took = began.elapsed();
            assert_eq!(opened.journal.view().last(), threads + acts);
            took
        })
        .collect();
    took.sort_unstable();
    println!("{threads} threads, {acts} acts: {took:?}");
    took[ROUNDS / 2]
}

/// Goal: opening after a kill costs the acts that are not archived and nothing else: no thread is
/// loaded. Method: the same acts in few threads and in many; all are there. `PARLEY_ACTS` is how
/// many: then, in a release build, at most 5 µs an act and 0.5 s beside, the same within 1.3 times.
#[test]
fn opening_costs_its_acts() {
    let given = std::env::var("PARLEY_ACTS").ok().map(|acts| acts.parse::<u64>().unwrap());
    let acts = given.unwrap_or(4_000);
    let many = acts * 15 / 19;
    let few = many / 1_000 + 1;
    let (of_few, of_many) = (opening(few, acts), opening(many, acts));
    if given.is_none() {
        return;
    }
    let allowed =
        Duration::from_millis(500) + Duration::from_micros(5) * u32::try_from(acts).unwrap();
    assert!(of_few <= allowed && of_many <= allowed, "{of_few:?}, {of_many:?} of {allowed:?}");
    assert!(of_many.as_secs_f64() <= 1.3 * of_few.as_secs_f64(), "{of_few:?}, {of_many:?}");
}
