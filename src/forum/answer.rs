//! Answers, as HTTP and MCP both give them; those of writes are encoded by the task that waited.

use bytes::Bytes;
use parley_protocol::claim::Claim;
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, StoredOutcome};
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::wire::{self, JsonBuffer};

use super::Forum;
use crate::journal::WriteOutcome;
use crate::journal::archive::{FirstOutcome, RememberedOutcome};
use crate::journal::view::View;

/// Bytes that suffice for most answers of writes.
const ANSWER_BYTES: usize = 1_536;

/// The answer of a call.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The whole body: JSON.
    pub body: Bytes,
    /// The thread of a new message, for `Location`.
    pub location: Option<ThreadId>,
    /// Whether it repeats the first outcome of a known idempotency key.
    pub replayed: bool,
}

impl Answer {
    /// 200 with this JSON.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self { status: 200, body: body.into(), location: None, replayed: false }
    }

    /// The same, with another status.
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Whether the body is a problem object.
    pub fn is_refusal(&self) -> bool {
        self.status >= 400
    }
}

/// The objects of a write's answer, which depend on its command alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// The message and its thread.
    Message,
    /// The thread and the event, if there was one.
    State,
    /// The claim.
    Claim {
        /// Whether the write made it.
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
    /// The answer of a write with this outcome.
    pub(super) fn write_answer(&self, kind: AnswerKind, outcome: &WriteOutcome) -> Result<Answer> {
        let committed = match outcome {
            WriteOutcome::Unchanged(summary) => return Ok(self.state_answer(summary, None)),
            WriteOutcome::Committed(committed) => committed,
        };
        let act = committed.entry.act().ok_or_else(Refusal::internal)?;
        let summary = || committed.summary.as_deref().ok_or_else(Refusal::internal);
        match kind {
            AnswerKind::Message => Ok(self.message_answer(act, summary()?)),
            AnswerKind::State => Ok(self.state_answer(summary()?, Some(act))),
            AnswerKind::Claim { made } => {
                let claim = committed.claims.first().ok_or_else(Refusal::internal)?;
                Ok(self.claim_answer(made, claim))
            }
        }
    }

    /// The first outcome of a known key: the status, message, claim, event or refusal of then; a
    /// Thread beside it is as it is now.
    pub(super) fn answer_again(
        &self,
        view: &View,
        remembered: RememberedOutcome,
        kind: Option<AnswerKind>,
    ) -> Result<Answer> {
        let answer = match (remembered.outcome, kind) {
            (FirstOutcome::Act { thread, entry }, kind) => {
                let found = view.summary(thread)?.zip(view.act_at(thread, entry)?);
                let (summary, placed) = found.ok_or_else(Refusal::internal)?;
                match kind {
                    Some(AnswerKind::Message) => self.message_answer(placed.act(), &summary),
                    Some(AnswerKind::State | AnswerKind::Claim { .. }) | None => {
                        self.state_answer(&summary, Some(placed.act()))
                    }
                }
            }
            (FirstOutcome::Claim { claim, .. }, Some(AnswerKind::Claim { made })) => {
                self.claim_answer(made, &claim)
            }
            (FirstOutcome::Claim { .. }, Some(AnswerKind::Message | AnswerKind::State) | None) => {
                return Err(Refusal::internal());
            }
            (FirstOutcome::Published(answer), _) => Answer::ok(answer.into_vec()).with_status(201),
            (FirstOutcome::Other(StoredOutcome::Unchanged(thread)), _) => {
                let summary = view.summary(thread)?.ok_or_else(Refusal::internal)?;
                self.state_answer(&summary, None)
            }
            (FirstOutcome::Other(StoredOutcome::Published(answer)), _) => {
                Answer::ok(answer.into_vec())
            }
            (FirstOutcome::Other(StoredOutcome::Refused(refusal)), _) => {
                Answer::ok(refusal.problem.into_vec()).with_status(refusal.status)
            }
        };
        Ok(Answer { replayed: true, ..answer })
    }

    fn message_answer(&self, act: &Act, summary: &ThreadSummary) -> Answer {
        let mut body = JsonBuffer::with_capacity(ANSWER_BYTES);
        wire::posted(&mut body, act, summary, &self.cursor(summary.position));
        Answer { location: Some(act.thread), ..Answer::ok(body).with_status(201) }
    }

    fn state_answer(&self, summary: &ThreadSummary, act: Option<&Act>) -> Answer {
        let mut body = JsonBuffer::with_capacity(ANSWER_BYTES);
        wire::marked(&mut body, summary, &self.cursor(summary.position), act);
        Answer::ok(body)
    }

    fn claim_answer(&self, made: bool, claim: &Claim) -> Answer {
        let mut body = JsonBuffer::with_capacity(ANSWER_BYTES);
        wire::claim_changed(&mut body, claim, self.now());
        Answer::ok(body).with_status(if made { 201 } else { 200 })
    }
}

impl From<Refusal> for Answer {
    /// The problem object with its status.
    fn from(refusal: Refusal) -> Self {
        let status = refusal.reason.status();
        Self { status, body: refusal.to_json().into(), location: None, replayed: false }
    }
}
