//! Cursors: what is taken and what is refused.

use std::sync::Arc;

use parley::journal::archive::{ArchiveMeta, HighestNumbers};
use parley::journal::cursor::Cursors;
use parley::journal::view::TailMax;
use parley_kit::FaultyDisk;
use parley_protocol::entry::Position;
use parley_protocol::refusal::Reason;
use parley_protocol::time::Millis;

use super::world::World;
use super::{ViewHarness, after_power_cut, open_archive};

fn cursors(harness: &ViewHarness, meta: &ArchiveMeta) -> Cursors {
    Cursors::new(meta, Arc::clone(&harness.views))
}

fn archive_meta(disk: &FaultyDisk) -> ArchiveMeta {
    open_archive(disk).unwrap().meta().clone()
}

/// Goal: a cursor survives a restart, and one altered in any character, cut, padded, of another
/// key, of the future or written otherwise is refused. Method: each alteration of a real one.
#[test]
fn forms() {
    let disk = FaultyDisk::default();
    let meta = archive_meta(&disk);
    let mut world = World::new(3);
    let harness = ViewHarness::holding(disk.clone(), world.acts(50));
    let (ours, now) = (cursors(&harness, &meta), harness.view().position());
    for position in [Position(0), Position(15), Position(now.0 / 2), now] {
        let text = ours.text(position);
        assert!(text.starts_with(&format!("{}.1.", position.0)), "{text}");
        assert_eq!(ours.read(&text, now), Ok(position));
        assert_eq!(cursors(&harness, &archive_meta(&disk)).read(&text, now), Ok(position));
        let refused = |text: &str| {
            let refusal = ours.read(text, now).expect_err(text);
            assert_eq!(refusal.reason, Reason::InvalidCursor, "{text}");
            assert!(refusal.detail.contains("Leave it out"), "{text}");
        };
        for place in 0..text.len() {
            for other in "0123456789abcdefABCDEF.-+ é".chars() {
                let mut altered: Vec<char> = text.chars().collect();
                if altered[place] != other {
                    altered[place] = other;
                    refused(&altered.iter().collect::<String>());
                }
            }
            refused(&text[..place]);
            refused(&format!("{}0{}", &text[..place], &text[place..]));
        }
        refused(&format!("{text} "));
        refused(&format!(" {text}"));
        refused(&format!("{text}."));
        refused(&text.to_uppercase().replace('.', ".0"));
        refused(&ours.list_text("threads", position.0));
    }
    let ahead = ours.text(Position(now.0 + 1));
    assert!(ours.read(&ahead, now).is_err());
    let other_key = ArchiveMeta { cursor_key: [9; 16], ..meta };
    assert!(cursors(&harness, &other_key).read(&ours.text(now), now).is_err());
}

/// Goal: a list's cursor is good in that list only. Method: the kinds differ in one filter.
#[test]
fn lists() {
    let harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    let ours = cursors(&harness, &archive_meta(&after_power_cut(&harness.disk)));
    for place in [0, 7, u64::MAX] {
        let text = ours.list_text("threads open created", place);
        assert_eq!(ours.read_list("threads open created", &text), Ok(place));
        for kind in ["threads open updated", "threads", "", "threads open created "] {
            assert!(ours.read_list(kind, &text).is_err(), "{kind}");
        }
        for cut in 0..text.len() {
            assert!(ours.read_list("threads open created", &text[..cut]).is_err());
        }
        assert!(ours.read_list("threads open created", &ours.text(Position(0))).is_err());
        assert!(ours.read(&text, Position(u64::MAX)).is_err());
    }
}

/// Goal: after a restore, cursors given before the copy go on, those given after it are refused,
/// in lists too, and every sequence has skipped ahead. Method: two instances that share a past.
#[test]
fn a_new_era() {
    let mut world = World::new(5);
    world.grow_to(20);
    let mut harness = ViewHarness::new(FaultyDisk::default(), TailMax::default());
    let meta = archive_meta(&after_power_cut(&harness.disk));
    let source = cursors(&harness, &meta);
    harness.views.push(&world.entries);
    harness.archiver.finish().unwrap();
    let copy = after_power_cut(&harness.disk);
    let copied = harness.view().position();
    let before = (source.text(copied), source.list_text("threads", 3));

    let copied_entries = world.entries.len();
    harness.views.push(world.grow_to(40));
    let after = (source.text(harness.view().position()), source.list_text("threads", 3));

    let mut archive = open_archive(&copy).unwrap();
    let used = archive.read().unwrap().progress().maxima;
    archive
        .begin_era(Millis(1_900_000_000_000), copied.entry(), HighestNumbers::default())
        .unwrap();
    assert_eq!(archive.meta().era >> 20, 1_900_000_000, "the second, and random digits");
    let ahead = archive.read().unwrap().progress().maxima;
    assert_eq!(ahead.entry, used.entry);
    assert_eq!(ahead.thread, used.thread + (1 << 32));
    assert_eq!(ahead.message, used.message + (1 << 32));
    assert_eq!(ahead.event, used.event + (1 << 32));
    assert_eq!(ahead.claim, used.claim + (1 << 32));
    drop(archive);

    let restored = ViewHarness::holding(copy.clone(), &world.entries[copied_entries..]);
    let now = restored.view().position();
    let theirs = cursors(&restored, &archive_meta(&after_power_cut(&copy)));
    assert_eq!(theirs.read(&before.0, now), Ok(copied));
    assert_eq!(theirs.read_list("threads", &before.1), Ok(3));
    assert!(theirs.read(&after.0, now).is_err());
    assert!(theirs.read_list("threads", &after.1).is_err());
    let own = theirs.text(now);
    assert_eq!(theirs.read(&own, now), Ok(now));
    assert!(source.read(&own, now).is_err(), "the source knows no later era");
}
