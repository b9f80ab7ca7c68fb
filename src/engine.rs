//! Wires the parts behind the gateway: journal, archiver, actors, inboxes, hub. Its caller gives
//! the disk, the clock and, in a test, the hook of the yield points.

mod parts;

use std::future::Future;
use std::sync::Arc;

use parley_protocol::limits::Limits;
use tokio::task::JoinHandle as TaskHandle;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::feed::encode::Encoder;
use crate::feed::hub::{FeedCaps, Hub};
use crate::feed::inbox::Inboxes;
use crate::feed::publish::{HUB_BATCHES_MAX, publish_batches};
use crate::feed::replay::FeedDeps;
use crate::feed::replay_cache::{ReadMode, ReplayCache};
use crate::forum::{Forum, Manifests, PassivationOptions};
use crate::journal::archive::ArchiveMeta;
use crate::journal::archiver::Archiver;
use crate::journal::options::JournalOptions;
use crate::journal::{Journal, OpenedJournal, Publisher, Writer};
use crate::storage::disk::Disk;
use crate::storage::error::StoreError;
use crate::threads::admission::AdmissionBounds;
use crate::threads::deps::Deps;
use crate::work_pool::{PoolOptions, WorkPool};
use crate::yield_points::Hook;

pub use parts::PartEnd;
use parts::{PartThread, Parts};

/// The name of the archiver where its end is told.
const ARCHIVER: &str = "the archiver";
/// Threads that verify closures and export threads.
const LONG_READERS: usize = 1;
/// Closures and exports that wait for such a thread.
const LONG_READS_MAX: usize = 64;

/// The options of an engine.
pub struct EngineOptions {
    /// The journal.
    pub journal: JournalOptions,
    /// The limits in force.
    pub limits: Arc<Limits>,
    /// How much work may wait.
    pub bounds: AdmissionBounds,
    /// When threads leave memory.
    pub residence: PassivationOptions,
    /// Caps on listeners.
    pub caps: FeedCaps,
    /// A test's yield points; the default in the server.
    pub hook: Hook,
}

/// Why an engine does not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(StoreError),
    /// An actor does not start.
    #[error("an actor did not start: {0}")]
    Actor(ractor::SpawnErr),
    /// A thread does not start.
    #[error("a thread did not start: {0}")]
    Thread(std::io::Error),
}

/// The running parts.
pub struct Engine {
    /// Performs calls.
    pub forum: Forum,
    /// Stores, and shows what is committed.
    pub journal: Arc<Journal>,
    /// The dependencies of feeds.
    pub feed_deps: Arc<FeedDeps>,
    /// What the archive records of the instance.
    pub meta: ArchiveMeta,
    inboxes: Inboxes,
    publishing: TaskHandle<()>,
    parts: Parts,
    /// `None` where the caller of [`Engine::assemble`] drives the journal.
    journal_tasks: Option<RunningJournal>,
}

/// The parts of the journal that must run for an engine to work.
pub struct JournalTasks {
    /// Commits.
    pub writer: Writer,
    /// Sends the answers of what is committed.
    pub publisher: Publisher,
    /// Moves what is committed into the archive.
    pub archiver: Archiver,
}

/// The same, running.
struct RunningJournal {
    writer: PartThread,
    publisher: TaskHandle<()>,
    archiver: PartThread,
}

/// Why a stop was not in good order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    /// The writer has not ended.
    #[error(
        "the disk did not take the last writes in time; they were not acknowledged. What was \
         acknowledged is stored: look at the disk before the next start"
    )]
    Unanswered,
    /// A part has failed.
    #[error(transparent)]
    Part(PartEnd),
}

impl Engine {
    /// Opens the store on `disk` and starts the parts. `manifest` makes the manifests from what the
    /// archive records of the instance.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn start(
        options: EngineOptions,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        manifest: impl FnOnce(&ArchiveMeta) -> Manifests,
    ) -> Result<Self, EngineError> {
        let assembled = Self::assemble(options, disk, clock, manifest, ReadMode::Aside).await?;
        let (engine, JournalTasks { writer, publisher, archiver }) = assembled;
        let parts = &engine.parts;
        let publisher = parts.as_task("the journal's publisher", publisher.run());
        let writer = parts.on_thread("journal", "the journal's writer", || writer.run());
        let writer = writer.map_err(EngineError::Thread)?;
        let archiver = parts.on_thread("archiver", ARCHIVER, || archiver.run());
        let archiver = archiver.map_err(EngineError::Thread)?;
        Ok(Self { journal_tasks: Some(RunningJournal { writer, publisher, archiver }), ..engine })
    }

    /// The same, without the parts that drive the journal: the caller decides when entries are
    /// committed, answered and archived. `reading` says where the store is read.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn assemble(
        options: EngineOptions,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        manifest: impl FnOnce(&ArchiveMeta) -> Manifests,
        reading: ReadMode,
    ) -> Result<(Self, JournalTasks), EngineError> {
        let EngineOptions { journal, limits, bounds, residence, caps, hook } = options;
        let replay_max = journal.replay_max;
        let opened = Journal::open(journal, disk, Arc::clone(&clock));
        let OpenedJournal { journal, writer, publisher, archiver, meta } =
            opened.map_err(EngineError::Store)?;
        let inboxes = Inboxes::start(hook.clone()).await.map_err(EngineError::Actor)?;
        let reads = Arc::new(pool("read", reading, cores(), bounds.reads_max)?);
        let stream = journal.listen(HUB_BATCHES_MAX);
        let hub = Arc::new(Hub::new(inboxes.clone(), caps, stream.after));
        let feed_deps = Arc::new(FeedDeps {
            journal: Arc::clone(&journal),
            hub: Arc::clone(&hub),
            replay_cache: ReplayCache::new(Arc::clone(&journal)).read_at(reading),
            reads: Arc::clone(&reads),
            encoder: Encoder::new(Arc::clone(&journal)),
            clock: Arc::clone(&clock),
            replay_max,
        });
        let publishing = publish_batches(stream, hub, Arc::clone(&clock), hook.clone());
        let parts = Parts::default();
        let publishing = parts.as_task("the feeds' hub", publishing);
        let long_reads = pool("long-read", reading, LONG_READERS, LONG_READS_MAX)?;
        let deps = Arc::new(Deps { journal: Arc::clone(&journal), limits, clock, reads, hook });
        let manifest = manifest(&meta);
        let forum = Forum::start(deps, long_reads, bounds, residence, manifest, inboxes.clone());
        let forum = forum.await.map_err(EngineError::Actor)?;
        let journal_tasks = None;
        let engine =
            Self { forum, journal, feed_deps, meta, inboxes, publishing, parts, journal_tasks };
        Ok((engine, JournalTasks { writer, publisher, archiver }))
    }

    /// Waits until a part ends that nothing restarts: then the engine answers nothing more, or
    /// tells its feeds nothing, and is to be stopped.
    pub fn part_ended(&self) -> impl Future<Output = PartEnd> + use<> {
        let parts = self.parts.clone();
        async move { parts.ended().await }
    }

    /// Stops the parts in the order in which data flows, so that everything accepted is answered,
    /// published and archived. A caller that drives the journal goes on doing so meanwhile.
    pub async fn stop(self) {
        self.forum.stop().await;
        self.journal.close();
        let mut archiver = None;
        if let Some(running) = self.journal_tasks {
            let _ = running.writer.await;
            let _ = running.publisher.await;
            archiver = Some(running.archiver);
        }
        let _ = self.publishing.await;
        self.feed_deps.hub.stop();
        self.inboxes.stop();
        // The writer has told the archiver that no more will come.
        if let Some(archiver) = archiver {
            let _ = archiver.await;
        }
    }

    /// As [`Engine::stop`], waiting until `deadline` at most: then it leaves the threads behind,
    /// which the disk may hold for as long as it wants. What is not archived is in the log.
    ///
    /// # Errors
    /// [`StopError`]: not everything accepted was answered. Everything acknowledged is stored.
    pub async fn stop_by(self, deadline: Instant) -> Result<(), StopError> {
        let (journal, parts) = (Arc::clone(&self.journal), self.parts.clone());
        if let Some(end) = parts.first() {
            let _ = tokio::time::timeout_at(deadline, self.stop()).await;
            return Err(StopError::Part(end));
        }
        if tokio::time::timeout_at(deadline, self.stop()).await.is_err() && !journal.has_ended() {
            return Err(StopError::Unanswered);
        }
        // What the archiver leaves behind is in the log.
        let panicked = parts.first().filter(|end| end.has_panicked && end.part != ARCHIVER);
        panicked.map_or(Ok(()), |end| Err(StopError::Part(end)))
    }
}

/// The pool for reads in the mode `reading`.
fn pool(
    name: &str,
    reading: ReadMode,
    threads: usize,
    waiting_max: usize,
) -> Result<WorkPool, EngineError> {
    let threads = if reading == ReadMode::Here { 0 } else { threads };
    WorkPool::start(name, PoolOptions { threads, waiting_max }).map_err(EngineError::Thread)
}

/// Threads that read: as many as the machine has cores, two at least, since some wait for the disk.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).max(2)
}
