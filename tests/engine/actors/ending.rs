//! Parts that end, and stops that nothing may hold up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parley::engine::{EngineOptions, StopError};
use parley::feed::listener::Feed;
use parley::feed::subscriber::Subscription;
use parley::journal::options::JournalOptions;
use parley::yield_points::{Hook, Point, YieldPoints};
use parley_kit::acts::model;
use parley_kit::engine::{self, AWAKE};
use parley_kit::panics::{self, ASKED};
use parley_kit::{Faults, FaultyDisk};
use parley_protocol::feed::Scope;
use parley_protocol::ids::TokenId;
use parley_protocol::refusal::Reason;
use parley_protocol::wire::frame::FrameType;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::harness::{bodies, hooked, open, say, start};

/// More than any step takes on any machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What happens before each batch reaches the hub.
#[derive(Clone, Copy, PartialEq)]
enum Publishing {
    GoesOn,
    Waits,
    Panics,
}

struct Gate(watch::Sender<Publishing>);

impl YieldPoints for Gate {
    fn reach(&self, point: Point) -> BoxFuture<'_, ()> {
        async move {
            if point == Point::BeforePublish {
                let mut gate = self.0.subscribe();
                let now = *gate.wait_for(|now| *now != Publishing::Waits).await.unwrap();
                assert!(now == Publishing::GoesOn, "{ASKED}");
            }
        }
        .boxed()
    }
}

fn gate() -> Arc<Gate> {
    Arc::new(Gate(watch::Sender::new(Publishing::GoesOn)))
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

/// Goal: a panic of the writer ends the engine: it is told, the caller is refused, and a stop ends
/// and says so. Method: the disk panics in the writer's hands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_writer_panics() {
    panics::quiet();
    let disk = FaultyDisk::default();
    let journal = JournalOptions { free_bytes_min: 1, ..JournalOptions::default() };
    let options = EngineOptions { journal, ..engine::options() };
    let engine = engine::start(options, Arc::new(disk.clone())).await;
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    let ended = tokio::spawn(engine.part_ended());
    disk.set(Faults { free_bytes_panic: true, ..Faults::default() });
    let mut stored = vec!["a"];
    let refusal = loop {
        // The free space is not asked for before each write.
        match say(&engine, &ada, thread, "more").await {
            Ok(_) => stored.push("more"),
            Err(refusal) => break refusal,
        }
    };
    assert!(matches!(refusal.reason, Reason::Internal | Reason::StorageUnavailable));
    let end = timeout(PATIENCE, ended).await.expect("it is told").unwrap();
    assert_eq!((end.part, &*end.why), ("the journal's writer", ASKED));
    disk.mend();
    let stopped = timeout(PATIENCE, engine.stop_by(soon())).await.expect("it stops");
    assert_eq!(stopped, Err(StopError::Part(end)));
    let engine = start(&disk, AWAKE).await;
    assert_eq!(bodies(&engine, thread), stored);
    engine.stop().await;
}

/// Goal: a panic of the hub's task ends the engine, and holds up no writer meanwhile. Method: the
/// task panics before a batch; then as many batches as would fill its queue several times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_panics() {
    panics::quiet();
    let gate = gate();
    let engine = hooked(&FaultyDisk::default(), AWAKE, Hook::of(Arc::clone(&gate) as _)).await;
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    gate.0.send_replace(Publishing::Panics);
    let writes = async {
        for _ in 0..200 {
            say(&engine, &ada, thread, "on").await.unwrap();
        }
    };
    timeout(PATIENCE, writes).await.expect("writing goes on");
    let end = timeout(PATIENCE, engine.part_ended()).await.expect("it is told");
    assert_eq!((end.part, &*end.why), ("the feeds' hub", ASKED));
    let stopped = timeout(PATIENCE, engine.stop_by(soon())).await.expect("it stops");
    assert_eq!(stopped, Err(StopError::Part(end)));
}

/// Goal: no writer waits for a hub that is late, and its feeds get every act all the same, once and
/// in order. Method: the hub is held while more batches are committed than its queue holds; feeds
/// of two scopes that were live before read on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_is_late() {
    let gate = gate();
    let engine = hooked(&FaultyDisk::default(), AWAKE, Hook::of(Arc::clone(&gate) as _)).await;
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    let feed = async |scope| {
        let subscription = Subscription {
            participant: model("eve").participant(None),
            scope,
            anyone: true,
            token: TokenId(1),
            expires_at: None,
        };
        Feed::open(Arc::clone(&engine.feed_deps), subscription, vec![thread], None).await.unwrap()
    };
    let feeds = [feed(Scope::All).await, feed(Scope::Threads).await];
    gate.0.send_replace(Publishing::Waits);
    let writes = async {
        for n in 0..200 {
            say(&engine, &ada, thread, &format!("act {n}.")).await.unwrap();
        }
    };
    timeout(PATIENCE, writes).await.expect("no writer waits for the hub");
    gate.0.send_replace(Publishing::GoesOn);
    for mut feed in feeds {
        let mut heard = 0;
        while heard < 200 {
            let frames = timeout(PATIENCE, feed.next()).await.expect("a frame comes");
            for frame in frames.expect("the feed goes on") {
                // The opening may come before: the feed begins with what is published.
                if frame.kind == FrameType::Message && !frame.text.contains("\"body\":\"a\"") {
                    assert!(frame.text.contains(&format!("act {heard}.")), "{}", frame.text);
                    heard += 1;
                }
            }
        }
    }
    engine.stop().await;
}

/// Goal: a store that panics while it closes, as a damaged log may, holds up no stop. Method: every
/// write to the log panics once all is acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_panics_when_closed() {
    panics::quiet();
    let disk = FaultyDisk::default();
    let engine = start(&disk, AWAKE).await;
    let thread = open(&engine, &model("ada"), "a").await;
    disk.watch(Some(Arc::new(|name, op| {
        assert!(!(name.starts_with("log-") && op.is_write()), "{ASKED}");
        true
    })));
    let stopped = timeout(PATIENCE, engine.stop_by(soon())).await;
    assert_eq!(stopped, Ok(Ok(())));
    disk.watch(None);
    let engine = start(&disk, AWAKE).await;
    assert_eq!(bodies(&engine, thread), ["a"]);
    engine.stop().await;
}

/// Goal: a disk that holds a sync for ever holds up no stop, which says that an accepted write was
/// not answered. Method: a write whose sync hangs, then a stop that may take 300 ms.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disk_hangs() {
    let disk = FaultyDisk::default();
    let engine = Arc::new(start(&disk, AWAKE).await);
    let ada = model("ada");
    let thread = open(&engine, &ada, "a").await;
    disk.stall(true);
    let writing = Arc::clone(&engine);
    let waiting = tokio::spawn(async move { say(&writing, &ada, thread, "waits").await });
    let stalled = disk.clone();
    tokio::task::spawn_blocking(move || stalled.wait_for_stall()).await.unwrap();
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    let engine = Arc::into_inner(engine).expect("nobody else has it");
    let deadline = Instant::now() + Duration::from_millis(300);
    let stopped = timeout(PATIENCE, engine.stop_by(deadline)).await.expect("it stops");
    assert_eq!(stopped, Err(StopError::Unanswered));
    disk.stall(false);
}
