//! Held inbox reads: what each costs where there are many, and how many an identity may have.

use std::sync::Arc;

use parley::feed::inbox::Inboxes;
use parley::feed::inbox_listeners::InboxListener;
use parley::storage::disk::MemoryDisk;
use parley::yield_points::Hook;
use parley_kit::acts::model;
use parley_kit::engine::AWAKE;
use parley_protocol::command::{Call, InboxQuery, PageQuery};
use parley_protocol::identity::Participant;
use parley_protocol::refusal::Reason;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::harness::start;

/// Reads of one identity that may be held: a quarter of the share of identities, which is three
/// quarters of what the forum holds.
const HELD_OF_IDENTITY: usize = 16_384 * 3 / 4 / 4;

/// Nanoseconds that this thread has run so far, those that it waited for a processor left out.
fn run_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// `count` reads of one participant come, look whether they are listed, and go, so many times; the
/// nanoseconds that it takes.
async fn passing(count: usize, times: usize) -> u64 {
    let participant = Participant { identity: "local:ada".into(), extension: None };
    let held = || InboxListener::Held { notify: Arc::new(Notify::new()), anyone: true };
    let held: Vec<_> = (0..count).map(|_| held()).collect();
    let mut took = 0;
    for _ in 0..times {
        let inboxes = Inboxes::start(Hook::default()).await.unwrap();
        let begun = run_nanoseconds();
        for listener in &held {
            inboxes.listen(&participant, listener.clone());
        }
        for listener in &held {
            inboxes.renew(&participant, listener);
        }
        for listener in held.iter().rev() {
            inboxes.forget(&participant, listener);
        }
        took += run_nanoseconds() - begun;
        assert_eq!(inboxes.count(), 0);
        inboxes.stop();
    }
    took
}

/// Goal: under the lock of the registry a held read costs the same however many there are. Method:
/// 1 500 reads eight times beside 12 000 once, which is eight times as much where each read looks
/// through all; the least of three measurements each.
#[tokio::test]
async fn cost_of_each() {
    let (mut few, mut many) = (u64::MAX, u64::MAX);
    for _ in 0..3 {
        few = few.min(passing(1_500, 8).await);
        many = many.min(passing(12_000, 1).await);
    }
    assert!(many < 3 * few, "{few} ns for 8 times 1 500, {many} ns for 12 000");
}

/// Goal: an identity has a share of the reads that are held, whatever its extensions; beyond it is
/// refused, others are not, and a place that gets free is given again. Method: reads up to the
/// share, one more, one of another, and one after the first have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn share_of_an_identity() {
    let engine = start(&MemoryDisk::default(), AWAKE).await;
    let (ada, bob) = (model("ada"), model("bob"));
    let inbox = |extension: usize, wait_seconds| {
        Call::ReadInbox(InboxQuery {
            extension: Some(format!("w-{extension}").into()),
            page: PageQuery::default(),
            wait_seconds,
            anyone: true,
        })
    };
    let mut held = JoinSet::new();
    for number in 0..HELD_OF_IDENTITY {
        let (forum, caller, call) = (engine.forum.clone(), ada.clone(), inbox(number, 25));
        held.spawn(async move { forum.perform(&caller, call, None).await });
        if number % 32 == 31 {
            // Reads of one caller are served in their order: those before have looked.
            engine.forum.perform(&ada, inbox(0, 0), None).await.unwrap();
        }
    }
    while engine.forum.held_count() < HELD_OF_IDENTITY {
        tokio::task::yield_now().await;
    }
    let refusal = engine.forum.perform(&ada, inbox(0, 25), None).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Overloaded);
    assert!(refusal.detail.contains("wait_seconds"), "{refusal}");
    engine.forum.perform(&ada, inbox(0, 0), None).await.unwrap();
    let forum = engine.forum.clone();
    let other = tokio::spawn(async move { forum.perform(&bob, inbox(0, 25), None).await });
    while engine.forum.held_count() < HELD_OF_IDENTITY + 1 {
        tokio::task::yield_now().await;
    }
    held.shutdown().await;
    let forum = engine.forum.clone();
    let again = tokio::spawn(async move { forum.perform(&ada, inbox(0, 25), None).await });
    while engine.forum.held_count() < 2 {
        tokio::task::yield_now().await;
    }
    engine.stop().await;
    assert!(other.await.unwrap().is_ok() && again.await.unwrap().is_ok());
}
