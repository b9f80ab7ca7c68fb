//! The ring, watermarks, and the lock.

use super::*;
use crate::yield_points::Hook;

use crate::feed::subscriber::{Taken, tests::subscriber};
use parley_protocol::act::Kind;
use parley_protocol::entry::{Change, Entry, KeyUse, Message, StoredOutcome};
use parley_protocol::identity::{AuthorKind, Participant};
use parley_protocol::ids::MessageId;

/// Entries of which no feed tells, up to the number `upto`.
fn pass(hub: &Hub, upto: u64) {
    let from = hub.delivered() + 1;
    let key = KeyUse { key: [0; 16], content: [0; 16] };
    let outcome = || StoredOutcome::Unchanged(ThreadId(1));
    let entries = (from..=upto).map(|number| {
        let entry = Entry::Outcome(Millis(1), key, outcome());
        Arc::new(Committed { number, entry, summary: None, claims: Vec::new() })
    });
    hub.deliver(&entries.collect::<Vec<_>>(), Millis(1));
}

/// An act with a message of `bytes` bytes.
fn act(number: u64, bytes: usize) -> Arc<Committed> {
    let message = Message {
        id: MessageId(number),
        parent: None,
        kind: Kind::Inform,
        body: "x".repeat(bytes).into(),
        provenance: None,
    };
    let act = Act {
        thread: ThreadId(1),
        seq: number - 1,
        at: Millis(1),
        by: Participant { identity: "local:ada".into(), extension: None },
        author_kind: AuthorKind::Llm,
        change: Change::Message(message),
        event: None,
        awaiting: None,
        awaiting_set: false,
        awaited_entry: 0,
        awaiting_was: None,
        key: None,
    };
    let entry = Entry::Act(Box::new(act));
    Arc::new(Committed { number, entry, summary: None, claims: Vec::new() })
}

/// Goal: the ring is bounded by bytes as well as by acts, keeps the latest acts, and reads from
/// the log what it dropped; an act above the bound does not empty it for good. Method: acts of
/// 64 KB, one above the bound, then small ones.
#[tokio::test]
async fn ring_bytes() {
    let inboxes = Inboxes::start(Hook::default()).await.unwrap();
    let caps = FeedCaps { connections_max: 8, per_identity_max: 8, buffer: 8 };
    let hub = Hub::new(inboxes, caps, 0);
    let kept = || lock(&hub.index).ring.iter().map(|(_, one)| one.weight()).sum::<u64>();
    for number in 1..=1_000 {
        hub.deliver(&[act(number, 64 << 10)], Millis(1));
        assert!(kept() <= RING_BYTES_MAX, "{} bytes after {number} acts", kept());
    }
    assert!(kept() > RING_BYTES_MAX / 2);
    assert_eq!(kept(), lock(&hub.index).ring_bytes);
    let listener = subscriber(Scope::All, 8);
    hub.register(&listener).unwrap();
    let at = |number| FeedPlace::at(Position::after(number));
    assert!(matches!(hub.catch_up(&listener, &[], at(1), false), CatchUp::Far));
    assert!(matches!(hub.catch_up(&listener, &[], at(999), false), CatchUp::Live(1_000)));
    hub.deliver(&[act(1_001, 16 << 20)], Millis(1));
    assert_eq!(lock(&hub.index).ring.len(), 1);
    let small: Vec<_> = (1_002..=1_100).map(|number| act(number, 1)).collect();
    hub.deliver(&small, Millis(1));
    assert_eq!(lock(&hub.index).ring.len(), small.len());
    assert_eq!(kept(), lock(&hub.index).ring_bytes);
}

/// Goal: a feed that had nothing to tell for 100 000 entries is told how far the hub has
/// looked, in whatever scope, and one that does not listen yet is not. Method: so many entries
/// that tell nothing, in two parts.
#[tokio::test]
async fn marks() {
    let inboxes = Inboxes::start(Hook::default()).await.unwrap();
    let caps = FeedCaps { connections_max: 8, per_identity_max: 8, buffer: 8 };
    let hub = Hub::new(inboxes, caps, 10);
    let listeners = [Scope::All, Scope::Threads, Scope::Inbox].map(|scope| subscriber(scope, 8));
    let registration = subscriber(Scope::All, 8);
    hub.register(&registration).unwrap();
    for listener in &listeners {
        hub.register(listener).unwrap();
        assert_eq!(hub.join(listener, &[ThreadId(1)]), 10);
    }
    pass(&hub, WATERMARK_ENTRIES - WATERMARK_CHECK_ENTRIES);
    pass(&hub, WATERMARK_ENTRIES + 2 * WATERMARK_CHECK_ENTRIES);
    for listener in &listeners {
        let Ok(Taken::Items(items)) = listener.take(8).await else { panic!("no mark") };
        assert!(matches!(items[..], [FeedItem::Watermark(number)] if number > WATERMARK_ENTRIES));
    }
    registration.close(CloseReason::ShuttingDown);
    assert_eq!(registration.take(8).await.err(), Some(CloseReason::ShuttingDown));
}

/// Goal: the lock is not held for a batch, however many listeners there are. Method: a batch for
/// many listeners; another thread asks meanwhile how far the hub is, and hears of places amid it.
#[tokio::test]
async fn lets_others_in() {
    const ACTS: u64 = 4_000;
    let inboxes = Inboxes::start(Hook::default()).await.unwrap();
    let caps = FeedCaps { connections_max: 200, per_identity_max: 200, buffer: 8_000 };
    let hub = Hub::new(inboxes, caps, 0);
    for _ in 0..200 {
        let listener = subscriber(Scope::All, 8_000);
        hub.register(&listener).unwrap();
        hub.join(&listener, &[]);
    }
    let batch: Vec<_> = (1..=ACTS).map(|number| act(number, 8)).collect();
    let seen = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while seen.last() != Some(&ACTS) {
                seen.insert(hub.delivered());
            }
            seen
        });
        hub.deliver(&batch, Millis(1));
        asking.join().unwrap()
    });
    let amid = seen.iter().filter(|number| (1..ACTS).contains(number)).count();
    assert!(amid > 0, "it was let in only before and after");
}
