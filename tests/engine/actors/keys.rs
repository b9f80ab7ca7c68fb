//! Idempotency keys under concurrency, and clients that go away.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use parley::storage::disk::MemoryDisk;
use parley_kit::acts::{human, mark, model, post};
use parley_kit::engine::AWAKE;
use parley_protocol::act::Kind;
use parley_protocol::command::Command;
use parley_protocol::refusal::Reason;
use parley_protocol::state::State;
use tokio::task::JoinSet;

use super::harness::{SLEEPY, bodies, json, open, say, start, write};

/// Goal: calls with one key at once are one act, all told the same; with other content they are
/// refused. Method: several at once, many times, while actors sleep.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn same_key_at_once() {
    let engine = Arc::new(start(&MemoryDisk::default(), SLEEPY).await);
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    for round in 0..60 {
        let key = format!("key-{round}");
        let opens = round % 3 == 0;
        let calls = (0..4).map(|_| {
            let (engine, ada, key) = (Arc::clone(&engine), ada.clone(), key.clone());
            async move {
                let (thread, kind) =
                    if opens { (None, Kind::Ask) } else { (Some(thread), Kind::Inform) };
                write(&engine, &ada, thread, post(kind, thread, &key), Some(&key)).await.unwrap()
            }
        });
        let answers = calls.collect::<JoinSet<_>>().join_all().await;
        assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1, "{key}");
        let message = |answer| json(answer)["message"].clone();
        assert!(answers.iter().all(|one| message(one) == message(&answers[0])), "{key}");
        let other = post(Kind::Inform, Some(thread), "other");
        let other = write(&engine, &ada, Some(thread), other, Some(&key)).await;
        assert_eq!(other.unwrap_err().reason, Reason::IdempotencyConflict);
    }
    assert_eq!(bodies(&engine, thread).len(), 1 + 40);
    Arc::into_inner(engine).unwrap().stop().await;
}

/// Goal: a refusal and a mark that changes nothing are remembered like an act. Method: each twice,
/// the thread having changed between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remembered() {
    let engine = start(&MemoryDisk::default(), AWAKE).await;
    let (ada, hal) = (model("ada"), human("hal"));
    let thread = open(&engine, &ada, "a").await;
    let close = || Command::Mark(mark(State::Closed, "enough"));
    write(&engine, &hal, Some(thread), close(), None).await.unwrap();
    let speech = || post(Kind::Inform, Some(thread), "b");
    let first = write(&engine, &ada, Some(thread), speech(), Some("k")).await.unwrap_err();
    assert_eq!(first.reason, Reason::ThreadClosed);
    let reopen = || Command::Reopen(mark(State::Open, "again"));
    write(&engine, &ada, Some(thread), reopen(), None).await.unwrap();
    let again = write(&engine, &ada, Some(thread), speech(), Some("k")).await.unwrap();
    assert!(again.replayed && again.status == 409, "{again:?}");
    assert_eq!(json(&again)["reason"], "thread_closed");
    let unchanged = || Command::Mark(mark(State::Open, "as it is"));
    let first = write(&engine, &ada, Some(thread), unchanged(), Some("m")).await.unwrap();
    assert!(json(&first)["event"].is_null() && !first.replayed);
    write(&engine, &hal, Some(thread), close(), None).await.unwrap();
    let again = write(&engine, &ada, Some(thread), unchanged(), Some("m")).await.unwrap();
    assert!(json(&again)["event"].is_null() && again.replayed);
    engine.stop().await;
}

/// Goal: a client that goes away leaves no double: with its key the act is there once, without
/// one once at most, and its permit is free again. Method: calls dropped after a few polls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gone_away() {
    let engine = start(&MemoryDisk::default(), SLEEPY).await;
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    let mut words = Vec::new();
    for round in 0..60_usize {
        let word = format!("keyed-{round}");
        for polls in [round % 4, 1] {
            let command = post(Kind::Inform, Some(thread), &word);
            poll(write(&engine, &ada, Some(thread), command, Some(&word)), polls).await;
        }
        poll(say(&engine, &ada, thread, &format!("bare-{round}")), round % 4).await;
        let command = post(Kind::Inform, Some(thread), &word);
        write(&engine, &ada, Some(thread), command, Some(&word)).await.unwrap();
        words.push(word);
    }
    say(&engine, &ada, thread, "last").await.unwrap();
    let mut found = bodies(&engine, thread);
    let count = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), count, "none twice");
    assert!(words.iter().all(|word| found.contains(word)));
    engine.stop().await;
}

/// Polls so many times at most, then drops.
async fn poll<T>(future: impl Future<Output = T>, polls: usize) {
    let mut future = pin!(future);
    for _ in 0..polls {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}
