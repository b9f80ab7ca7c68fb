//! Faults planted on purpose must be caught. A fold that loses a row is planted in
//! `tests/view/faults.rs`, an acknowledgement before the sync in `failure.rs` and in
//! `tests/journal`.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use parley::clock::SystemClock;
use parley::journal::ReplyPort;
use parley::journal::disk::MemoryDisk;
use parley::threads::actor::{Deps, Interference, ThreadActor, ThreadRequest};
use parley_kit::disk::{Faults, FaultyDisk};
use parley_protocol::act::Kind;
use parley_protocol::command::Command;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Reason, Refusal};
use parley_protocol::state::State;
use ractor::Actor;
use tokio::sync::{Semaphore, oneshot};

use super::shadow::{Told, audit};
use super::site::{
    AWAKE, Outcome, bodies, generous, human, mark, model, open, post, say, start, writable, write,
};

/// Goal: two actors for one thread never both get through: what the older one still admits is
/// refused, and the thread stays whole. Method: a second actor, planted beside the router's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_actor() {
    let engine = start(&MemoryDisk::default(), AWAKE, None).await;
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    say(&engine, &ada, thread, "by the first").await.unwrap();
    let deps = Arc::new(Deps {
        journal: Arc::clone(&engine.journal),
        limits: Arc::new(generous()),
        clock: Arc::new(SystemClock),
        interference: None,
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
    let view = engine.journal.view();
    let head = view.summary(thread).unwrap().unwrap();
    assert_eq!(*head, *view.thread(thread).unwrap().unwrap().summary());
    engine.stop().await;
}

/// Says when requests have been judged; may be hasty, and not wait for the disk.
struct Watch {
    hasty: bool,
    judged: Semaphore,
}

impl Interference for Watch {
    fn after_act(&self, _thread: ThreadId) {
        self.judged.add_permits(1);
    }

    fn skips_barrier(&self) -> bool {
        self.hasty
    }
}

/// What a speaker is told of a thread that is being closed, the closing stuck on its way to the
/// disk, and what an audit finds of it.
struct Closing {
    closer: Option<Reason>,
    speaker: Option<Reason>,
    found: Result<(), String>,
}

async fn closing(hasty: bool) -> Closing {
    let (disk, judged) = (FaultyDisk::default(), Semaphore::new(0));
    let watch = Arc::new(Watch { hasty, judged });
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
    let second = Err(Refusal::internal());
    let second = told("b", hal.clone(), Some(thread), command, second);
    disk.stall(true);
    let close = Command::Mark(mark(State::Closed, "enough"));
    let speech = post(Kind::Inform, Some(thread), "c");
    let closing = {
        let mut closer = pin!(write(&engine, &hal, Some(thread), close, None));
        let mut speaker = pin!(write(&engine, &cyd, Some(thread), speech.clone(), None));
        // All three are judged: what was said, the closing, what is said of the closed thread.
        let early = tokio::select! {
            biased;
            outcome = &mut closer => panic!("the disk stalls, and yet {outcome:?}"),
            outcome = &mut speaker => Some(outcome),
            _ = watch.judged.acquire_many(3) => None,
        };
        let mut all = vec![first, second];
        let found = match &early {
            Some(outcome) => {
                all.push(told("c", cyd.clone(), Some(thread), speech, outcome.clone()));
                audit(&engine.journal.view(), &generous(), &BTreeSet::from([thread]), &all)
            }
            None => Ok(()),
        };
        disk.set(Faults { sync: 1, lasting: true, ..Faults::default() });
        disk.stall(false);
        let reason = |outcome: Outcome| outcome.err().map(|refusal| refusal.reason);
        let closer = reason(closer.await);
        let speaker = reason(match early {
            Some(outcome) => outcome,
            None => speaker.await,
        });
        Closing { closer, speaker, found }
    };
    disk.mend();
    writable(&engine).await;
    let view = engine.journal.view();
    let head = view.summary(thread).unwrap().unwrap();
    assert_eq!(*head, *view.thread(thread).unwrap().unwrap().summary());
    engine.stop().await;
    closing
}

/// Goal: a refusal that depends on what is not on disk yet waits for it, and is none if the disk
/// fails. Method: a thread is closed on a disk that stalls and then fails; somebody speaks in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_wait() {
    let closing = closing(false).await;
    assert_eq!(closing.closer, Some(Reason::StorageUnavailable));
    assert_eq!(closing.speaker, Some(Reason::StorageUnavailable));
}

/// Goal: a refusal computed on uncommitted state is caught. Method: the same with an actor that
/// answers at once; what it tells is refused by no state that was stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hasty_refusal() {
    let closing = closing(true).await;
    assert_eq!(closing.closer, Some(Reason::StorageUnavailable));
    assert_eq!(closing.speaker, Some(Reason::ThreadClosed));
    let found = closing.found.unwrap_err();
    assert!(found.contains("no state that was stored refuses so"), "{found}");
}
