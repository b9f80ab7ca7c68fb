//! Performs writes: rate, permit, idempotency key, then the thread's actor.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parley_protocol::arguments::{content_digest, key_digest};
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Entry, KeyUse, StoredOutcome};
use parley_protocol::identity::{Principal, Right};
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::refusal::{Refusal, Result, StoredRefusal};
use parley_protocol::thread::{Context, Thread};
use parley_protocol::thread_summary::ThreadSummary;
use ractor::MessagingErr;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Forum;
use super::answer::{Answer, AnswerKind};
use super::read::known;
use crate::journal::archive::FirstOutcome;
use crate::journal::view::{Placed, View};
use crate::journal::{Append, ReplyPort, WriteOutcome};
use crate::threads::actor::ThreadRequest;
use crate::threads::router::Route;
use crate::yield_points::Point;

/// How often a call that waits looks whether the disk has stalled.
const STALL_LOOK: Duration = Duration::from_millis(500);

impl Forum {
    pub(super) async fn write(
        &self,
        principal: &Principal,
        thread: Option<ThreadId>,
        command: Command,
        key: Option<&str>,
    ) -> Result<Answer> {
        if let Command::Attest(proof) = &command
            && proof.seal
            && !principal.rights.has(Right::Verify)
        {
            return Err(Refusal::lacks(Right::Verify));
        }
        let permit = self.admit_write(principal).await?;
        if let Some(key) = key {
            // On the heap: few writes have a key, and the future of each would be larger.
            return Box::pin(self.write_keyed(principal, thread, command, key, permit)).await;
        }
        let kind = AnswerKind::of(&command);
        let acted = self.act(principal, thread, command, None, permit);
        let outcome = self.unless_stalled(acted).await?;
        self.write_answer(kind, &outcome)
    }

    async fn write_keyed(
        &self,
        principal: &Principal,
        thread: Option<ThreadId>,
        command: Command,
        key: &str,
        permit: OwnedSemaphorePermit,
    ) -> Result<Answer> {
        let used = KeyUse {
            key: key_digest(&principal.identity, key),
            content: content_digest(thread, &command),
        };
        let (forum, caller, kind) = (self.clone(), principal.clone(), AnswerKind::of(&command));
        let first = async move {
            command.check_time(forum.now())?;
            let outcome = forum.act(&caller, thread, command, Some(used), permit).await?;
            let unchanged = match &outcome {
                WriteOutcome::Unchanged(summary) => Some(StoredOutcome::Unchanged(summary.id)),
                WriteOutcome::Committed(_) => None,
            };
            Ok((forum.write_answer(kind, &outcome)?, unchanged))
        };
        self.once(principal, used, Some(kind), first).await
    }

    /// Counts a write against the rate of its identity and takes a permit for it.
    async fn admit_write(&self, principal: &Principal) -> Result<OwnedSemaphorePermit> {
        self.count_write(principal)?;
        self.write_permit().await
    }

    /// Counts a write against the rate of its identity.
    pub(super) fn count_write(&self, principal: &Principal) -> Result<()> {
        let now = self.inner.deps.clock.moment();
        self.inner.admission.count_write(&principal.identity, now)
    }

    /// A permit for a write.
    pub(super) async fn write_permit(&self) -> Result<OwnedSemaphorePermit> {
        self.inner.admission.permit().await
    }

    /// Runs a call as a task of its own: it goes on, and holds its key, if its client disconnects.
    pub(super) async fn detached(
        &self,
        call: impl Future<Output = Result<Answer>> + Send + 'static,
    ) -> Result<Answer> {
        let task = self.inner.tasks.spawn(call);
        let answered = async { task.await.unwrap_or_else(|_| Err(Refusal::internal())) };
        self.unless_stalled(answered).await
    }

    /// What `call` comes to, or 503 `storage_unavailable` once the disk has stalled: the caller is
    /// not kept waiting as long as the disk, and what is under way may still be stored.
    async fn unless_stalled<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let mut call = pin!(call);
        loop {
            match tokio::time::timeout(STALL_LOOK, &mut call).await {
                Ok(outcome) => return outcome,
                Err(_) if self.inner.deps.journal.is_stalled() => {
                    return Err(Refusal::store_uncertain());
                }
                Err(_) => {}
            }
        }
    }

    /// Answers a call under a key: with the first outcome of the key, if it has one, else with that
    /// of `first`. An outcome that is in no act or artifact, which `first` gives beside the answer,
    /// is stored, and so is a refusal that keys remember.
    pub(super) async fn once(
        &self,
        principal: &Principal,
        used: KeyUse,
        kind: Option<AnswerKind>,
        first: impl Future<Output = Result<(Answer, Option<StoredOutcome>)>> + Send + 'static,
    ) -> Result<Answer> {
        let (forum, caller) = (self.clone(), principal.clone());
        let answered = async move {
            let _in_flight = forum.inner.in_flight_keys.acquire(used.key).await;
            let remembered = move |forum: &Self| forum.remembered(&used, kind);
            if let Some(again) = forum.aside(&caller, remembered).await? {
                return Ok(again);
            }
            let (result, outcome) = match first.await {
                Ok((answer, outcome)) => (Ok(answer), outcome),
                Err(refusal) => {
                    let stored = || StoredOutcome::Refused(StoredRefusal::from(&refusal));
                    let outcome = refusal.is_remembered().then(stored);
                    (Err(refusal), outcome)
                }
            };
            if let Some(outcome) = outcome {
                forum.remember(used, outcome).await?;
            }
            result
        };
        self.detached(answered).await
    }

    /// The first outcome of a known key, or 409 if the key came with another call.
    fn remembered(&self, used: &KeyUse, kind: Option<AnswerKind>) -> Result<Option<Answer>> {
        let view = self.view();
        match view.outcome(&used.key)? {
            None => Ok(None),
            Some(first) if first.content != used.content => {
                let (thread, outcome) = made(&view, &first.outcome)?;
                Err(Refusal::idempotency_conflict(thread, &outcome))
            }
            Some(first) => self.answer_again(&view, first, kind).map(Some),
        }
    }

    /// Stores the outcome of a key; it is on disk once this returns.
    async fn remember(&self, used: KeyUse, outcome: StoredOutcome) -> Result<()> {
        let entry = Entry::Outcome(self.inner.deps.clock.now(), used, outcome);
        self.store(entry, None).await.map(drop)
    }

    /// Appends an entry without a thread and waits until it is on disk.
    pub(super) async fn store(
        &self,
        entry: Entry,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<WriteOutcome> {
        let (sender, receiver) = oneshot::channel();
        let reply = ReplyPort { sender, permit };
        // A refused append has its reply already.
        let _ = self.inner.deps.journal.append(|_| Append {
            lease: None,
            entry,
            summary: None,
            claims: Vec::new(),
            reply,
        });
        self.answered(receiver).await
    }

    async fn act(
        &self,
        principal: &Principal,
        thread: Option<ThreadId>,
        command: Command,
        key: Option<KeyUse>,
        permit: OwnedSemaphorePermit,
    ) -> Result<WriteOutcome> {
        let (sender, receiver) = oneshot::channel();
        let reply = ReplyPort { sender, permit: Some(permit) };
        let thread = match (thread, &command) {
            (Some(thread), _) => thread,
            (None, Command::Attest(proof) | Command::Refute(proof)) => {
                self.thread_of_claim(principal, proof.claim).await?
            }
            (
                None,
                Command::Post(_)
                | Command::Mark(_)
                | Command::Confirm(_)
                | Command::Reopen(_)
                | Command::Assert(_),
            ) => {
                self.open(principal, &command, key, reply);
                return self.answered(receiver).await;
            }
        };
        let request = ThreadRequest { principal: principal.clone(), command, key, reply };
        self.inner.deps.hook.reach(Point::BeforeSend(thread)).await;
        self.send(thread, request).await?;
        self.answered(receiver).await
    }

    /// The thread of a claim.
    async fn thread_of_claim(&self, principal: &Principal, claim: ClaimId) -> Result<ThreadId> {
        if let Some(thread) = self.view().recent_claim_thread(claim) {
            return Ok(thread);
        }
        let found = self.aside(principal, move |forum| Ok(forum.view().claim(claim)?)).await?;
        found.map(|claim| claim.thread).ok_or_else(|| Refusal::claim_not_found(claim))
    }

    /// Opens a thread, without an actor: no caller has its identifier before its opening is on
    /// disk, and the next act in it starts one.
    fn open(
        &self,
        principal: &Principal,
        command: &Command,
        key: Option<KeyUse>,
        reply: ReplyPort,
    ) {
        let deps = &self.inner.deps;
        let mut numbers = deps.journal.numbers();
        let mut ctx = Context {
            now: deps.clock.now(),
            principal,
            limits: &deps.limits,
            numbers: &mut numbers,
            key,
        };
        // A refused append has its reply already.
        let _ = deps.journal.open_thread(|number, thread| {
            let act = Thread::opening(&mut ctx, thread, command);
            let summary = ThreadSummary::open(&act).map(|mut summary| {
                summary.stamp(&act, number);
                Arc::new(summary)
            });
            Append {
                lease: None,
                entry: Entry::Act(Box::new(act)),
                summary,
                claims: Vec::new(),
                reply,
            }
        });
    }

    /// Sends a request to its thread's actor; the router starts one if need be.
    async fn send(&self, thread: ThreadId, request: ThreadRequest) -> Result<()> {
        let mut unsent = Some(request);
        let awake = self.inner.active_threads.with(thread, |actor| {
            // An actor that is stopping gives the request back; any other error drops it, and with
            // it the reply port, which answers the caller too.
            if let Some(request) = unsent.take()
                && let Err(MessagingErr::SendErr(request)) = actor.send_message(request)
            {
                unsent = Some(request);
            }
        });
        let Some(request) = unsent else { return Ok(()) };
        if awake.is_none() && !self.view().is_recent(thread) {
            let found = move |forum: &Self| known(&forum.view(), thread).map(drop);
            self.aside(&request.principal, found).await?;
        }
        self.router(thread)
            .send_message(Route(thread, request))
            .map_err(|_| Refusal::shutting_down())
    }

    async fn answered(
        &self,
        receiver: oneshot::Receiver<Result<WriteOutcome>>,
    ) -> Result<WriteOutcome> {
        receiver.await.unwrap_or_else(|_| {
            let stopping = self.inner.stopping.is_cancelled();
            Err(if stopping { Refusal::shutting_down() } else { Refusal::internal() })
        })
    }
}

/// What the first call under a key has made: its thread, and a name of the thing.
fn made(view: &View, outcome: &FirstOutcome) -> Result<(Option<ThreadId>, String)> {
    Ok(match outcome {
        FirstOutcome::Act { thread, entry } => {
            let placed = view.act_at(*thread, *entry)?;
            let act = placed.as_ref().map(Placed::act);
            let message = act.and_then(Act::message).map(|it| it.id.to_string());
            let event = act.and_then(|act| act.event.as_ref()).map(|it| it.id.to_string());
            (Some(*thread), message.or(event).unwrap_or_else(|| thread.to_string()))
        }
        FirstOutcome::Claim { claim, .. } => (Some(claim.thread), claim.id.to_string()),
        FirstOutcome::Other(StoredOutcome::Unchanged(thread)) => {
            (Some(*thread), format!("no change of {thread}"))
        }
        FirstOutcome::Other(StoredOutcome::Refused(_)) => (None, "nothing: it was refused".into()),
        FirstOutcome::Published(_) | FirstOutcome::Other(StoredOutcome::Published(_)) => {
            (None, "an artifact".into())
        }
    })
}
