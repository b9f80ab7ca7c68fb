//! Writes: rate, permit, idempotency key, then the thread's actor.

use std::sync::Arc;

use parley_protocol::arguments::{content_digest, key_digest};
use parley_protocol::claim;
use parley_protocol::command::Command;
use parley_protocol::entry::{Entry, KeyUse, StoredOutcome};
use parley_protocol::identity::{Principal, Right};
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::refusal::{Refusal, Result, StoredRefusal};
use parley_protocol::thread::{Context, Thread};
use parley_protocol::thread_summary::ThreadSummary;
use ractor::MessagingErr;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Forum;
use super::answer::{Answer, AnswerKind};
use crate::journal::{Append, ReplyPort, WriteOutcome};
use crate::threads::actor::ThreadRequest;
use crate::threads::admission::PermitClass;
use crate::threads::router::Route;
use crate::yield_points::Point;

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
            // Apart: each write would carry the room for it.
            return Box::pin(self.write_keyed(principal, thread, command, key, permit)).await;
        }
        let shape = AnswerKind::of(&command);
        let done = self.act(principal, thread, command, None, permit).await?;
        self.write_answer(shape, &done)
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
        let (forum, principal) = (self.clone(), principal.clone());
        // A client that goes away must not leave the key free while its call is under way.
        let keyed = self.inner.tasks.spawn(async move {
            forum.write_once(&principal, thread, command, used, permit).await
        });
        keyed.await.unwrap_or_else(|_| Err(Refusal::internal()))
    }

    /// Counts a write against its identity's rate and takes a permit for it.
    pub(super) async fn admit_write(&self, principal: &Principal) -> Result<OwnedSemaphorePermit> {
        let now = self.inner.deps.clock.now();
        self.inner.admission.count_write(&principal.identity, now)?;
        self.inner.admission.permit(PermitClass::Write).await
    }

    async fn write_once(
        &self,
        principal: &Principal,
        thread: Option<ThreadId>,
        command: Command,
        used: KeyUse,
        permit: OwnedSemaphorePermit,
    ) -> Result<Answer> {
        let shape = AnswerKind::of(&command);
        let _under_way = self.inner.in_flight_keys.acquire(used.key).await;
        if let Some(again) = self.remembered(&used, Some(shape))? {
            return again;
        }
        let result = self.act(principal, thread, command, Some(used), permit).await;
        match &result {
            Ok(WriteOutcome::Unchanged(head)) => {
                self.remember(used, StoredOutcome::Unchanged(head.id)).await?;
            }
            Err(refusal) if refusal.is_remembered() => {
                self.remember(used, StoredOutcome::Refused(StoredRefusal::from(refusal))).await?;
            }
            _ => {}
        }
        self.write_answer(shape, &result?)
    }

    /// The first outcome of a known key, or 409 if it was used for something else.
    pub(super) fn remembered(
        &self,
        used: &KeyUse,
        shape: Option<AnswerKind>,
    ) -> Result<Option<Result<Answer>>> {
        let view = self.inner.deps.journal.view();
        let Some(remembered) = view.outcome(&used.key)? else {
            return Ok(None);
        };
        if remembered.content != used.content {
            return Err(Refusal::idempotency_conflict());
        }
        Ok(Some(self.answer_again(&view, remembered, shape)))
    }

    /// Stores an outcome that changed nothing; durable once this returns.
    pub(super) async fn remember(&self, used: KeyUse, outcome: StoredOutcome) -> Result<()> {
        let entry = Entry::Outcome(self.inner.deps.clock.now(), used, outcome);
        self.store(entry, None).await.map(drop)
    }

    /// Appends what belongs to no thread and waits until it is on disk.
    pub(super) async fn store(
        &self,
        entry: Entry,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<WriteOutcome> {
        let (sender, receiver) = oneshot::channel();
        let reply = ReplyPort { sender, permit };
        // What is refused has its reply already.
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
                self.thread_of_claim(proof.claim)?
            }
            (None, _) => {
                self.open(principal, &command, key, reply);
                return self.answered(receiver).await;
            }
        };
        let request = ThreadRequest { principal: principal.clone(), command, key, reply };
        self.inner.deps.hook.reach(Point::BeforeSend(thread)).await;
        self.send(thread, request)?;
        self.answered(receiver).await
    }

    /// The thread of a claim.
    fn thread_of_claim(&self, claim: ClaimId) -> Result<ThreadId> {
        let claim = self
            .inner
            .deps
            .journal
            .view()
            .claim(claim)?
            .ok_or_else(|| Refusal::claim_not_found(claim))?;
        let claim: &claim::Claim = &claim;
        Ok(claim.thread)
    }

    /// Opens a thread. It has no actor yet: nobody knows it before its opening is on disk, and
    /// its first act wakes it.
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
        // What is refused has its reply already.
        let _ = deps.journal.open_thread(|number, thread| {
            let act = Thread::opening(&mut ctx, thread, command);
            let head = ThreadSummary::open(&act).map(|mut head| {
                head.stamp(&act, number);
                Arc::new(head)
            });
            Append {
                lease: None,
                entry: Entry::Act(Box::new(act)),
                summary: head,
                claims: Vec::new(),
                reply,
            }
        });
    }

    /// Brings a request into the mailbox of its thread's actor, waking it if need be.
    fn send(&self, thread: ThreadId, request: ThreadRequest) -> Result<()> {
        let mut unsent = Some(request);
        let awake = self.inner.active_threads.with(thread, |actor| {
            // An actor that is ending takes nothing in; what else may be wrong drops the request,
            // and with it the way back, which is an answer too.
            if let Some(request) = unsent.take()
                && let Err(MessagingErr::SendErr(request)) = actor.send_message(request)
            {
                unsent = Some(request);
            }
        });
        let Some(request) = unsent else { return Ok(()) };
        if awake.is_none() && self.inner.deps.journal.view().summary(thread)?.is_none() {
            return Err(Refusal::no_thread(thread));
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
