//! A thread that panics again and again rests, and nobody else feels it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley::journal::disk::MemoryDisk;
use parley::router::Residence;
use parley::telemetry;
use parley::thread::Interference;
use parley_protocol::command::Command;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Reason;

use crate::quiet_panics;
use crate::site::{AWAKE, bodies, model, open, say, start};

/// Restarts within the budget (docs/ARCHITECTURE.md).
const RESTARTS: u64 = 5;

/// Every act in one thread panics; 0 is none.
#[derive(Default)]
struct Poisoned(AtomicU64);

impl Interference for Poisoned {
    fn before_act(&self, thread: ThreadId, _command: &Command) {
        assert!(self.0.load(Ordering::Relaxed) != thread.0, "a panic, as the test asked");
    }
}

fn restarts() -> u64 {
    let text = telemetry::metrics().render();
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with("parley_actor_restarts_total{actor=\"thread\"}"));
    line.and_then(|line| line.rsplit(' ').next()).map_or(0, |count| count.parse().unwrap())
}

/// Goal: within the budget a thread comes back after each panic, and its callers get an answer;
/// beyond it the thread refuses with `overloaded`, others go on, the metric has risen; after the
/// window it is served again. Method: one thread whose every act panics, then none does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget() {
    quiet_panics();
    telemetry::metrics();
    let poisoned = Arc::new(Poisoned::default());
    // Seconds are counted by the sweeper, so that this window is one of ten times 60 ms.
    let residence = Residence { sweep_ms: 10, ..AWAKE };
    let disk = MemoryDisk::default();
    let engine = start(&disk, residence, Some(Arc::clone(&poisoned) as _)).await;
    let ada = model("ada");
    let (sick, well) = (open(&engine, &ada, "a").await, open(&engine, &ada, "b").await);
    say(&engine, &ada, sick, "before").await.unwrap();
    let before = restarts();
    poisoned.0.store(sick.0, Ordering::Relaxed);
    for count in 0..RESTARTS {
        let refusal = say(&engine, &ada, sick, "never").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::Internal, "panic {count}");
        say(&engine, &ada, well, "all is well").await.unwrap();
    }
    let refusal = say(&engine, &ada, sick, "never").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Overloaded);
    assert!(refusal.retry_after_ms.is_some());
    assert!(restarts() >= before + RESTARTS, "the metric tells");
    say(&engine, &ada, well, "all is well").await.unwrap();
    assert_eq!(bodies(&engine, sick), ["a", "before"], "reads go on");
    poisoned.0.store(0, Ordering::Relaxed);
    let recovers = async {
        while let Err(refusal) = say(&engine, &ada, sick, "after").await {
            assert_eq!(refusal.reason, Reason::Overloaded);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), recovers).await.expect("the window ends");
    assert_eq!(bodies(&engine, sick), ["a", "before", "after"]);
    engine.stop().await;
}
