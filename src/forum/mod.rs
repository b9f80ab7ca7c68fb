//! The one way to the forum: maps a call to the view or to a thread's mailbox.
//!
//! A call that comes here is well-formed and its token holds the rights that the operation table
//! names. What is left of the order of checks (parley.md §6) happens here: the right to seal, rate
//! and overload, a known idempotency key; then the thread's actor goes on.

mod answer;
mod artifacts;
mod backup;
mod export;
mod inbox;
mod read;
mod write;

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::Call;
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use ractor::{Actor, ActorRef};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::feed::inbox::Inboxes;
use crate::metric;
use crate::threads::active_threads::{ActiveThreads, SHARDS, shard_of};
use crate::threads::admission::{Admission, AdmissionBounds};
use crate::threads::deps::Deps;
use crate::threads::in_flight_keys::InFlightKeys;
use crate::threads::router::{Route, Router};

pub use answer::Answer;
pub use backup::BackupStream;

/// When threads leave memory (operations.md §2, `runtime.*`).
#[derive(Clone, Copy, Debug)]
pub struct PassivationOptions {
    /// Seconds without a request after which a thread's actor goes to sleep.
    pub idle_seconds: u64,
    /// Actors that may be awake; beyond, those used longest ago go to sleep.
    pub resident_threads_max: usize,
    /// Milliseconds between two looks at who is idle: one second but in tests.
    pub sweep_ms: u64,
}

/// The forum, as gateways see it. Cheap to clone.
#[derive(Clone)]
pub struct Forum {
    inner: Arc<ForumInner>,
}

struct ForumInner {
    deps: Arc<Deps>,
    admission: Admission,
    active_threads: Arc<ActiveThreads>,
    routers: Vec<ActorRef<Route>>,
    in_flight_keys: Arc<InFlightKeys>,
    /// The artifacts that are being published.
    in_flight_artifacts: Arc<InFlightKeys>,
    /// Held alone by what is judged by its closure.
    closure_gate: Arc<tokio::sync::RwLock<()>>,
    /// The copies that may be taken now.
    backups: Arc<Semaphore>,
    inboxes: Inboxes,
    manifest: Manifests,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

/// The manifest in its three languages, as JSON.
pub struct Manifests {
    /// English.
    pub en: bytes::Bytes,
    /// German.
    pub de: bytes::Bytes,
    /// French.
    pub fr: bytes::Bytes,
}

impl Forum {
    /// Starts the routers and the sweeper.
    ///
    /// # Errors
    /// If an actor does not start.
    pub async fn start(
        deps: Arc<Deps>,
        bounds: AdmissionBounds,
        residence: PassivationOptions,
        manifest: Manifests,
        inboxes: Inboxes,
    ) -> std::result::Result<Self, ractor::SpawnErr> {
        let active_threads = Arc::new(ActiveThreads::default());
        let mut routers = Vec::with_capacity(SHARDS);
        for _ in 0..SHARDS {
            let args = (Arc::clone(&active_threads), Arc::clone(&deps));
            routers.push(Actor::spawn(None, Router, args).await?.0);
        }
        let admission = Admission::new(bounds, Arc::clone(&deps.limits));
        let forum = Self {
            inner: Arc::new(ForumInner {
                deps,
                admission,
                active_threads,
                routers,
                in_flight_keys: Arc::default(),
                in_flight_artifacts: Arc::default(),
                closure_gate: Arc::default(),
                backups: Arc::new(Semaphore::new(backup::BACKUPS_MAX)),
                inboxes,
                manifest,
                stopping: CancellationToken::new(),
                tasks: TaskTracker::new(),
            }),
        };
        let sweeper = forum.clone();
        forum.inner.tasks.spawn(async move { sweeper.sweep(residence).await });
        Ok(forum)
    }

    /// Performs one call of `principal`, under an idempotency key of its own if it gave one.
    ///
    /// # Errors
    /// Whatever refuses the call; nothing has changed then, but where the reason is `internal` or
    /// `storage_unavailable`, which leave it open.
    pub async fn perform(
        &self,
        principal: &Principal,
        call: Call,
        key: Option<&str>,
    ) -> Result<Answer> {
        match call {
            Call::Write(thread, command) => self.write(principal, thread, command, key).await,
            Call::PublishArtifact(bytes) => Box::pin(self.publish(principal, bytes, key)).await,
            Call::ReadInbox(query) => Box::pin(self.read_inbox(principal, query)).await,
            Call::GetManifest(language) => Ok(Answer::ok(self.manifest(language))),
            Call::Read(read) => self.read(read).await,
        }
    }

    /// The permits of the door, for readings that have no operation of their own (the feed).
    pub fn admission(&self) -> &Admission {
        &self.inner.admission
    }

    /// How many threads are awake.
    pub fn resident_count(&self) -> usize {
        self.inner.active_threads.count()
    }

    /// Whether it takes writes now (operations.md §4, `/readyz`).
    ///
    /// # Errors
    /// Why not.
    pub fn ready(&self) -> Result<()> {
        if self.inner.stopping.is_cancelled() {
            return Err(Refusal::shutting_down());
        }
        self.inner.deps.journal.refuses().map_or(Ok(()), Err)
    }

    /// The text of a place in a list that is not the forum's own (the tokens).
    pub fn list_cursor(&self, kind: &str, place: u64) -> String {
        self.inner.deps.journal.cursors().list_text(kind, place)
    }

    /// The place of such a text.
    ///
    /// # Errors
    /// 400 `invalid_cursor`.
    pub fn read_list_cursor(&self, kind: &str, text: &str) -> Result<u64> {
        self.inner.deps.journal.cursors().read_list(kind, text)
    }

    /// Ends held inbox reads at once and refuses new work of its own; the first step of a stop.
    pub fn release_held(&self) {
        self.inner.stopping.cancel();
    }

    /// Ends held inbox reads, lets what is under way end, and stops the actors.
    pub async fn stop(&self) {
        self.inner.stopping.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        for router in &self.inner.routers {
            let _ = router.stop_and_wait(None, None).await;
        }
    }

    async fn sweep(&self, residence: PassivationOptions) {
        let mut looks = tokio::time::interval(Duration::from_millis(residence.sweep_ms));
        loop {
            tokio::select! {
                biased;
                () = self.inner.stopping.cancelled() => return,
                _ = looks.tick() => {}
            }
            let active_threads = &self.inner.active_threads;
            active_threads.advance();
            let idle = active_threads.idle(residence.idle_seconds, residence.resident_threads_max);
            for actor in idle {
                // Closes its mailbox: what is in it is answered first, what comes after is routed
                // to the successor.
                let _ = actor.drain();
            }
            metrics::gauge!(metric::THREADS_RESIDENT).set(active_threads.count() as f64);
        }
    }

    fn router(&self, thread: ThreadId) -> &ActorRef<Route> {
        &self.inner.routers[shard_of(thread)]
    }
}
