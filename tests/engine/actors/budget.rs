//! A thread that panics too often refuses for a while; others are served meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley::forum::PassivationOptions;
use parley::storage::disk::MemoryDisk;
use parley::yield_points::Point;
use parley_kit::Observed;
use parley_kit::acts::model;
use parley_kit::engine::AWAKE;
use parley_kit::panics::{self, ASKED};
use parley_protocol::refusal::Reason;

use super::harness::{SLEEPY, bodies, hook, hooked, open, say, start};

/// Restarts within the budget (docs/ARCHITECTURE.md).
const RESTARTS: u64 = 5;

fn restarts(observed: &Observed, actor: &str) -> u64 {
    observed.metric(&format!("parley_actor_restarts_total{{actor=\"{actor}\"}}")) as u64
}

/// Goal: within the budget a thread comes back after each panic, and its callers get an answer;
/// beyond it the thread refuses with `overloaded`, others go on, metric and log say so; after the
/// window it is served again. Method: one thread whose every act panics, then none does.
#[test]
fn budget() {
    panics::quiet();
    let observed = Observed::default();
    observed.runtime(2).block_on(exceed(&observed));
}

async fn exceed(observed: &Observed) {
    // Every act in this thread panics; 0 is none.
    let poisoned = Arc::new(AtomicU64::new(0));
    let poison = Arc::clone(&poisoned);
    let hook = hook(move |point| {
        if let Point::Received(thread) = point {
            assert!(poison.load(Ordering::Relaxed) != thread.0, "{ASKED}");
        }
    });
    // Seconds are counted by the sweeper, so that this window is one of 6 s: far longer than a
    // handful of panics takes on any machine.
    let residence = PassivationOptions { sweep_ms: 100, ..AWAKE };
    let disk = MemoryDisk::default();
    let engine = hooked(&disk, residence, hook).await;
    let ada = model("ada");
    let (sick, well) = (open(&engine, &ada, "a").await, open(&engine, &ada, "b").await);
    say(&engine, &ada, sick, "before").await.unwrap();
    say(&engine, &ada, well, "before").await.unwrap();
    poisoned.store(sick.0, Ordering::Relaxed);
    for count in 0..RESTARTS {
        let refusal = say(&engine, &ada, sick, "never").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::Internal, "panic {count}");
        // A request that comes before the router knows of the panic goes down with it uncounted.
        let removed = async {
            while engine.forum.resident_count() > 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), removed).await.expect("it is removed");
        say(&engine, &ada, well, "all is well").await.unwrap();
    }
    let refusal = say(&engine, &ada, sick, "never").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Overloaded);
    assert!(refusal.retry_after_ms.is_some());
    assert!(restarts(observed, "thread") >= RESTARTS, "the metric tells");
    let said = observed.log();
    let line = format!("failed too often and refuses for a while thread={sick}");
    assert!(said.contains(&line), "the log tells: {said}");
    say(&engine, &ada, well, "all is well").await.unwrap();
    assert_eq!(bodies(&engine, sick), ["a", "before"], "reads go on");
    poisoned.store(0, Ordering::Relaxed);
    let recovers = async {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        while let Err(refusal) = say(&engine, &ada, sick, "after").await {
            assert_eq!(refusal.reason, Reason::Overloaded);
            looks.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), recovers).await.expect("the window ends");
    assert_eq!(bodies(&engine, sick), ["a", "before", "after"]);
    engine.stop().await;
}

/// Goal: whatever actor panics at any message, however often, routers included, every caller has an
/// answer, what is acknowledged is there once, and all threads are served again in the end. Method:
/// every n-th step of all actors and callers panics, for several n, over more threads than may be
/// awake, so that routers wake and put to sleep all the time; then nothing panics any more.
#[test]
fn anybody() {
    panics::quiet();
    let observed = Observed::default();
    observed.runtime(2).block_on(stumble());
    assert!(restarts(&observed, "router") > 0, "routers were among them");
}

async fn stumble() {
    for every in [3, 7, 13, 29] {
        // Each `every`-th time that a task reaches a point, it panics: in a caller, in a router
        // that has a request in its hands, or in an actor before, between or after its work.
        let reached = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&reached);
        let stumble = hook(move |_| {
            let nth = count.fetch_add(1, Ordering::Relaxed) + 1;
            assert!(!nth.is_multiple_of(every), "{ASKED}");
        });
        let disk = MemoryDisk::default();
        let engine = Arc::new(hooked(&disk, SLEEPY, stumble).await);
        let ada = model("ada");
        let mut threads = Vec::new();
        for n in 0..40 {
            threads.push(open(&engine, &ada, &format!("thread {n}")).await);
        }
        let mut told: Vec<Vec<String>> = vec![Vec::new(); threads.len()];
        for round in 0..10 {
            for (thread, told) in threads.iter().zip(&mut told) {
                let body = format!("round {round}");
                let (engine, ada, thread) = (Arc::clone(&engine), ada.clone(), *thread);
                let said = body.clone();
                // A caller that panics is a request of the gateway, which answers for it.
                let outcome =
                    tokio::spawn(async move { say(&engine, &ada, thread, &said).await }).await;
                match outcome {
                    Ok(Ok(_)) => told.push(body),
                    Ok(Err(refusal)) => {
                        let known = [Reason::Internal, Reason::Overloaded];
                        assert!(known.contains(&refusal.reason), "{refusal:?}");
                    }
                    Err(error) => assert!(error.is_panic()),
                }
            }
        }
        for (thread, told) in threads.iter().zip(&told) {
            let there = bodies(&engine, *thread);
            for body in told {
                let count = there.iter().filter(|it| *it == body).count();
                assert_eq!(count, 1, "every {every}: {thread} {body}");
            }
        }
        let fallen = reached.load(Ordering::Relaxed) / every;
        println!("every {every}: {fallen} panics");
        assert!(fallen > 10);
        Arc::into_inner(engine).unwrap().stop().await;
        let engine = start(&disk, SLEEPY).await;
        for thread in threads {
            say(&engine, &ada, thread, "after").await.unwrap();
        }
        engine.stop().await;
    }
}
