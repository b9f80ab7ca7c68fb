//! Answers of writes: encoded once, by the task that waited.

use bytes::Bytes;
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, StoredOutcome};
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result, StoredRefusal};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::wire::{self, JsonBuffer};

use super::Forum;
use crate::journal::WriteOutcome;
use crate::journal::archive::{FirstOutcome, RememberedOutcome};
use crate::journal::view::View;

/// Bytes that an answer of a write usually needs: one allocation for most.
const ANSWER_BYTES: usize = 1_536;

/// What a call is answered with.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The whole body: JSON.
    pub body: Bytes,
    /// The thread that a message was put in, for `Location`.
    pub location: Option<ThreadId>,
    /// Whether this is the first outcome of a known idempotency key again.
    pub replayed: bool,
}

impl Answer {
    /// A 200 of JSON.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self { status: 200, body: body.into(), location: None, replayed: false }
    }

    /// The same, with another status.
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    fn again(self) -> Self {
        Self { replayed: true, ..self }
    }

    /// A refusal that was remembered, as it was given first.
    fn refused(refusal: StoredRefusal) -> Self {
        Self {
            status: refusal.status,
            body: refusal.problem.into_vec().into(),
            location: None,
            replayed: true,
        }
    }

    /// Whether the body is a problem object.
    pub fn is_refusal(&self) -> bool {
        self.status >= 400
    }
}

/// What a write is answered with: known before its command goes to the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// The message and its thread.
    Message,
    /// The thread and the event, if there was one.
    State,
    /// The claim, made just now or changed.
    Claim {
        /// Whether it was made.
        made: bool,
    },
}

impl AnswerKind {
    /// That of `command`.
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Post(_) => Self::Message,
            Command::Mark(_) | Command::Confirm(_) | Command::Reopen(_) => Self::State,
            Command::Assert(_) => Self::Claim { made: true },
            Command::Attest(_) | Command::Refute(_) => Self::Claim { made: false },
        }
    }
}

impl Forum {
    /// The answer of a write that was carried out just now.
    pub(super) fn write_answer(&self, shape: AnswerKind, done: &WriteOutcome) -> Result<Answer> {
        match done {
            WriteOutcome::Unchanged(head) => Ok(self.marked(head, None)),
            WriteOutcome::Committed(committed) => {
                let act = committed.entry.act().ok_or_else(Refusal::internal)?;
                match shape {
                    AnswerKind::Message => {
                        let head = committed.summary.as_deref().ok_or_else(Refusal::internal)?;
                        Ok(self.posted(act, head))
                    }
                    AnswerKind::State => {
                        let head = committed.summary.as_deref().ok_or_else(Refusal::internal)?;
                        Ok(self.marked(head, Some(act)))
                    }
                    AnswerKind::Claim { made } => {
                        let claim = committed.claims.first().ok_or_else(Refusal::internal)?;
                        Ok(self.claim_changed(made, claim))
                    }
                }
            }
        }
    }

    /// The first outcome of a known key: the same status and the same message, claim, event or
    /// refusal as then; a Thread beside it shows the present.
    pub(super) fn answer_again(
        &self,
        view: &View,
        remembered: RememberedOutcome,
        shape: Option<AnswerKind>,
    ) -> Result<Answer> {
        match (remembered.outcome, shape) {
            (FirstOutcome::Act { thread, entry }, Some(AnswerKind::Message)) => {
                let (head, act) = (view.summary(thread)?, view.act_at(thread, entry)?);
                let (head, act) = head.zip(act).ok_or_else(Refusal::internal)?;
                Ok(self.posted(act.act(), &head).again())
            }
            (FirstOutcome::Act { thread, entry }, _) => {
                let (head, act) = (view.summary(thread)?, view.act_at(thread, entry)?);
                let (head, act) = head.zip(act).ok_or_else(Refusal::internal)?;
                Ok(self.marked(&head, Some(act.act())).again())
            }
            (FirstOutcome::Claim { claim, .. }, Some(AnswerKind::Claim { made })) => {
                Ok(self.claim_changed(made, &claim).again())
            }
            (FirstOutcome::Claim { .. }, _) => Err(Refusal::internal()),
            (FirstOutcome::Published(answer), _) => {
                Ok(Answer::ok(answer.into_vec()).with_status(201).again())
            }
            (FirstOutcome::Other(StoredOutcome::Unchanged(thread)), _) => {
                let head = view.summary(thread)?.ok_or_else(Refusal::internal)?;
                Ok(self.marked(&head, None).again())
            }
            (FirstOutcome::Other(StoredOutcome::Published(answer)), _) => {
                Ok(Answer::ok(answer.into_vec()).again())
            }
            (FirstOutcome::Other(StoredOutcome::Refused(refusal)), _) => {
                Ok(Answer::refused(refusal))
            }
        }
    }

    fn posted(&self, act: &Act, head: &ThreadSummary) -> Answer {
        let mut body = JsonBuffer::with_capacity(ANSWER_BYTES);
        wire::posted(&mut body, act, head, &self.cursor(head.position));
        Answer { location: Some(act.thread), ..Answer::ok(body).with_status(201) }
    }

    fn marked(&self, head: &ThreadSummary, act: Option<&Act>) -> Answer {
        let mut body = JsonBuffer::with_capacity(ANSWER_BYTES);
        wire::marked(&mut body, head, &self.cursor(head.position), act);
        Answer::ok(body)
    }

    fn claim_changed(&self, made: bool, claim: &parley_protocol::claim::Claim) -> Answer {
        let mut body = JsonBuffer::with_capacity(ANSWER_BYTES);
        wire::claim_changed(&mut body, claim, self.now());
        let status = if made { 201 } else { 200 };
        Answer::ok(body).with_status(status)
    }
}

impl From<Refusal> for Answer {
    /// The problem object, as MCP and HTTP both give it.
    fn from(refusal: Refusal) -> Self {
        let status = refusal.reason.status();
        Self { status, body: refusal.to_json().into(), location: None, replayed: false }
    }
}
