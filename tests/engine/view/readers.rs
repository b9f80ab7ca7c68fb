//! Readers while others write and archive.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parley::journal::view::{ScanLimits, TailMax, View};
use parley_kit::FaultyDisk;
use parley_protocol::command::{ThreadOrder, ThreadQuery};
use parley_protocol::entry::Position;
use parley_protocol::ids::ThreadId;

use super::ViewHarness;
use super::world::{World, participant};

/// Everything of the first thread, in pages of 7: every act once, whatever is archived meanwhile.
fn read_acts(views: &[View]) {
    // Each page from another view, as requests one after the other have.
    let (mut after, mut seq) = (0, 0);
    for view in views {
        for placed in view.acts(ThreadId(1), after).unwrap().take(7) {
            let placed = placed.unwrap();
            assert_eq!(placed.act().seq, seq, "after {after}");
            assert!(Position::after(placed.entry) <= view.position(), "ahead of the view");
            (after, seq) = (placed.entry, seq + 1);
        }
    }
}

fn read_lists(view: &View) {
    let last = view.position();
    for order in [ThreadOrder::Created, ThreadOrder::Updated] {
        let query = ThreadQuery { order, ..ThreadQuery::default() };
        let (mut after, mut seen) = (None, BTreeSet::new());
        loop {
            let page = ScanLimits { limit: 11, scan_max: 50 };
            let scan = view.threads(&query, after, page, &mut |_| Ok(true)).unwrap();
            for head in &scan.items {
                assert!(seen.insert(head.id), "{} came twice", head.id);
                assert!(head.position <= last, "{} is ahead of the view", head.id);
            }
            after = Some(scan.next);
            if !scan.more {
                break;
            }
        }
        let newest = seen.last().map_or(0, |id| id.0);
        assert_eq!(seen.len() as u64, newest, "a thread is missing");
    }
    let page = ScanLimits { limit: 1_000, scan_max: 100_000 };
    let who = participant("local:nobody", None);
    let inbox = view.inbox(&who, true, Position::default(), page, &mut |_| Ok(true)).unwrap();
    for head in inbox.items {
        assert!(head.awaiting.is_some());
        assert!(view.act_at(head.id, head.awaited_entry).unwrap().is_some());
    }
}

/// Goal: readers see every row once and nothing ahead of their view, while a writer pushes and the
/// archiver archives. Method: a writer, the archiver and two readers in tight loops on threads of
/// their own; pages of one list come from views taken one after the other.
#[test]
fn readers_beside_writer_and_folder() {
    let harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    let (views, archiver) = (&harness.views, harness.archiver);
    let done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let archiving = scope.spawn(move || archiver.run());
        scope.spawn(move || {
            let mut world = World::new(51);
            for _ in 0..250 {
                views.push(world.acts(20));
            }
            done.store(true, Ordering::SeqCst);
            views.close();
        });
        for _ in 0..2 {
            scope.spawn(move || {
                let (mut taken, mut last) = (Vec::new(), Position::default());
                loop {
                    let finished = done.load(Ordering::SeqCst);
                    let view = views.view();
                    assert!(view.position() >= last, "the view went back");
                    last = view.position();
                    read_lists(&view);
                    taken.push(view);
                    if taken.len() == 8 {
                        read_acts(&taken);
                        taken.clear();
                    }
                    if finished {
                        break;
                    }
                }
            });
        }
        archiving.join().unwrap();
    });
    assert_eq!(harness.views.tail_entries(), 0);
}
