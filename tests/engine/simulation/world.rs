//! One world: runs of a server, its callers and listeners, and the events that a seed draws.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use parley::journal::WriterStep;
use parley_kit::{Cut, FaultyDisk, Rng, elapse, ensure, same};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use super::events::Death;
use super::history::{Held, History};
use super::injector::{Fault, FaultInjector};
use super::options::WorldOptions;
use super::participants::{Member, participants};
use super::server_run::{RunSetup, ServerRun};
use super::sessions::Session;

/// Steps between two moments at which everything comes to rest and is compared.
const REST_EVERY: u64 = 100;
/// Rounds after which whatever was asked must have its answer.
const REST_ROUNDS: usize = 1_500;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub steps: u64,
    pub fault: Option<Fault>,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The sum of all that happened.
    pub sum: u64,
    pub runs: u64,
    pub entries: u64,
    /// Calls acknowledged.
    pub acknowledged: u64,
    /// Calls refused, by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Frames told.
    pub frames: u64,
    /// How often the injected fault happened.
    pub injected: u64,
}

/// A listener at work.
pub struct Listener {
    pub session: usize,
    pub task: JoinHandle<()>,
    pub stalled: Arc<AtomicBool>,
}

/// A world.
pub struct World {
    pub plan: Plan,
    pub rng: Rng,
    pub setup: RunSetup,
    pub history: Arc<Mutex<History>>,
    pub participants: Vec<Member>,
    pub calls: Vec<(usize, JoinHandle<()>)>,
    pub listeners: Vec<Listener>,
    /// Held readings of inboxes.
    pub held: Vec<(Held, JoinHandle<()>)>,
    /// Intents so far, so that each has a text of its own.
    pub texts: u64,
    /// Whether something is the matter with the disk.
    pub troubled: bool,
    /// Whether the writer waits for the archive.
    full: bool,
    runs: u64,
    over: bool,
}

/// What contradicts the promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step}: {what}")]
pub struct Wrong {
    /// What.
    pub what: String,
    /// At which step.
    pub step: u64,
    /// How often the injected fault had happened.
    pub injected: u64,
}

/// Runs the world of a plan.
///
/// # Errors
/// What is wrong, and when it showed.
pub fn run(plan: Plan) -> Result<Report, Wrong> {
    let mut world = World::new(plan);
    loop {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime is built");
        let end = runtime.block_on(world.live());
        // Whatever is still at work ends here, wherever it stands: that is a crash.
        drop(runtime);
        world.calls.clear();
        world.listeners.clear();
        world.held.clear();
        let step = world.history().step;
        match end {
            Ok(None) => {}
            Ok(Some(report)) => return Ok(report),
            Err(what) => {
                let injected = world.setup.injector.injected();
                return Err(Wrong { what, step, injected });
            }
        }
    }
}

impl World {
    fn new(plan: Plan) -> Self {
        let rng = Rng::series(plan.seed, 1);
        let options = WorldOptions::new(&rng);
        let injecting = Rng::series(plan.seed, 2);
        let injector = FaultInjector::new(injecting, options.delay_ms, options.panics, plan.fault);
        let mut history = History::default();
        history.reference.limits = options.limits.clone();
        history.excuses.rated = options.limits.writes_per_minute > 0;
        let setup = RunSetup {
            disk: FaultyDisk::default(),
            clock: Arc::default(),
            injector: Arc::new(injector),
            options,
        };
        Self {
            plan,
            rng,
            setup,
            history: Arc::new(Mutex::new(history)),
            participants: participants(),
            calls: Vec::new(),
            listeners: Vec::new(),
            held: Vec::new(),
            texts: 0,
            troubled: false,
            full: false,
            runs: 0,
            over: false,
        }
    }

    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap()
    }

    /// The life of one server; gives the report if the run is over.
    async fn live(&mut self) -> Result<Option<Report>, String> {
        self.runs += 1;
        let mut server = ServerRun::begin(&self.setup).await?;
        self.wake_up(&server)?;
        loop {
            let step = self.history().step;
            if self.over {
                let history = self.history();
                let (sum, injected) = (history.trace.sum(), self.setup.injector.injected());
                let report = history.report.clone();
                return Ok(Some(Report { sum, runs: self.runs, injected, ..report }));
            }
            if step >= self.plan.steps {
                self.rest(&mut server).await?;
                self.over = true;
                // What is left of it once the power has gone is looked at once more.
                self.die(Cut::ForgetAll);
                return Ok(None);
            }
            self.history().step += 1;
            self.excuse(&server);
            if step % REST_EVERY == REST_EVERY - 1 {
                self.rest(&mut server).await?;
            }
            match self.befall(&mut server).await? {
                None => self.go_on(&server).await?,
                Some(Death::Cut(cut)) => {
                    self.die(cut);
                    return Ok(None);
                }
                Some(Death::InOrder) => {
                    self.retire(server).await?;
                    return Ok(None);
                }
            }
        }
    }

    /// The store is open again: it holds what it must.
    fn wake_up(&mut self, server: &ServerRun) -> Result<(), String> {
        let journal = &server.access.engine.journal;
        {
            let mut history = self.history();
            history.excuses.stopping = false;
            history.reopened(journal);
            history.compare(&journal.view(), true);
        }
        let now = server.access.now();
        let tokens = &server.access.tokens;
        for token in &self.history().revoked {
            let found = tokens.find(&token.secret, now);
            ensure(found.is_none(), || format!("{} was revoked and is good again", token.id))?;
        }
        for member in &mut self.participants {
            match &member.token {
                Some(token) => {
                    let found = tokens.find(&token.secret, now);
                    ensure(found.is_some(), || format!("{member:?} has lost its token"))?;
                }
                None => member.equip(tokens, now).map_err(|it| format!("no token: {it}"))?,
            }
        }
        self.verdict()
    }

    /// What went wrong, if anything did.
    pub fn verdict(&self) -> Result<(), String> {
        self.history().wrong.clone().map_or(Ok(()), Err)
    }

    /// Lets a little time pass, and looks whether all is as it must be.
    async fn go_on(&mut self, server: &ServerRun) -> Result<(), String> {
        match self.rng.below(self.setup.options.pace_ms + 1) {
            0 => {
                for _ in 0..self.rng.below(12) {
                    tokio::task::yield_now().await;
                }
            }
            millis => {
                elapse(millis).await;
                self.setup.clock.pass(millis);
            }
        }
        self.inspect(server)
    }

    /// Notes what excuses a refusal at this step.
    pub fn excuse(&self, server: &ServerRun) {
        let mut history = self.history();
        if self.troubled || !server.access.engine.journal.is_writable() {
            history.excuses.trouble = history.step;
        }
        if self.full || history.auditor.busy() > self.setup.options.bounds.writes_max {
            history.excuses.crowded = history.step;
        }
    }

    /// The writer takes a step, with so many entries at most.
    pub fn write(&mut self, server: &mut ServerRun, entries_max: usize) -> WriterStep {
        let step = server.writer.step_of(entries_max);
        self.full = step == WriterStep::Full;
        self.excuse(server);
        step
    }

    fn inspect(&mut self, server: &ServerRun) -> Result<(), String> {
        self.excuse(server);
        {
            let journal = &server.access.engine.journal;
            let mut history = self.history();
            history.catch_up(journal);
            history.compare(&journal.view(), false);
        }
        self.calls.retain(|(_, task)| !task.is_finished());
        self.held.retain(|(_, task)| !task.is_finished());
        self.listeners.retain(|listener| !listener.task.is_finished());
        self.verdict()
    }

    /// Everything that was begun comes to an end, on a disk in good order; then all is compared.
    async fn rest(&mut self, server: &mut ServerRun) -> Result<(), String> {
        self.mend();
        self.setup.injector.set_calm(true);
        for listener in &self.listeners {
            listener.stalled.store(false, Ordering::Relaxed);
        }
        let mut quiet = 0;
        for _ in 0..REST_ROUNDS {
            let step = self.write(server, usize::MAX);
            let archived = server.archiver.step().or_else(|_| server.archiver.step());
            archived.map_err(|error| format!("archiving fails: {error}"))?;
            elapse(3).await;
            self.setup.clock.pass(3);
            self.inspect(server)?;
            let told = self.history().all_told();
            let idle = step == WriterStep::Idle && self.history().auditor.under_way.is_empty();
            quiet = if idle && told { quiet + 1 } else { 0 };
            if quiet > 4 + 4 * self.setup.options.delay_ms {
                break;
            }
        }
        self.setup.injector.set_calm(false);
        self.at_rest(server)
    }

    fn at_rest(&self, server: &ServerRun) -> Result<(), String> {
        let forum = &server.access.engine.forum;
        let mut history = self.history();
        let waiting = history.auditor.under_way.iter();
        let of = |it: &usize| &history.auditor.intents[history.auditor.attempts[*it].intent];
        let waiting: Vec<_> = waiting.map(of).collect();
        ensure(waiting.is_empty(), || format!("callers without an answer: {waiting:?}"))?;
        let told = history.all_told();
        ensure(told, || {
            let lacking = history.sessions.iter().filter(|it| it.alive).map(Session::lacks);
            format!("listeners lack something: {:?}", lacking.collect::<Vec<_>>())
        })?;
        forum.ready().map_err(|refusal| format!("the store does not resume: {refusal}"))?;
        let free = forum.admission().free();
        same("permits left", &free, &self.setup.options.bounds.writes_max)?;
        let on = history.sessions.iter().find(|it| it.alive && history.is_revoked(it.token));
        ensure(on.is_none(), || format!("a revoked token listens on: {on:?}"))?;
        for (held, _) in self.held.iter().filter(|(_, task)| !task.is_finished()) {
            let waits = history.reference.inbox(&held.feed, held.since);
            ensure(waits.is_empty(), || format!("{held:?} sleeps though something waits"))?;
        }
        history.auditor.rest();
        history.touch_all();
        history.compare(&server.access.engine.journal.view(), true);
        let sum = history.trace.sum();
        history.trace.note("rest", &[sum]);
        drop(history);
        self.verdict()
    }

    /// All is well with the disk again.
    pub fn mend(&mut self) {
        self.setup.disk.mend();
        self.troubled = false;
    }

    /// The power goes, or the process: nothing that runs reaches the disk any more.
    fn die(&mut self, cut: Cut) {
        self.setup.disk.cut(cut);
        self.troubled = false;
        self.part();
    }

    /// Callers and listeners hear nothing more.
    fn part(&mut self) {
        let mut history = self.history();
        let under_way: Vec<usize> = history.auditor.under_way.iter().copied().collect();
        for attempt in under_way {
            history.auditor.lose(attempt);
        }
        for session in &mut history.sessions {
            session.alive = false;
        }
    }

    /// The server is stopped in good order.
    async fn retire(&mut self, server: ServerRun) -> Result<(), String> {
        self.mend();
        self.history().excuses.stopping = true;
        let calls = self.calls.iter().map(|(_, task)| task);
        let held = self.held.iter().map(|(_, task)| task);
        let listeners = self.listeners.iter().map(|listener| &listener.task);
        calls.chain(held).chain(listeners).for_each(JoinHandle::abort);
        self.part();
        elapse(1).await;
        server.end(&self.setup).await
    }
}
