//! Faults planted on purpose must be caught. A archive that loses a row is planted in
//! `tests/engine/view/faults.rs`, an acknowledgement before the sync in `failure.rs` and in
//! `tests/engine/journal`, an actor that does not wait for the disk in `tests/planted`.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parley::clock::SystemClock;
use parley::journal::ReplyPort;
use parley::storage::disk::MemoryDisk;
use parley::threads::actor::{ThreadActor, ThreadRequest};
use parley::threads::deps::Deps;
use parley::work_pool::{PoolOptions, WorkPool};
use parley::yield_points::{Hook, Point, YieldPoints};
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
use super::harness::{bodies, is_whole, open, say, start, writable, write};

/// Goal: two actors for one thread never both get through: what the older one still admits is
/// refused, and the thread stays whole. Method: a second actor, planted beside the router's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_actor() {
    let engine = start(&MemoryDisk::default(), AWAKE, None).await;
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

/// Counts the requests that have been judged.
struct Watch(Semaphore);

impl YieldPoints for Watch {
    fn reach(&self, point: Point) -> BoxFuture<'_, ()> {
        if matches!(point, Point::AfterAdmit(_)) {
            self.0.add_permits(1);
        }
        ready(()).boxed()
    }
}

/// Goal: a refusal that depends on what is not on disk yet waits for it, and is none if the disk
/// fails; one that leaves before is caught by the audit. Method: a thread is closed on a disk that
/// stalls and then fails; somebody speaks in it. While it stalls the audit is shown the refusal
/// that an actor would give which does not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_wait() {
    let disk = FaultyDisk::default();
    let watch = Arc::new(Watch(Semaphore::new(0)));
    let engine = start(&disk, AWAKE, Some(Arc::clone(&watch) as _)).await;
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
            judged = watch.0.acquire_many(3) => drop(judged.unwrap()),
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
