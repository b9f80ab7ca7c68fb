//! One server of the server: the shipped parts on one paused runtime, from the opening of the store
//! to a crash or an orderly end.

use std::sync::Arc;

use parley::clock::Clock;
use parley::engine::{Engine, EngineOptions, JournalTasks};
use parley::feed::hub::FeedCaps;
use parley::feed::replay_cache::ReadMode;
use parley::journal::archiver::Archiver;
use parley::journal::{Writer, WriterStep};
use parley::tokens::Tokens;
use parley::yield_points::Hook;
use parley_kit::engine::manifests;
use parley_kit::{FaultyDisk, TestClock, elapse, ensure};
use parley_protocol::command::Call;
use parley_protocol::identity::{Principal, Right};
use parley_protocol::operation::Operation;
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;

use super::injector::FaultInjector;
use super::options::WorldOptions;

/// What every server of one world has in common.
pub struct RunSetup {
    pub disk: FaultyDisk,
    pub clock: Arc<TestClock>,
    pub injector: Arc<FaultInjector>,
    pub options: WorldOptions,
}

/// Where callers come in. Cheap to clone.
#[derive(Clone)]
pub struct Access {
    pub engine: Arc<Engine>,
    pub tokens: Arc<Tokens>,
    clock: Arc<TestClock>,
}

/// A server that runs.
pub struct ServerRun {
    pub access: Access,
    pub writer: Writer,
    pub archiver: Archiver,
}

impl ServerRun {
    /// Opens the store and starts the parts.
    ///
    /// # Errors
    /// If it does not start: whatever happened to the disk, it must.
    pub async fn begin(setup: &RunSetup) -> Result<Self, String> {
        setup.injector.begin_run();
        let clock: Arc<dyn Clock> = Arc::clone(&setup.clock) as _;
        let (disk, injector) = (Arc::new(setup.disk.clone()), Arc::clone(&setup.injector));
        disk.watch(Some(Arc::new(move |name, op| !injector.skips(name, &op))));
        let tokens = Tokens::open(Arc::clone(&disk) as _, "local", Arc::clone(&clock));
        let tokens = tokens.map_err(|error| format!("the tokens cannot be opened: {error}"))?;
        let world = &setup.options;
        let options = EngineOptions {
            journal: world.journal.clone(),
            limits: Arc::new(world.limits.clone()),
            bounds: world.bounds,
            residence: world.residence,
            caps: FeedCaps { connections_max: 64, per_identity_max: 64, buffer: world.buffer },
            hook: Hook::of(Arc::clone(&setup.injector) as _),
        };
        let assembled = Engine::assemble(options, disk, clock, manifests, ReadMode::Here).await;
        let (engine, JournalTasks { writer, mut publisher, archiver }) =
            assembled.map_err(|error| format!("the store cannot be opened: {error}"))?;
        let injector = Arc::clone(&setup.injector);
        tokio::spawn(async move {
            while publisher.step().await {
                injector.dawdle().await;
            }
            // Ends the feeds.
            publisher.run().await;
        });
        let (engine, tokens) = (Arc::new(engine), Arc::new(tokens));
        let access = Access { engine, tokens, clock: Arc::clone(&setup.clock) };
        Ok(Self { access, writer, archiver })
    }

    /// Ends it in good order, all callers and listeners gone.
    ///
    /// # Errors
    /// If it does not end.
    pub async fn end(mut self, setup: &RunSetup) -> Result<(), String> {
        const ROUNDS: usize = 2_000;
        let engine =
            Arc::into_inner(self.access.engine).ok_or("somebody still holds the engine")?;
        let mut stopping = tokio::spawn(engine.stop());
        let mut done = false;
        for _ in 0..ROUNDS {
            done = self.writer.step() == WriterStep::Done;
            if done {
                break;
            }
            // What the writer may wait for. What fails here is tried again below.
            let _ = self.archiver.step();
            elapse(1).await;
            setup.clock.pass(1);
        }
        ensure(done, || "the writer does not end".to_owned())?;
        self.writer.finish();
        let stopped = tokio::time::timeout(std::time::Duration::from_secs(60), &mut stopping).await;
        stopped.map_err(|_| "the engine does not stop")?.map_err(|error| error.to_string())?;
        let archived = self.archiver.finish().or_else(|_| self.archiver.finish());
        archived.map_err(|error| format!("archiving does not end: {error}"))
    }
}

impl Access {
    /// What the clock says.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Who comes in with this token, as the gateway finds out (parley.md §6). The right `lock` is
    /// left to the language, which refuses its lack too.
    ///
    /// # Errors
    /// 401 `token_unknown`, 403 `token_right_missing`.
    pub fn principal(&self, secret: &str, call: &Call) -> Result<Arc<Principal>, Refusal> {
        let principal = self.tokens.find(secret, self.clock.now());
        let principal = principal.ok_or_else(Refusal::token_unknown)?;
        let rights = Operation::of(call).spec().rights.iter().copied();
        let rights: Vec<Right> = rights.filter(|right| *right != Right::Lock).collect();
        match principal.lacks(&rights) {
            None => Ok(principal),
            Some(right) => Err(Refusal::lacks(right)),
        }
    }
}
