//! The service: performs calls, reads on a view by a pool of threads, writes by the actor of their
//! thread.
//!
//! A call is well-formed, and its token holds the rights of its operation. The rest of the order of
//! checks (parley.md §6) is done here, up to those of the thread's actor: the right to seal, the
//! rate, overload, a known idempotency key.

mod answer;
mod artifacts;
mod backup;
mod export;
mod inbox;
mod read;
mod write;

use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::{Call, Language, ManifestPart};
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use ractor::{Actor, ActorRef};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::feed::inbox::Inboxes;
use crate::metric;
use crate::threads::active_threads::{ActiveThreads, SHARDS, shard_of};
use crate::threads::admission::{Admission, AdmissionBounds};
use crate::threads::deps::Deps;
use crate::threads::in_flight_keys::InFlightKeys;
use crate::threads::router::{Route, Router};
use crate::work_pool::WorkPool;

pub use answer::Answer;
pub use backup::BackupStream;

/// Artifacts whose closures are verified or wait to be, at most.
const DECIDING_MAX: u64 = 256;
/// Inbox reads that are held at a time, at most.
const HELD_MAX: u64 = 16_384;
/// Exports that are streamed at a time, at most.
const STREAMING_MAX: u64 = 64;

/// When threads leave memory (operations.md §2, `runtime.*`).
#[derive(Clone, Copy, Debug)]
pub struct PassivationOptions {
    /// Seconds without a request after which a thread's actor is passivated.
    pub idle_seconds: u64,
    /// Active actors; beyond, those used longest ago are passivated.
    pub resident_threads_max: usize,
    /// Milliseconds between two sweeps for idle actors: one second but in tests.
    pub sweep_ms: u64,
}

/// The service, as gateways use it. Cheap to clone.
///
/// [`Forum::perform`] answers each call once, also while it stops: calls in flight are answered,
/// later ones refused. [`Forum::stop`] comes last; [`Forum::release_held`] may come before it.
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
    /// Held exclusively while a closure is verified and its artifact stored.
    closure_gate: Arc<tokio::sync::RwLock<()>>,
    /// Verifies closures and exports threads.
    long_reads: WorkPool,
    /// The artifacts that wait for their closure to be verified.
    deciding: Budget,
    /// The inbox reads that are held.
    held: Budget,
    /// The exports that are streamed.
    streaming: Budget,
    /// The backups that may begin now.
    backups: Arc<Semaphore>,
    inboxes: Inboxes,
    manifest: Manifests,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

/// The parts of the manifest in their languages, as JSON.
pub struct Manifests([[bytes::Bytes; ManifestPart::ALL.len()]; Language::ALL.len()]);

impl Manifests {
    /// The documents that `make` gives.
    pub fn new(make: impl Fn(Language, ManifestPart) -> bytes::Bytes) -> Self {
        Self(Language::ALL.map(|language| ManifestPart::ALL.map(|part| make(language, part))))
    }
}

impl Forum {
    /// Starts the routers and the sweeper.
    ///
    /// # Errors
    /// If an actor does not start.
    pub async fn start(
        deps: Arc<Deps>,
        long_reads: WorkPool,
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
                long_reads,
                deciding: Budget::new(DECIDING_MAX),
                held: Budget::new(HELD_MAX),
                streaming: Budget::new(STREAMING_MAX),
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

    /// Performs one call of `principal`, under its idempotency key if it has one.
    ///
    /// # Errors
    /// The refusal of the call. It has changed nothing, unless the reason is `internal` or
    /// `storage_unavailable`, which leave that open.
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
            Call::GetManifest(language, part) => Ok(Answer::ok(self.manifest(language, part))),
            Call::Read(read) => self.read(principal, read).await,
        }
    }

    /// The permits of writes.
    pub fn admission(&self) -> &Admission {
        &self.inner.admission
    }

    /// How many threads are active.
    pub fn resident_count(&self) -> usize {
        self.inner.active_threads.count()
    }

    /// How many inbox reads are held.
    pub fn held_count(&self) -> usize {
        self.inner.held.used()
    }

    /// Whether it takes writes, if only later because it is busy (operations.md §4, `/readyz`).
    ///
    /// # Errors
    /// The refusal of a write, if not.
    pub fn ready(&self) -> Result<()> {
        if self.inner.stopping.is_cancelled() {
            return Err(Refusal::shutting_down());
        }
        self.inner.deps.journal.unavailable().map_or(Ok(()), Err)
    }

    /// The cursor of a place in the list `kind`.
    pub fn list_cursor(&self, kind: &str, place: u64) -> String {
        self.inner.deps.journal.cursors().list_text(kind, place)
    }

    /// The place of such a cursor.
    ///
    /// # Errors
    /// 400 `invalid_cursor`.
    pub fn read_list_cursor(&self, kind: &str, text: &str) -> Result<u64> {
        self.inner.deps.journal.cursors().read_list(kind, text)
    }

    /// Answers held inbox reads at once, ends reads that take long, and is not ready from then on:
    /// the first step of a stop.
    pub fn release_held(&self) {
        self.inner.stopping.cancel();
        self.inner.long_reads.stop();
    }

    /// Answers held inbox reads, waits for calls in flight, and stops the actors.
    pub async fn stop(&self) {
        self.release_held();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        for router in &self.inner.routers {
            let _ = router.stop_and_wait(None, None).await;
        }
    }

    async fn sweep(&self, residence: PassivationOptions) {
        let mut ticks = tokio::time::interval(Duration::from_millis(residence.sweep_ms));
        loop {
            tokio::select! {
                biased;
                () = self.inner.stopping.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let active_threads = &self.inner.active_threads;
            active_threads.advance();
            let idle = active_threads.idle(residence.idle_seconds, residence.resident_threads_max);
            for actor in idle {
                // Closes its mailbox: requests in it are answered, later ones routed to the
                // successor.
                let _ = actor.drain();
            }
            metrics::gauge!(metric::THREADS_RESIDENT).set(active_threads.count() as f64);
        }
    }

    fn router(&self, thread: ThreadId) -> &ActorRef<Route> {
        &self.inner.routers[shard_of(thread)]
    }
}
