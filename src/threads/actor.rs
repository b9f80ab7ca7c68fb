//! The actor around [`parley_protocol::thread::Thread`]: owns a thread's state, turn and lock.
//!
//! It admits ahead of the disk: an act is judged on the state that the acts before it made, also
//! those that are still on their way to the disk, and handed to the journal without waiting. What
//! depends on such acts, refusals too, rides the journal's queue behind them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Entry, KeyUse};
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Refusal;
use parley_protocol::thread::{Context, Thread};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::deps::Deps;
use crate::journal::{Append, AppendRefused, Lease, ReplyPort, WriteOutcome};
use crate::yield_points::Point;

/// Acts since the last snapshot from which on a sleeping thread leaves one behind: fewer are
/// replayed faster than a snapshot is read.
pub const SNAPSHOT_ACTS_MIN: u64 = 64;

/// What a thread's actor is asked.
#[derive(Debug)]
pub struct ThreadRequest {
    /// Who asks.
    pub principal: Principal,
    /// What.
    pub command: Command,
    /// The idempotency key that it came under.
    pub key: Option<KeyUse>,
    /// Where the answer goes.
    pub reply: ReplyPort,
}

/// The actor of one thread.
pub struct ThreadActor {
    thread: ThreadId,
    deps: Arc<Deps>,
}

/// The state of one thread's actor: nothing until the first request loads it.
#[derive(Default)]
pub struct ThreadState {
    loaded: Option<LoadedThread>,
}

struct LoadedThread {
    thread: Thread,
    lease: Lease,
    /// The journal's generation that the state belongs to.
    generation: u64,
    /// The number of the last append; up to the journal's committed number nothing is in flight.
    appended: u64,
    /// The acts that were there when the state was loaded.
    seq_at_start: u64,
}

impl ThreadActor {
    /// The actor of `thread`.
    pub fn new(thread: ThreadId, deps: Arc<Deps>) -> Self {
        Self { thread, deps }
    }

    /// Takes the lease and reads the state, unless what is there belongs to the journal's present
    /// generation.
    async fn load(&self, state: &mut ThreadState) -> Result<(), Refusal> {
        let journal = &self.deps.journal;
        loop {
            let generation = journal.generation();
            if state.loaded.as_ref().is_some_and(|loaded| loaded.generation == generation) {
                return Ok(());
            }
            state.loaded = None;
            let lease = journal.acquire(self.thread).await.map_err(|_| Refusal::internal())??;
            let thread = journal.view().thread(self.thread)?;
            if journal.generation() != generation {
                continue;
            }
            let Some(thread) = thread else {
                journal.release(lease);
                return Err(Refusal::no_thread(self.thread));
            };
            let seq_at_start = thread.summary().seq;
            state.loaded =
                Some(LoadedThread { thread, lease, generation, appended: 0, seq_at_start });
        }
    }

    /// Judges, applies, appends. There is no await in here: a kill lands at an await, and state
    /// must not stand between admitted and appended then.
    fn act(&self, state: &mut ThreadState, request: ThreadRequest) {
        let Some(loaded) = &mut state.loaded else { return };
        let ThreadRequest { principal, command, key, reply } = request;
        let mut numbers = self.deps.journal.numbers();
        let mut ctx = Context {
            now: self.deps.clock.now(),
            principal: &principal,
            limits: &self.deps.limits,
            numbers: &mut numbers,
            key,
        };
        let judged = catch_unwind(AssertUnwindSafe(|| loaded.thread.admit(&mut ctx, &command)));
        match judged {
            Ok(Ok(Some(act))) => {
                if self.append(loaded, act, reply).is_err() {
                    // Applied, but in no queue: what stands here is ahead of the journal.
                    state.loaded = None;
                }
            }
            Ok(Ok(None)) => {
                let head = Arc::new(loaded.thread.summary().clone());
                self.answer(loaded, Ok(WriteOutcome::Unchanged(head)), reply);
            }
            Ok(Err(refusal)) => self.answer(loaded, Err(refusal), reply),
            Err(_) => {
                tracing::error!(thread = %self.thread, "judging an act panicked");
                self.answer(loaded, Err(Refusal::internal()), reply);
            }
        }
    }

    fn append(
        &self,
        loaded: &mut LoadedThread,
        act: Act,
        reply: ReplyPort,
    ) -> Result<(), AppendRefused> {
        let LoadedThread { thread, lease, appended, .. } = loaded;
        thread.apply(&act);
        *appended = self.deps.journal.append(|number| {
            thread.stamp(&act, number);
            let claims = act.claims().filter_map(|id| thread.claim(id).cloned()).collect();
            Append {
                lease: Some(*lease),
                summary: Some(Arc::new(thread.summary().clone())),
                claims,
                entry: Entry::Act(Box::new(act)),
                reply,
            }
        })?;
        Ok(())
    }

    /// Answers at once if nothing is in flight, else behind what is.
    fn answer(
        &self,
        loaded: &LoadedThread,
        outcome: Result<WriteOutcome, Refusal>,
        reply: ReplyPort,
    ) {
        let journal = &self.deps.journal;
        // In this order: were the last append lost, the generation would be another one by the time
        // at which anything after it is shown.
        let settled =
            loaded.appended <= journal.committed() && loaded.generation == journal.generation();
        if settled {
            reply.send(outcome);
        } else {
            journal.barrier(Some(loaded.lease), loaded.generation, outcome, reply);
        }
    }
}

impl Actor for ThreadActor {
    type Msg = ThreadRequest;
    type State = ThreadState;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<ThreadRequest>,
        (): (),
    ) -> Result<ThreadState, ActorProcessingErr> {
        Ok(ThreadState::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<ThreadRequest>,
        request: ThreadRequest,
        state: &mut ThreadState,
    ) -> Result<(), ActorProcessingErr> {
        let hook = &self.deps.hook;
        hook.reach(Point::Received(self.thread)).await;
        if let Err(refusal) = self.load(state).await {
            request.reply.send(Err(refusal));
            return Ok(());
        }
        hook.reach(Point::BeforeAdmit(self.thread)).await;
        if let Some(refusal) = self.deps.journal.refuses() {
            request.reply.send(Err(refusal));
            return Ok(());
        }
        self.act(state, request);
        hook.reach(Point::AfterAdmit(self.thread)).await;
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<ThreadRequest>,
        state: &mut ThreadState,
    ) -> Result<(), ActorProcessingErr> {
        self.deps.hook.reach(Point::OnStop(self.thread)).await;
        let Some(loaded) = state.loaded.take() else {
            return Ok(());
        };
        let journal = &self.deps.journal;
        let settled =
            loaded.generation == journal.generation() && loaded.appended <= journal.log().shown();
        let grown = loaded.thread.summary().seq - loaded.seq_at_start;
        if settled && grown >= SNAPSHOT_ACTS_MIN {
            journal.offer_snapshot(loaded.thread);
        }
        journal.release(loaded.lease);
        Ok(())
    }
}
