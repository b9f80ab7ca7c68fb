//! The engine on a disk of the test's choice, and those who call it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parley::engine::{Engine, EngineOptions};
use parley::forum::{Answer, PassivationOptions};
use parley::storage::disk::Disk;
use parley::yield_points::{Hook, Point, YieldPoints};
use parley_kit::acts::post;
use parley_kit::engine;
use parley_protocol::act::Kind;
use parley_protocol::command::{Call, Command};
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Refusal;
use serde_json::Value;

/// Actors that go to sleep whenever they can.
pub const SLEEPY: PassivationOptions =
    PassivationOptions { idle_seconds: 0, resident_threads_max: 4, sweep_ms: 1 };

/// Starts an engine that does `hook` at its points.
pub async fn hooked(
    disk: &(impl Disk + Clone),
    residence: PassivationOptions,
    hook: Hook,
) -> Engine {
    let options = EngineOptions { residence, hook, ..engine::options() };
    engine::start(options, Arc::new(disk.clone())).await
}

/// Starts an engine that nothing holds up.
pub async fn start(disk: &(impl Disk + Clone), residence: PassivationOptions) -> Engine {
    hooked(disk, residence, Hook::default()).await
}

/// What a test does at the points where nothing waits.
struct AtPoints<F>(F);

impl<F: Fn(Point) + Send + Sync + 'static> YieldPoints for AtPoints<F> {
    fn reach(&self, point: Point) -> BoxFuture<'_, ()> {
        (self.0)(point);
        ready(()).boxed()
    }
}

/// The hook that calls `reached` at each point.
pub fn hook(reached: impl Fn(Point) + Send + Sync + 'static) -> Hook {
    Hook::of(Arc::new(AtPoints(reached)))
}

/// What a call is answered with.
pub type Outcome = Result<Answer, Refusal>;

/// Performs a write.
pub async fn write(
    engine: &Engine,
    principal: &Principal,
    thread: Option<ThreadId>,
    command: Command,
    key: Option<&str>,
) -> Outcome {
    engine.forum.perform(principal, Call::Write(thread, command), key).await
}

/// Says something in a thread.
pub async fn say(engine: &Engine, principal: &Principal, thread: ThreadId, body: &str) -> Outcome {
    write(engine, principal, Some(thread), post(Kind::Inform, Some(thread), body), None).await
}

/// Opens a thread.
pub async fn open(engine: &Engine, principal: &Principal, body: &str) -> ThreadId {
    let answer = write(engine, principal, None, post(Kind::Ask, None, body), None).await;
    answer.unwrap().location.unwrap()
}

/// The body of an answer.
pub fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

/// The bodies of the messages that a thread shows, in order.
pub fn bodies(engine: &Engine, thread: ThreadId) -> Vec<String> {
    let view = engine.journal.view();
    let acts = view.acts(thread, 0).unwrap().map(Result::unwrap);
    acts.filter_map(|placed| Some(placed.act().message()?.body.to_string())).collect()
}

/// Holds that the head of a thread is that of the whole thread.
pub fn is_whole(engine: &Engine, thread: ThreadId) {
    let view = engine.journal.view();
    let head = view.summary(thread).unwrap().unwrap();
    assert_eq!(*head, *view.thread(thread).unwrap().unwrap().summary());
}

/// Waits until the store takes writes again.
pub async fn writable(engine: &Engine) {
    let resumes = async {
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        while engine.forum.ready().is_err() {
            looks.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), resumes).await.expect("it resumes");
}
