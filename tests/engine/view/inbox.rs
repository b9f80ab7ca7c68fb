//! The inbox, a row a case (parley.md §7).

use parley::journal::view::ScanLimits;
use parley_kit::FaultyDisk;
use parley_kit::acts::{message, principal};
use parley_protocol::act::Kind;
use parley_protocol::entry::Position;
use parley_protocol::ids::{MessageId, ThreadId};

use super::ViewHarness;
use super::world::{World, participant};

const ALL: ScanLimits = ScanLimits { limit: 100, scan_max: 100 };

fn split(who: &str) -> (&str, Option<&str>) {
    who.split_once('/').map_or((who, None), |(identity, extension)| (identity, Some(extension)))
}

fn say(world: &mut World, who: &str, thread: u64, kind: Kind, parent: Option<u64>) {
    let (identity, extension) = split(who);
    let (parent, extension) = (parent.map(MessageId), extension.map(Into::into));
    let command = message(kind, Some(ThreadId(thread)), parent, extension, "words");
    let said = world.command_on(ThreadId(thread), &principal(identity), &command);
    assert!(said.is_some(), "{who} could not speak");
}

fn ask(world: &mut World, who: &str) {
    let (identity, extension) = split(who);
    world.open_by(&principal(identity), extension.map(Into::into));
}

/// Four threads: 1 asked by ada to anyone, 2 by ada/w1 to anyone, 3 asked by bob and clarified by
/// ada, so due bob, 4 asked by ada/w1 and clarified by bob, so due ada/w1.
fn scene() -> World {
    let mut world = World::new(7);
    ask(&mut world, "local:ada");
    ask(&mut world, "local:ada/w1");
    ask(&mut world, "local:bob");
    ask(&mut world, "local:ada/w1");
    say(&mut world, "local:ada", 3, Kind::Clarify, Some(3));
    say(&mut world, "local:bob", 4, Kind::Clarify, Some(4));
    world
}

fn shown(harness: &ViewHarness, who: &str, anyone: bool, since: Position) -> Vec<u64> {
    let (identity, extension) = split(who);
    let who = participant(identity, extension);
    let inbox = harness.view().inbox(&who, anyone, since, ALL, &mut |_| Ok(true)).unwrap();
    inbox.items.iter().map(|head| head.id.0).collect()
}

/// Goal: who sees what. Method: a row a participant, read from the tail and from the archive.
#[test]
fn who_sees_what() {
    let world = scene();
    let mut harness = ViewHarness::holding(FaultyDisk::default(), &world.entries);
    for archived in [false, true] {
        if archived {
            harness.archiver.finish().unwrap();
        }
        let start = Position::default();
        for (who, anyone, want) in [
            // The bare line: not its own question; what is due to an extension, and what the
            // extension asked anyone.
            ("local:ada", true, vec![2, 4]),
            ("local:ada", false, vec![4]),
            // An extension: what is due to it; its line's question, not its own.
            ("local:ada/w1", true, vec![1, 4]),
            ("local:ada/w1", false, vec![4]),
            // Another extension: the questions to anyone, nothing that is due to w1.
            ("local:ada/w2", true, vec![1, 2]),
            ("local:ada/w2", false, vec![]),
            // Exactly the bare bob is due in 3.
            ("local:bob", true, vec![1, 2, 3]),
            ("local:bob", false, vec![3]),
            ("local:bob/w1", true, vec![1, 2]),
            ("local:bob/w1", false, vec![]),
            // A name that begins another's.
            ("local:ad", false, vec![]),
            ("local:eve", true, vec![1, 2]),
        ] {
            let shown = shown(&harness, who, anyone, start);
            assert_eq!(shown, want, "{who} {anyone} archived {archived}");
        }
    }
}

/// Goal: `since` shows what was set after it and still stands, to the place; the cursor is the
/// place after the last item where there is more, else now. Method: cursors before, at and after
/// the setting act's own places.
#[test]
fn since_and_cursor() {
    let mut world = scene();
    let harness = ViewHarness::holding(FaultyDisk::default(), &world.entries);
    let set = world.entries[4].number;
    let (at, now) = (|slot| Position::of(set, slot), harness.view().position());
    for (since, want) in [
        (Position::after(set - 1), vec![3]),
        (at(0), vec![3]),
        (at(10), vec![3]),
        (at(11), vec![]),
        (at(12), vec![]),
        (at(15), vec![]),
        (now, vec![]),
    ] {
        assert_eq!(shown(&harness, "local:bob", false, since), want, "{since:?}");
    }
    let bob = participant("local:bob", None);
    let page = ScanLimits { limit: 1, scan_max: 100 };
    let first =
        harness.view().inbox(&bob, true, Position::default(), page, &mut |_| Ok(true)).unwrap();
    assert!(first.more);
    assert_eq!(first.next, Position::after(world.entries[0].number));
    let rest = harness.view().inbox(&bob, true, first.next, ALL, &mut |_| Ok(true)).unwrap();
    assert_eq!((rest.items.len(), rest.next, rest.more), (2, now, false));
    let bound = ScanLimits { limit: 10, scan_max: 1 };
    let bounded = harness
        .view()
        .inbox(&participant("local:ada", None), true, now, bound, &mut |_| Ok(true))
        .unwrap();
    assert_eq!((bounded.items.len(), bounded.next, bounded.more), (0, now, false));
    // Answered, it waits no more, whatever the cursor.
    let before = world.entries.len();
    say(&mut world, "local:bob", 3, Kind::Answer, Some(5));
    harness.views.push(&world.entries[before..]);
    assert_eq!(shown(&harness, "local:bob", false, Position::default()), vec![0_u64; 0]);
    // The turn went back to the author of the clarify, set by the answer's entry.
    assert_eq!(shown(&harness, "local:ada", false, at(15)), vec![4, 3]);
}
