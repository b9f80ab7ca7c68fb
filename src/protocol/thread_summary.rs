//! The summary of a thread, without its messages: the Thread object of bindings.md §2.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::{Act, Awaiting, Change, Due, Position};
use crate::identity::{AuthorKind, Participant};
use crate::ids::ThreadId;
use crate::limits::SUBJECT_MAX;
use crate::state::{Origin, State};
use crate::time::Millis;

/// The summary of a thread after its acts so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSummary {
    /// The thread.
    pub id: ThreadId,
    /// When it was opened.
    pub created_at: Millis,
    /// When it changed last.
    pub updated_at: Millis,
    /// The opening participant.
    pub creator: Participant,
    /// Whether the creator is a human or a model.
    pub author_kind: AuthorKind,
    /// The first characters of the opening body.
    pub subject: Arc<str>,
    /// The one state.
    pub state: State,
    /// Whether a human or a model set it.
    pub origin: Origin,
    /// When it was confirmed; `None` is a proposal.
    pub confirmed_at: Option<Millis>,
    /// `KI · <label>` if it is confirmed by virtue of `lock`.
    pub label: Option<Arc<str>>,
    /// The one open turn.
    pub awaiting: Option<Awaiting>,
    /// The entry whose act set `awaiting` last; 0 if none has.
    pub awaiting_entry: u64,
    /// The entry that holds the awaited message; 0 if none has.
    pub awaited_entry: u64,
    /// Messages stored.
    pub message_count: u64,
    /// Claims stored.
    pub claim_count: u64,
    /// Acts applied: the `seq` of the next one.
    pub seq: u64,
    /// The position of the last change; 0 until [`ThreadSummary::stamp`].
    pub position: Position,
}

impl ThreadSummary {
    /// The summary after the opening act; `None` if `act` is no opening.
    pub fn open(act: &Act) -> Option<Self> {
        let (message, event) = (act.message()?, act.event.as_ref()?);
        if act.seq != 0 {
            return None;
        }
        let mut summary = Self {
            id: act.thread,
            created_at: act.at,
            updated_at: act.at,
            creator: act.by.clone(),
            author_kind: act.author_kind,
            subject: message.body.chars().take(SUBJECT_MAX).collect::<String>().into(),
            state: event.to,
            origin: event.origin,
            confirmed_at: None,
            label: None,
            awaiting: None,
            awaiting_entry: 0,
            awaited_entry: 0,
            message_count: 0,
            claim_count: 0,
            seq: 0,
            position: Position::default(),
        };
        summary.apply(act);
        Some(summary)
    }

    /// Applies `act`, the next one of this thread.
    pub fn apply(&mut self, act: &Act) {
        debug_assert_eq!(act.seq, self.seq, "acts apply in order");
        self.seq = act.seq + 1;
        self.updated_at = act.at;
        match &act.change {
            Change::Message(_) => self.message_count += 1,
            Change::Assert(_) => self.claim_count += 1,
            Change::Mark | Change::Attest(..) | Change::Refute(..) => {}
        }
        if let Some(event) = &act.event {
            self.state = event.to;
            self.origin = event.origin;
            self.confirmed_at = event.confirmed.then_some(act.at);
            self.label.clone_from(&event.label);
        }
        self.awaiting.clone_from(&act.awaiting);
    }

    /// Records the entry of `act` in the one order.
    pub fn stamp(&mut self, act: &Act, entry: u64) {
        self.position = Position::of(entry, act.last_slot());
        if act.awaiting_set {
            self.awaiting_entry = entry;
            self.awaited_entry = if act.awaited_entry == 0 { entry } else { act.awaited_entry };
        }
    }

    /// Whether the thread is locked: a confirmed `closed`.
    pub fn locked(&self) -> bool {
        self.state == State::Closed && self.confirmed_at.is_some()
    }

    /// The participant that is expected to move next (parley.md §4).
    pub fn turn(&self) -> Option<Due> {
        match (&self.awaiting, self.state) {
            (Some(awaiting), _) => Some(awaiting.due.clone()),
            (None, State::Open | State::Answered | State::Decided) => {
                Some(Due::Participant(self.creator.clone()))
            }
            (None, _) => None,
        }
    }
}
