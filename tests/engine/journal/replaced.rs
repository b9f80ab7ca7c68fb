//! A segment of the log that another replaces under its name, while it is read.

use std::ops::ControlFlow;
use std::sync::Arc;

use parley::journal::options::JournalOptions;
use parley_kit::journal::{JournalHarness, is_stored};
use parley_kit::{Faults, FaultyDisk};

/// Goal: a reader that was on its way to a segment when another took over under its name reads the
/// right entries, and never a file that is being written. Method: between two segments of one scan
/// a commit fails and the writer begins anew; while the scan goes on, it writes much more.
#[test]
fn replaced_while_read() {
    const KEPT: u64 = 40;
    let disk = FaultyDisk::default();
    let options = JournalOptions { segment_bytes: 6_000_000, ..JournalOptions::default() };
    let mut harness = JournalHarness::open(&disk, options).unwrap();
    let long = "x".repeat(6_000_000);
    harness.opened("local:ada", &long);
    // The second segment: a page or more for each row.
    let body = "x".repeat(20_000);
    for _ in 2..=KEPT {
        harness.opened("local:ada", &body);
    }
    let log = Arc::clone(harness.journal.log());
    let mut read = Vec::new();
    let scanned = log.scan(0, KEPT, |raw| {
        read.push(raw.number);
        if raw.number == 1 {
            disk.set(Faults::refusing());
            let mut lost = harness.ask("local:ada", "lost");
            harness.work();
            assert!(!is_stored(&mut lost));
            disk.mend();
            harness.clock.pass(10_000);
            harness.work();
        }
        for _ in 0..4 {
            harness.opened("local:ada", &body);
        }
        Ok(ControlFlow::Continue(()))
    });
    assert!(scanned.unwrap());
    assert!(read.iter().copied().eq(1..=KEPT), "{read:?}");
}
