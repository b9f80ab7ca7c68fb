//! Wires the parts behind the gateway: journal, archiver, actors, inboxes, hub. Its caller gives
//! the disk, the clock and, in a test, the hook of the yield points.

use std::sync::Arc;
use std::thread::JoinHandle;

use parley_protocol::limits::Limits;
use tokio::task::JoinHandle as TaskHandle;

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
    writer: JoinHandle<()>,
    publisher: TaskHandle<()>,
    archiver: JoinHandle<()>,
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
        let publisher = tokio::spawn(publisher.run());
        let writer = spawn("journal", move || writer.run())?;
        let archiver = spawn("archiver", move || archiver.run())?;
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
        let publishing = tokio::spawn(publishing);
        let long_reads = pool("long-read", reading, LONG_READERS, LONG_READS_MAX)?;
        let deps = Arc::new(Deps { journal: Arc::clone(&journal), limits, clock, reads, hook });
        let manifest = manifest(&meta);
        let forum = Forum::start(deps, long_reads, bounds, residence, manifest, inboxes.clone());
        let forum = forum.await.map_err(EngineError::Actor)?;
        let engine =
            Self { forum, journal, feed_deps, meta, inboxes, publishing, journal_tasks: None };
        Ok((engine, JournalTasks { writer, publisher, archiver }))
    }

    /// Stops the parts in the order in which data flows, so that everything accepted is answered,
    /// published and archived. A caller that drives the journal goes on doing so meanwhile.
    pub async fn stop(self) {
        self.forum.stop().await;
        self.journal.close();
        let mut archiver = None;
        if let Some(running) = self.journal_tasks {
            join(running.writer).await;
            let _ = running.publisher.await;
            archiver = Some(running.archiver);
        }
        let _ = self.publishing.await;
        self.feed_deps.hub.stop();
        self.inboxes.stop();
        // The writer has told the archiver that no more will come.
        if let Some(archiver) = archiver {
            join(archiver).await;
        }
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

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, EngineError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(EngineError::Thread)
}

/// Waits for a thread to end, off the runtime's threads.
async fn join(thread: JoinHandle<()>) {
    let _ = tokio::task::spawn_blocking(move || thread.join()).await;
}
