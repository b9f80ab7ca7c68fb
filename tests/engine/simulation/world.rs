//! One world: lives of a server, whoever calls it and listens to it, and what befalls them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use parley::journal::WriterStep;
use parley::threads::admission::PermitClass;
use parley_kit::disk::{Cut, FaultyDisk};
use parley_protocol::ids::TokenId;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use super::cast::{Held as Token, Member, cast};
use super::chance::Chance;
use super::clock::elapse;
use super::events::Death;
use super::life::{Ground, Life};
use super::meddler::{Fault, Meddler};
use super::record::{Held, Record};
use super::sessions::Session;
use super::temper::Temper;

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
    pub lives: u64,
    pub entries: u64,
    pub acknowledged: u64,
    pub refused: u64,
    /// By reason.
    pub reasons: BTreeMap<&'static str, u64>,
    pub frames: u64,
    /// How often the planted fault happened.
    pub planted: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Another one follows.
    Next,
    /// The run is over.
    Over,
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
    pub chance: Chance,
    pub temper: Temper,
    pub ground: Ground,
    pub record: Arc<Mutex<Record>>,
    pub cast: Vec<Member>,
    /// Tokens that are revoked for certain.
    pub revoked: Vec<Token>,
    pub revoked_ids: Arc<Mutex<BTreeSet<TokenId>>>,
    pub calls: Vec<(usize, JoinHandle<()>)>,
    pub listeners: Vec<Listener>,
    /// Held readings of inboxes.
    pub held: Vec<(Held, JoinHandle<()>)>,
    /// Intents so far, so that each has a text of its own.
    pub texts: u64,
    /// Whether something is the matter with the disk.
    pub troubled: bool,
    /// Whether the writer waits for the fold.
    full: bool,
    lives: u64,
    over: bool,
}

/// What contradicts the promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What.
    pub what: String,
    /// At which step.
    pub step: u64,
    /// How often the planted fault had happened.
    pub planted: u64,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)
    }
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
        let step = world.record().step;
        match end {
            Ok(End::Next) => {}
            Ok(End::Over) => return Ok(world.report()),
            Err(what) => {
                let planted = world.ground.meddler.planted();
                return Err(Wrong { what, step, planted });
            }
        }
    }
}

impl World {
    fn new(plan: Plan) -> Self {
        let chance = Chance::new(plan.seed, 1);
        let temper = Temper::new(&chance);
        let meddling = Chance::new(plan.seed, 2);
        let meddler = Meddler::new(meddling, temper.delay_ms, temper.panics, plan.fault);
        let mut record = Record::default();
        record.shadow.limits = temper.limits.clone();
        record.rated = temper.limits.writes_per_minute > 0;
        let ground = Ground {
            disk: FaultyDisk::default(),
            clock: Arc::default(),
            meddler: Arc::new(meddler),
            limits: temper.limits.clone(),
            journal: temper.journal.clone(),
            bounds: temper.bounds,
            residence: temper.residence,
            buffer: temper.buffer,
        };
        Self {
            plan,
            chance,
            temper,
            ground,
            record: Arc::new(Mutex::new(record)),
            cast: cast(),
            revoked: Vec::new(),
            revoked_ids: Arc::default(),
            calls: Vec::new(),
            listeners: Vec::new(),
            held: Vec::new(),
            texts: 0,
            troubled: false,
            full: false,
            lives: 0,
            over: false,
        }
    }

    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap()
    }

    fn report(&self) -> Report {
        let record = self.record();
        Report {
            sum: record.trace.sum(),
            lives: self.lives,
            entries: record.entries() as u64,
            acknowledged: record.acknowledged,
            refused: record.refused,
            reasons: record.reasons.clone(),
            frames: record.frames,
            planted: self.ground.meddler.planted(),
        }
    }

    async fn live(&mut self) -> Result<End, String> {
        self.lives += 1;
        let mut life = Life::begin(&self.ground).await?;
        self.wake_up(&life)?;
        loop {
            let step = self.record().step;
            if self.over {
                return Ok(End::Over);
            }
            if step >= self.plan.steps {
                self.rest(&mut life).await?;
                self.over = true;
                // What is left of it once the power has gone is looked at once more.
                self.die(Cut::ForgetAll);
                return Ok(End::Next);
            }
            self.record().step += 1;
            self.excuse(&life);
            if step % REST_EVERY == REST_EVERY - 1 {
                self.rest(&mut life).await?;
            }
            match self.befall(&mut life).await? {
                None => self.go_on(&life).await?,
                Some(Death::Cut(cut)) => {
                    self.die(cut);
                    return Ok(End::Next);
                }
                Some(Death::InOrder) => {
                    self.retire(life).await?;
                    return Ok(End::Next);
                }
            }
        }
    }

    /// The store is open again: it holds what it must.
    fn wake_up(&mut self, life: &Life) -> Result<(), String> {
        let journal = &life.door.engine.journal;
        {
            let mut record = self.record();
            record.stopping = false;
            record.reopened(journal);
            record.compare(&journal.view(), true);
        }
        let now = life.door.now();
        let tokens = &life.door.tokens;
        for token in &self.revoked {
            if tokens.find(&token.secret, now).is_some() {
                return Err(format!("{} was revoked and is good again", token.id));
            }
        }
        for member in &mut self.cast {
            match &member.token {
                Some(token) if tokens.find(&token.secret, now).is_none() => {
                    return Err(format!("{} of {} is lost", token.id, member.identity));
                }
                Some(_) => {}
                None => member.equip(tokens, now).map_err(|it| format!("no token: {it}"))?,
            }
        }
        self.verdict()
    }

    /// What went wrong, if anything did.
    pub fn verdict(&self) -> Result<(), String> {
        self.record().wrong.clone().map_or(Ok(()), Err)
    }

    /// Lets a little time pass, and looks whether all is as it must be.
    async fn go_on(&mut self, life: &Life) -> Result<(), String> {
        match self.chance.below(self.temper.pace_ms + 1) {
            0 => {
                for _ in 0..self.chance.below(12) {
                    tokio::task::yield_now().await;
                }
            }
            millis => {
                elapse(millis).await;
                self.ground.clock.pass(millis);
            }
        }
        self.inspect(life)
    }

    /// Notes what excuses a refusal at this step.
    pub fn excuse(&self, life: &Life) {
        let mut record = self.record();
        if self.troubled || !life.door.engine.journal.is_writable() {
            record.trouble = record.step;
        }
        if self.full || record.ledger.busy() > self.temper.bounds.writes_max {
            record.crowded = record.step;
        }
    }

    /// The writer takes a step, with so many entries at most.
    pub fn write(&mut self, life: &mut Life, entries_max: usize) -> WriterStep {
        let step = life.writer.step_of(entries_max);
        self.full = step == WriterStep::Full;
        self.excuse(life);
        step
    }

    fn inspect(&mut self, life: &Life) -> Result<(), String> {
        self.excuse(life);
        {
            let journal = &life.door.engine.journal;
            let mut record = self.record();
            record.catch_up(journal);
            record.compare(&journal.view(), false);
        }
        self.calls.retain(|(_, task)| !task.is_finished());
        self.held.retain(|(_, task)| !task.is_finished());
        self.listeners.retain(|listener| !listener.task.is_finished());
        self.verdict()
    }

    /// Everything that was begun comes to an end, on a disk in good order; then all is compared.
    async fn rest(&mut self, life: &mut Life) -> Result<(), String> {
        self.mend();
        self.ground.meddler.set_calm(true);
        for listener in &self.listeners {
            listener.stalled.store(false, std::sync::atomic::Ordering::Relaxed);
        }
        let mut quiet = 0;
        for _ in 0..REST_ROUNDS {
            let step = self.write(life, usize::MAX);
            let folded = life.folder.step().or_else(|_| life.folder.step());
            folded.map_err(|error| format!("folding fails: {error}"))?;
            elapse(3).await;
            self.ground.clock.pass(3);
            self.inspect(life)?;
            let told = self.record().all_told();
            let idle = step == WriterStep::Idle && self.record().ledger.under_way.is_empty();
            quiet = if idle && told { quiet + 1 } else { 0 };
            if quiet > 4 + 4 * self.temper.delay_ms {
                break;
            }
        }
        self.ground.meddler.set_calm(false);
        self.at_rest(life)
    }

    fn at_rest(&self, life: &Life) -> Result<(), String> {
        let forum = &life.door.engine.forum;
        let mut record = self.record();
        if !record.ledger.under_way.is_empty() {
            let waiting = record.ledger.under_way.iter();
            let of = |it: &usize| &record.ledger.intents[record.ledger.attempts[*it].intent];
            let waiting: Vec<_> = waiting.map(of).collect();
            return Err(format!("callers without an answer: {waiting:?}"));
        }
        if !record.all_told() {
            let lacking = record.sessions.iter().filter(|it| it.alive).map(Session::lacks);
            return Err(format!("listeners lack something: {:?}", lacking.collect::<Vec<_>>()));
        }
        forum.ready().map_err(|refusal| format!("the store does not resume: {refusal}"))?;
        let free = forum.admission().free(PermitClass::Write);
        if free != self.temper.bounds.writes_max {
            return Err(format!("{free} of {} permits are left", self.temper.bounds.writes_max));
        }
        let revoked = self.revoked_ids.lock().unwrap();
        if let Some(on) = record.sessions.iter().find(|it| it.alive && revoked.contains(&it.token))
        {
            return Err(format!("a revoked token listens on: {:?}", on.ear));
        }
        for (held, task) in &self.held {
            if !task.is_finished() && !record.shadow.inbox(&held.ear, held.since).is_empty() {
                return Err(format!("a held inbox sleeps though something waits: {held:?}"));
            }
        }
        record.ledger.rest();
        record.touch_all();
        record.compare(&life.door.engine.journal.view(), true);
        let sum = record.trace.sum();
        record.trace.note("rest", &[sum]);
        drop(record);
        self.verdict()
    }

    /// All is well with the disk again.
    pub fn mend(&mut self) {
        self.ground.disk.mend();
        self.troubled = false;
    }

    /// The power goes, or the process: nothing that runs reaches the disk any more.
    fn die(&mut self, cut: Cut) {
        self.ground.disk.cut(cut);
        self.troubled = false;
        self.part();
    }

    /// Whoever calls or listens hears nothing more.
    fn part(&mut self) {
        let mut record = self.record();
        let under_way: Vec<usize> = record.ledger.under_way.iter().copied().collect();
        for attempt in under_way {
            record.ledger.lose(attempt);
        }
        for session in &mut record.sessions {
            session.alive = false;
        }
    }

    /// The server is stopped in good order.
    async fn retire(&mut self, life: Life) -> Result<(), String> {
        self.mend();
        self.record().stopping = true;
        for (_, task) in &self.calls {
            task.abort();
        }
        for (_, task) in &self.held {
            task.abort();
        }
        for listener in &self.listeners {
            listener.task.abort();
        }
        self.part();
        elapse(1).await;
        life.end(&self.ground).await
    }
}
