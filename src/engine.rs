//! The parts behind the gateway, wired: journal, folder, actors, inboxes, hub. All comes from
//! the caller: the disk, the clock, and what tests put in the way.

use std::sync::Arc;
use std::thread::JoinHandle;

use parley_protocol::limits::Limits;
use tokio::task::JoinHandle as TaskHandle;

use crate::clock::Clock;
use crate::feed::encode::Encoder;
use crate::feed::hub::{FeedCaps, Hub};
use crate::feed::inbox::Inboxes;
use crate::feed::replay::FeedDeps;
use crate::feed::replay_cache::{ReadMode, ReplayCache};
use crate::forum::{Forum, Manifests, PassivationOptions};
use crate::journal::archive::ArchiveMeta;
use crate::journal::archiver::Archiver;
use crate::journal::options::JournalOptions;
use crate::journal::{BatchStream, Journal, OpenedJournal, Publisher, Writer};
use crate::storage::disk::Disk;
use crate::storage::error::StoreError;
use crate::threads::actor::{Deps, Interference};
use crate::threads::admission::AdmissionBounds;

/// Batches that may wait for the hub; above, the journal waits with them.
const HUB_BATCHES_MAX: usize = 64;

/// How the parts are to work.
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
    /// Tests only.
    pub interference: Option<Arc<dyn Interference>>,
}

/// Why the parts do not start.
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

/// The parts at work.
pub struct Engine {
    /// The way to the forum.
    pub forum: Forum,
    /// The journal.
    pub journal: Arc<Journal>,
    /// What feeds are made of.
    pub feed_deps: Arc<FeedDeps>,
    /// What never changes while it runs.
    pub meta: ArchiveMeta,
    inboxes: Inboxes,
    publishing: TaskHandle<()>,
    /// `None` where somebody else drives the journal.
    journal_tasks: Option<RunningJournal>,
}

/// The parts of the journal that somebody must run for an engine to work.
pub struct JournalTasks {
    /// Commits.
    pub writer: Writer,
    /// Sends the answers of what is committed.
    pub publisher: Publisher,
    /// Folds what is committed into the archive.
    pub archiver: Archiver,
}

/// The parts of the journal at work.
struct RunningJournal {
    writer: JoinHandle<()>,
    publisher: TaskHandle<()>,
    archiver: JoinHandle<()>,
}

impl Engine {
    /// Opens the store on `disk` and starts the parts. `manifest` is given what the store knows of
    /// the instance.
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

    /// The same, but for the parts that drive the journal: whoever takes them decides when
    /// something is committed, answered and folded. `reading` says where feeds read the log.
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
        let EngineOptions { journal, limits, bounds, residence, caps, interference } = options;
        let replay_max = journal.replay_max;
        let opened = Journal::open_with(journal, disk, Arc::clone(&clock), interference.clone());
        let OpenedJournal { journal: door, writer, publisher, archiver, meta } =
            opened.map_err(EngineError::Store)?;
        let inboxes = Inboxes::start().await.map_err(EngineError::Actor)?;
        let inboxes = inboxes.with_interference(interference.clone());
        let listening = door.listen(HUB_BATCHES_MAX);
        let hub = Hub::new(inboxes.clone(), caps, listening.after);
        let hub = Arc::new(hub.with_interference(interference.clone()));
        let sources = Arc::new(FeedDeps {
            journal: Arc::clone(&door),
            hub: Arc::clone(&hub),
            replay_cache: ReplayCache::new(Arc::clone(&door)).read_at(reading),
            encoder: Encoder::new(Arc::clone(&door)),
            clock: Arc::clone(&clock),
            replay_max,
            interference: interference.clone(),
        });
        let deps = Arc::new(Deps { journal: Arc::clone(&door), limits, clock, interference });
        let telling = tokio::spawn(publish_batches(listening, hub, Arc::clone(&deps)));
        let forum = Forum::start(deps, bounds, residence, manifest(&meta), inboxes.clone());
        let forum = forum.await.map_err(EngineError::Actor)?;
        let engine = Self {
            forum,
            journal: door,
            feed_deps: sources,
            meta,
            inboxes,
            publishing: telling,
            journal_tasks: None,
        };
        Ok((engine, JournalTasks { writer, publisher, archiver }))
    }

    /// Stops the parts in the order in which data flows, so that everything accepted is answered,
    /// told and folded. Whoever drives the journal goes on doing so meanwhile.
    pub async fn stop(self) {
        self.forum.stop().await;
        self.journal.close();
        let (writer, publisher, archiver) = match self.journal_tasks {
            Some(RunningJournal { writer, publisher, archiver }) => {
                (Some(writer), Some(publisher), Some(archiver))
            }
            None => (None, None, None),
        };
        if let Some(writer) = writer {
            let _ = tokio::task::spawn_blocking(move || writer.join()).await;
        }
        if let Some(publisher) = publisher {
            let _ = publisher.await;
        }
        let _ = self.publishing.await;
        self.feed_deps.hub.stop();
        self.inboxes.stop();
        // The writer has told the folder that no more will come.
        if let Some(archiver) = archiver {
            let _ = tokio::task::spawn_blocking(move || archiver.join()).await;
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, EngineError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(EngineError::Thread)
}

async fn publish_batches(mut listening: BatchStream, hub: Arc<Hub>, deps: Arc<Deps>) {
    while let Some(batch) = listening.batches.recv().await {
        deps.give_way().await;
        hub.deliver(&batch.committed, deps.clock.now());
    }
}
