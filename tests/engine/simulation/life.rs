//! One life of the server: the shipped parts on one paused runtime, from the opening of the store
//! to a crash or an orderly end.

use std::sync::Arc;

use parley::clock::Clock;
use parley::engine::{Engine, EngineOptions, JournalTasks};
use parley::feed::hub::FeedCaps;
use parley::feed::replay_cache::ReadMode;
use parley::forum::{Answer, Manifests, PassivationOptions};
use parley::journal::archiver::Archiver;
use parley::journal::options::JournalOptions;
use parley::journal::{Writer, WriterStep};
use parley::threads::admission::AdmissionBounds;
use parley::tokens::Tokens;
use parley::yield_points::Hook;
use parley_kit::disk::FaultyDisk;
use parley_protocol::command::Call;
use parley_protocol::identity::{Principal, Right};
use parley_protocol::limits::Limits;
use parley_protocol::operation::Operation;
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;

use super::clock::{HandClock, elapse};
use super::lies::LyingDisk;
use super::meddler::Meddler;

/// What every life of one world has in common.
pub struct Ground {
    pub disk: FaultyDisk,
    pub clock: Arc<HandClock>,
    pub meddler: Arc<Meddler>,
    pub limits: Limits,
    pub journal: JournalOptions,
    pub bounds: AdmissionBounds,
    pub residence: PassivationOptions,
    pub buffer: usize,
}

/// Where callers come in. Cheap to clone.
#[derive(Clone)]
pub struct Door {
    pub engine: Arc<Engine>,
    pub tokens: Arc<Tokens>,
    clock: Arc<HandClock>,
}

/// A server that lives.
pub struct Life {
    pub door: Door,
    pub writer: Writer,
    pub folder: Archiver,
}

impl Life {
    /// Opens the store and starts the parts.
    ///
    /// # Errors
    /// If it does not start: whatever happened to the disk, it must.
    pub async fn begin(ground: &Ground) -> Result<Self, String> {
        ground.meddler.begin_life();
        let clock: Arc<dyn Clock> = Arc::clone(&ground.clock) as _;
        let disk = Arc::new(LyingDisk::new(ground.disk.clone(), Arc::clone(&ground.meddler)));
        let tokens = Tokens::open(Arc::clone(&disk) as _, "local", Arc::clone(&clock));
        let tokens = tokens.map_err(|error| format!("the tokens cannot be opened: {error}"))?;
        let options = EngineOptions {
            journal: ground.journal.clone(),
            limits: Arc::new(ground.limits.clone()),
            bounds: ground.bounds,
            residence: ground.residence,
            caps: FeedCaps { connections_max: 64, per_identity_max: 64, buffer: ground.buffer },
            hook: Hook::of(Arc::clone(&ground.meddler) as _),
        };
        let none = |_: &_| Manifests { en: "{}".into(), de: "{}".into(), fr: "{}".into() };
        let assembled = Engine::assemble(options, disk, clock, none, ReadMode::Here).await;
        let assembled =
            assembled.map_err(|error| format!("the store cannot be opened: {error}"))?;
        let (engine, JournalTasks { writer, mut publisher, archiver: folder }) = assembled;
        let meddler = Arc::clone(&ground.meddler);
        tokio::spawn(async move {
            while publisher.step().await {
                meddler.dawdle().await;
            }
            // Says to whoever listens that no more will come.
            publisher.run().await;
        });
        let (engine, tokens) = (Arc::new(engine), Arc::new(tokens));
        let door = Door { engine, tokens, clock: Arc::clone(&ground.clock) };
        Ok(Self { door, writer, folder })
    }

    /// Ends it in good order, all callers and listeners gone.
    ///
    /// # Errors
    /// If it does not end.
    pub async fn end(mut self, ground: &Ground) -> Result<(), String> {
        const ROUNDS: usize = 2_000;
        let engine = Arc::into_inner(self.door.engine).ok_or("somebody still holds the engine")?;
        let mut stopping = tokio::spawn(engine.stop());
        let mut done = false;
        for _ in 0..ROUNDS {
            done = done || self.writer.step() == WriterStep::Done;
            if done {
                break;
            }
            // What the writer may wait for. What fails here is tried again below.
            let _ = self.folder.step();
            elapse(1).await;
            ground.clock.pass(1);
        }
        if !done {
            return Err("the writer does not end".to_owned());
        }
        self.writer.finish();
        let stopped = tokio::time::timeout(std::time::Duration::from_secs(60), &mut stopping).await;
        stopped.map_err(|_| "the engine does not stop")?.map_err(|error| error.to_string())?;
        let folded = self.folder.finish().or_else(|_| self.folder.finish());
        folded.map_err(|error| format!("folding does not end: {error}"))
    }
}

impl Door {
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
        let rights = Operation::of(call).rights().iter().copied();
        let rights: Vec<Right> = rights.filter(|right| *right != Right::Lock).collect();
        match principal.lacks(&rights) {
            None => Ok(principal),
            Some(right) => Err(Refusal::lacks(right)),
        }
    }

    /// Performs a call.
    ///
    /// # Errors
    /// Whatever refuses it.
    pub async fn perform(
        &self,
        principal: &Principal,
        call: Call,
        key: Option<&str>,
    ) -> Result<Answer, Refusal> {
        self.engine.forum.perform(principal, call, key).await
    }
}
