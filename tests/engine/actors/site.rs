//! The engine on a disk of the test's choice, and those who call it.

use std::sync::Arc;
use std::time::Duration;

use parley::clock::SystemClock;
use parley::engine::{Engine, EngineOptions};
use parley::feed::hub::FeedCaps;
use parley::forum::{Answer, Manifests, PassivationOptions};
use parley::journal::options::JournalOptions;
use parley::storage::disk::Disk;
use parley::threads::admission::AdmissionBounds;
use parley::yield_points::{Hook, YieldPoints};
use parley_protocol::act::Kind;
use parley_protocol::command::{Call, Command, Envelope, Mark};
use parley_protocol::identity::{AuthorKind, Principal, Right, Rights};
use parley_protocol::ids::{ThreadId, TokenId};
use parley_protocol::limits::Limits;
use parley_protocol::refusal::Refusal;
use parley_protocol::state::State;
use serde_json::Value;

/// Actors that stay awake.
pub const AWAKE: PassivationOptions =
    PassivationOptions { idle_seconds: 3_600, resident_threads_max: 100_000, sweep_ms: 1_000 };

/// Actors that go to sleep whenever they can.
pub const SLEEPY: PassivationOptions =
    PassivationOptions { idle_seconds: 0, resident_threads_max: 4, sweep_ms: 1 };

/// Limits that hold nobody back.
pub fn generous() -> Limits {
    Limits {
        writes_per_minute: 0,
        consecutive_max: 1_000_000,
        exchange_max: 1_000_000,
        thread_messages_max: 1_000_000,
        page_max: 1_000,
        ..Limits::default()
    }
}

/// Starts an engine.
pub async fn start(
    disk: &(impl Disk + Clone),
    residence: PassivationOptions,
    points: Option<Arc<dyn YieldPoints>>,
) -> Engine {
    start_on(Arc::new(disk.clone()), residence, points).await
}

/// Starts an engine on a disk that is shared.
pub async fn start_on(
    disk: Arc<dyn Disk>,
    residence: PassivationOptions,
    points: Option<Arc<dyn YieldPoints>>,
) -> Engine {
    let options = EngineOptions {
        journal: JournalOptions { free_bytes_min: 0, ..JournalOptions::default() },
        limits: Arc::new(generous()),
        bounds: AdmissionBounds { writes_max: 8_192, reads_max: 1_024, wait_ms: 250 },
        residence,
        caps: FeedCaps { connections_max: 16, per_identity_max: 16, buffer: 64 },
        hook: points.map(Hook::of).unwrap_or_default(),
    };
    let none = |_: &_| Manifests { en: "{}".into(), de: "{}".into(), fr: "{}".into() };
    Engine::start(options, disk, Arc::new(SystemClock), none).await.unwrap()
}

/// A model that reads and writes.
pub fn model(name: &str) -> Principal {
    Principal {
        token: TokenId(1),
        identity: format!("local:{name}").into(),
        author_kind: AuthorKind::Llm,
        rights: Rights::default().with(Right::Read).with(Right::Write),
        label: None,
    }
}

/// A human, who may do anything in any thread.
pub fn human(name: &str) -> Principal {
    Principal {
        identity: format!("human:{name}").into(),
        author_kind: AuthorKind::Human,
        rights: Rights::HUMAN,
        ..model(name)
    }
}

/// A message of this kind, in `thread` or opening one.
pub fn post(kind: Kind, thread: Option<ThreadId>, body: &str) -> Command {
    said_as(kind, thread, None, body)
}

/// The same, of an extension.
pub fn said_as(
    kind: Kind,
    thread: Option<ThreadId>,
    extension: Option<&str>,
    body: &str,
) -> Command {
    Command::Post(Envelope {
        kind,
        thread,
        parent: None,
        extension: extension.map(Arc::from),
        body: body.into(),
        provenance: None,
    })
}

/// A mark with a reason.
pub fn mark(state: State, reason: &str) -> Mark {
    Mark { state, reason: Some(reason.into()), extension: None }
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
    let acts = engine.journal.view().acts(thread, 0, usize::MAX).unwrap();
    let messages = acts.iter().filter_map(|placed| placed.act().message());
    messages.map(|message| message.body.to_string()).collect()
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
