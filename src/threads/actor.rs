//! The actor of one thread: owns its state ([`parley_protocol::thread::Thread`]), turn and lock.
//!
//! It admits ahead of the disk: an act is judged on the state after all earlier acts, committed or
//! not, and appended to the journal without a wait. An answer that depends on acts not committed
//! yet, a refusal too, goes through the journal's queue behind them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Entry, KeyUse};
use parley_protocol::identity::{Identity, Principal};
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Refusal;
use parley_protocol::thread::{Context, Thread};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::deps::Deps;
use crate::journal::view::RebuiltThread;
use crate::journal::{Append, AppendRefused, Lease, ReplyPort, WriteOutcome};
use crate::yield_points::Point;

/// Acts since the last snapshot from which on a passivated thread offers one: fewer are replayed
/// faster than a snapshot is read.
pub const SNAPSHOT_ACTS_MIN: u64 = 64;
/// Acts since the last snapshot after which a thread that stays awake offers one: about as many are
/// read, beside the snapshot, by the first wake after a kill.
pub const SNAPSHOT_ACTS_MAX: u64 = 1_000;

/// A request to a thread's actor.
#[derive(Debug)]
pub struct ThreadRequest {
    /// The author of the act.
    pub principal: Principal,
    /// The act asked for.
    pub command: Command,
    /// The idempotency key of the call.
    pub key: Option<KeyUse>,
    /// Takes the answer.
    pub reply: ReplyPort,
}

/// The actor of one thread.
///
/// Each request goes through load, admit, apply, append, in this order and without an await from
/// admit to append; its reply port gets one answer. Its state belongs to one generation of the
/// journal and is never behind the last append under its lease: a lost lease, a failed append or
/// another generation discards it, and the next request loads it again.
pub struct ThreadActor {
    thread: ThreadId,
    deps: Arc<Deps>,
}

/// The state of a thread, which the first request to its actor loads.
pub struct LoadedThread {
    thread: Thread,
    lease: Lease,
    /// The journal's generation that the state belongs to.
    generation: u64,
    /// The number of the last append. It is in flight until the journal has committed that number.
    appended: u64,
    /// Acts since the last snapshot that was stored or offered.
    acts_since_snapshot: u64,
}

impl ThreadActor {
    /// The actor of `thread`.
    pub fn new(thread: ThreadId, deps: Arc<Deps>) -> Self {
        Self { thread, deps }
    }

    /// Takes the lease and reads the state, unless the state belongs to the journal's present
    /// generation.
    async fn load(
        &self,
        caller: &Identity,
        state: &mut Option<LoadedThread>,
    ) -> Result<(), Refusal> {
        let journal = &self.deps.journal;
        loop {
            let generation = journal.generation();
            if state.as_ref().is_some_and(|loaded| loaded.generation == generation) {
                return Ok(());
            }
            *state = None;
            let lease = journal.acquire(self.thread).await.map_err(|_| Refusal::internal())??;
            let (view, id) = (journal.view(), self.thread);
            let read = if view.is_in_memory(id) {
                view.rebuilt(id).map_err(Refusal::from)
            } else {
                self.deps.reads.run(caller, move || Ok(view.rebuilt(id)?)).await
            };
            let rebuilt = match read {
                Ok(rebuilt) => rebuilt,
                Err(refusal) => {
                    journal.release(lease);
                    return Err(refusal);
                }
            };
            if journal.generation() != generation {
                continue;
            }
            let Some(RebuiltThread { thread, acts_read }) = rebuilt else {
                journal.release(lease);
                return Err(Refusal::no_thread(self.thread));
            };
            let acts_since_snapshot = acts_read;
            *state =
                Some(LoadedThread { thread, lease, generation, appended: 0, acts_since_snapshot });
        }
    }

    /// Judges, applies, appends. It has no await: an actor is killed at one, and its state must not
    /// be left between admitted and appended.
    fn act(&self, state: &mut Option<LoadedThread>, request: ThreadRequest) {
        let Some(loaded) = state else { return };
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
                    // Applied, but in no queue: the state is ahead of the journal.
                    *state = None;
                }
            }
            Ok(Ok(None)) => {
                let summary = Arc::new(loaded.thread.summary().clone());
                self.answer(loaded, Ok(WriteOutcome::Unchanged(summary)), reply);
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
        let LoadedThread { thread, lease, appended, acts_since_snapshot, .. } = loaded;
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
        *acts_since_snapshot += 1;
        if *acts_since_snapshot >= SNAPSHOT_ACTS_MAX
            && self.deps.journal.offer_snapshot(|| thread.clone())
        {
            *acts_since_snapshot = 0;
        }
        Ok(())
    }

    /// Answers at once if no append is in flight, else behind the last one.
    fn answer(
        &self,
        loaded: &LoadedThread,
        outcome: Result<WriteOutcome, Refusal>,
        reply: ReplyPort,
    ) {
        let journal = &self.deps.journal;
        // In this order: had the last append been lost, the generation would have changed before
        // any later entry is shown.
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
    type State = Option<LoadedThread>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<ThreadRequest>,
        (): (),
    ) -> Result<Option<LoadedThread>, ActorProcessingErr> {
        Ok(None)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ThreadRequest>,
        request: ThreadRequest,
        state: &mut Option<LoadedThread>,
    ) -> Result<(), ActorProcessingErr> {
        let hook = &self.deps.hook;
        hook.reach(Point::Received(self.thread)).await;
        if let Err(refusal) = self.load(&request.principal.identity, state).await {
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
        state: &mut Option<LoadedThread>,
    ) -> Result<(), ActorProcessingErr> {
        self.deps.hook.reach(Point::OnStop(self.thread)).await;
        let Some(loaded) = state.take() else {
            return Ok(());
        };
        let journal = &self.deps.journal;
        let settled =
            loaded.generation == journal.generation() && loaded.appended <= journal.log().shown();
        if settled && loaded.acts_since_snapshot >= SNAPSHOT_ACTS_MIN {
            journal.offer_snapshot(|| loaded.thread);
        }
        journal.release(loaded.lease);
        Ok(())
    }
}
