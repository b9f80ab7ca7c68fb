//! Faults planted on purpose must be caught. A archive that loses a row is planted in
//! `tests/engine/view/faults.rs`, an acknowledgement before the sync in `failure.rs` and in
//! `tests/engine/journal`, an actor that does not wait for the disk in `tests/planted`.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use parley::clock::SystemClock;
use parley::journal::ReplyPort;
use parley::storage::disk::MemoryDisk;
use parley::threads::actor::{ThreadActor, ThreadRequest};
use parley::threads::deps::Deps;
use parley::work_pool::{PoolOptions, WorkPool};
use parley::yield_points::{Hook, Point};
use parley_kit::acts::{human, mark, model, post};
use parley_kit::engine::{AWAKE, generous};
use parley_kit::{Faults, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::command::Command;
use parley_protocol::refusal::{Reason, Refusal};
use parley_protocol::state::State;
use ractor::Actor;
use tokio::sync::{Semaphore, oneshot};

use super::audit::{Told, audit};
use super::harness::{bodies, hook, hooked, is_whole, open, say, start, writable, write};

/// Goal: two actors for one thread never both get through: what the older one still admits is
/// refused, and the thread stays whole. Method: a second actor, planted beside the router's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_actor() {
    let engine = start(&MemoryDisk::default(), AWAKE).await;
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    say(&engine, &ada, thread, "by the first").await.unwrap();
    let pool = PoolOptions { threads: 1, waiting_max: 16 };
    let deps = Arc::new(Deps {
        journal: Arc::clone(&engine.journal),
        limits: Arc::new(generous()),
        clock: Arc::new(SystemClock),
        reads: Arc::new(WorkPool::start("read", pool).unwrap()),
        hook: Hook::default(),
    });
    let (second, _) = Actor::spawn(None, ThreadActor::new(thread, deps), ()).await.unwrap();
    for body in ["by the second", "by the second again"] {
        let (sender, receiver) = oneshot::channel();
        let request = ThreadRequest {
            principal: ada.clone(),
            command: post(Kind::Inform, Some(thread), body),
            key: None,
            reply: ReplyPort { sender, permit: None },
        };
        second.send_message(request).unwrap();
        receiver.await.unwrap().unwrap();
        let refusal = say(&engine, &ada, thread, "by the first, late").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::StorageUnavailable);
    }
    second.stop_and_wait(None, None).await.unwrap();
    let shown = bodies(&engine, thread);
    assert_eq!(shown, ["a", "by the first", "by the second", "by the second again"]);
    is_whole(&engine, thread);
    engine.stop().await;
}

/// Goal: a refusal that depends on what is not on disk yet waits for it, and is none if the disk
/// fails; one that leaves before is caught by the audit. Method: a thread is closed on a disk that
/// stalls and then fails; somebody speaks in it. While it stalls the audit is shown the refusal
/// that an actor would give which does not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_wait() {
    let disk = FaultyDisk::default();
    // A permit for each request that has been judged.
    let judged = Arc::new(Semaphore::new(0));
    let judging = Arc::clone(&judged);
    let hook = hook(move |point| {
        judging.add_permits(usize::from(matches!(point, Point::AfterAdmit(_))));
    });
    let engine = hooked(&disk, AWAKE, hook).await;
    let (ada, hal, cyd) = (model("ada"), human("hal"), model("cyd"));
    let opening = post(Kind::Ask, None, "a");
    let outcome = write(&engine, &ada, None, opening.clone(), None).await;
    let thread = outcome.as_ref().unwrap().location.unwrap();
    let told = |text: &str, principal, thread, command, outcome| {
        let text = text.to_owned();
        Told { text, principal, thread, command, outcome }
    };
    let first = told("a", ada, None, opening, outcome);
    say(&engine, &hal, thread, "b").await.unwrap();
    let command = post(Kind::Inform, Some(thread), "b");
    let second = told("b", hal.clone(), Some(thread), command, Err(Refusal::internal()));
    disk.stall(true);
    let close = Command::Mark(mark(State::Closed, "enough"));
    let speech = post(Kind::Inform, Some(thread), "c");
    {
        let mut closer = pin!(write(&engine, &hal, Some(thread), close, None));
        let mut speaker = pin!(write(&engine, &cyd, Some(thread), speech.clone(), None));
        // All three are judged: what was said, the closing, what is said of the closed thread.
        tokio::select! {
            biased;
            outcome = &mut closer => panic!("the disk stalls, and yet {outcome:?}"),
            outcome = &mut speaker => panic!("the disk stalls, and yet {outcome:?}"),
            three = judged.acquire_many(3) => drop(three.unwrap()),
        }
        let hasty = Err(Refusal::thread_closed());
        let hasty = told("c", cyd.clone(), Some(thread), speech, hasty);
        let all = [first, second, hasty];
        let found = audit(&engine.journal.view(), &generous(), &BTreeSet::from([thread]), &all);
        let found = found.unwrap_err();
        assert!(found.contains("no state that was stored refuses so"), "{found}");
        disk.set(Faults { sync: 1, lasting: true, ..Faults::default() });
        disk.stall(false);
        for outcome in [closer.await, speaker.await] {
            assert_eq!(outcome.unwrap_err().reason, Reason::StorageUnavailable);
        }
    }
    disk.mend();
    writable(&engine).await;
    is_whole(&engine, thread);
    engine.stop().await;
}
