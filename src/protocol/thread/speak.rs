//! Speech acts (parley.md §3, §4): parents, loop protection, the turn.

use crate::act::{ActAuthority, Kind, ParentRule, TurnRule};
use crate::command::{Command, Envelope};
use crate::entry::{Act, Awaiting, Change, Due, Message};
use crate::identity::{Participant, Principal};
use crate::ids::{MessageId, ThreadId};
use crate::limits::Limits;
use crate::refusal::{Refusal, Result};
use crate::state::State;

use super::{Context, MessageMeta, Thread, empty_awaiting, event};

/// The act that opens `thread`. Reading the envelope has made sure that it is an `ask`.
pub(super) fn opening(ctx: &mut Context<'_>, thread: ThreadId, command: &Command) -> Act {
    let extension = command.extension().cloned();
    let (body, provenance) = match command {
        Command::Post(envelope) => (envelope.body.clone(), envelope.provenance.clone()),
        Command::Mark(_)
        | Command::Confirm(_)
        | Command::Reopen(_)
        | Command::Assert(_)
        | Command::Attest(_)
        | Command::Refute(_) => (Box::default(), None),
    };
    let by = ctx.principal.participant(extension.as_ref());
    let id = ctx.numbers.message();
    let awaiting = Awaiting { message: id, asker: by.clone(), due: Due::Anyone, since: ctx.now };
    Act {
        thread,
        seq: 0,
        at: ctx.now,
        by,
        author_kind: ctx.principal.author_kind,
        change: Change::Message(Message { id, parent: None, kind: Kind::Ask, body, provenance }),
        event: Some(event(ctx, None, State::Open, None)),
        awaiting: Some(awaiting),
        awaiting_set: true,
        awaited_entry: 0,
        awaiting_was: None,
        key: ctx.key,
    }
}

/// The change of the turn by an act.
enum TurnChange {
    /// As it is.
    Keep,
    /// Nothing is awaited.
    Empty,
    /// This message is awaited.
    Await {
        /// The message.
        message: MessageId,
        /// The entry that holds it, 0 for that of the act itself.
        entry: u64,
        /// Who asked.
        asker: Participant,
        /// Who is due.
        due: Due,
    },
}

impl Thread {
    pub(super) fn speak(&self, ctx: &mut Context<'_>, envelope: &Envelope) -> Result<Act> {
        let named = envelope.parent.map(|id| self.meta(id)).transpose()?;
        self.refuse_locked()?;
        let parent = match (named, envelope.kind.spec().parent) {
            (None, ParentRule::Reply) => Some(self.awaited_parent()?),
            (named, _) => named,
        };
        let by = ctx.principal.participant(envelope.extension.as_ref());
        self.refuse_unauthorized(ctx.principal, envelope.kind, parent)?;
        self.refuse_rest(&by, envelope.kind, parent, ctx.limits)?;
        Ok(self.message(ctx, envelope, by, parent))
    }

    /// The parent of a reply that names none: the awaited message (§3.1).
    fn awaited_parent(&self) -> Result<&MessageMeta> {
        let awaiting = self.summary.awaiting.as_ref();
        let awaited = awaiting.and_then(|awaiting| self.messages.find(awaiting.message));
        awaited.ok_or_else(Refusal::nothing_awaited)
    }

    fn refuse_unauthorized(
        &self,
        principal: &Principal,
        kind: Kind,
        parent: Option<&MessageMeta>,
    ) -> Result<()> {
        match kind.spec().authority {
            ActAuthority::None => Ok(()),
            ActAuthority::For(what) => self.require_authority(principal, what),
            ActAuthority::OverOthers(what) => match parent {
                Some(parent) if self.author(parent).identity == principal.identity => Ok(()),
                _ => self.require_authority(principal, what),
            },
        }
    }

    /// The 409s, in the order of §10.
    fn refuse_rest(
        &self,
        by: &Participant,
        kind: Kind,
        parent: Option<&MessageMeta>,
        limits: &Limits,
    ) -> Result<()> {
        if let Some(parent) = parent {
            refuse_retracted(kind, parent)?;
            if kind.spec().adds && self.author(parent) == by {
                return Err(Refusal::self_reply());
            }
        }
        let author = self.authors.iter().position(|(author, _)| author == by);
        if let Some(author) = author.and_then(|index| u32::try_from(index).ok()) {
            if kind.spec().adds {
                self.refuse_row(author, limits)?;
            }
            self.loop_window.refuse_loop(author, kind, limits)?;
        }
        if !kind.spec().adds {
            return Ok(());
        }
        let depth = parent.map_or(1, |parent| self.messages.depth(parent) + 1);
        if depth > limits.thread_depth_max {
            return Err(Refusal::depth_limit());
        }
        if self.summary.message_count >= limits.thread_messages_max {
            return Err(Refusal::messages_full());
        }
        match kind.marks(parent.map(MessageMeta::kind)) {
            Some(to) if self.summary.state.is_side() => {
                Err(Refusal::invalid_transition(self.summary.state, to))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn refuse_row(&self, author: u32, limits: &Limits) -> Result<()> {
        let row = self.messages.newest_first().take_while(|meta| meta.author == author);
        let max = usize::try_from(limits.consecutive_max).unwrap_or(usize::MAX);
        if row.take(max).count() < max {
            return Ok(());
        }
        Err(Refusal::consecutive_limit(max))
    }

    fn message(
        &self,
        ctx: &mut Context<'_>,
        envelope: &Envelope,
        by: Participant,
        parent: Option<&MessageMeta>,
    ) -> Act {
        let kind = envelope.kind;
        let id = ctx.numbers.message();
        let message = Message {
            id,
            parent: parent.map(MessageMeta::id),
            kind,
            body: envelope.body.clone(),
            provenance: envelope.provenance.clone(),
        };
        let turn = self.turn_after(kind, parent, id, &by);
        let mut act = self.act(ctx, by, Change::Message(message));
        match turn {
            TurnChange::Keep => {}
            TurnChange::Empty => empty_awaiting(&mut act),
            TurnChange::Await { message, entry, asker, due } => {
                empty_awaiting(&mut act);
                act.awaiting = Some(Awaiting { message, asker, due, since: act.at });
                act.awaiting_set = true;
                act.awaited_entry = entry;
            }
        }
        if let Some(to) = kind.marks(parent.map(MessageMeta::kind))
            && self.act_moves(ctx.principal, to)
        {
            act.event = Some(event(ctx, Some(self.summary.state), to, None));
            if to.empties_awaiting() {
                empty_awaiting(&mut act);
            }
        }
        act
    }

    /// Whether the mark of an act changes the state: forward, or confirming a proposal of the
    /// same; a mark that the thread has passed changes none (§5).
    fn act_moves(&self, principal: &Principal, to: State) -> bool {
        let state = self.summary.state;
        if state == to {
            return principal.moderates() && self.summary.confirmed_at.is_none();
        }
        state.step().zip(to.step()).is_some_and(|(from, to)| from < to)
    }

    /// The change of the turn by the message `id` of `by`, apart from its event (§3, §3.4, §4).
    fn turn_after(
        &self,
        kind: Kind,
        parent: Option<&MessageMeta>,
        id: MessageId,
        by: &Participant,
    ) -> TurnChange {
        let awaited = self.summary.awaiting.as_ref().map(|awaiting| awaiting.message);
        let on_awaited = parent.is_some_and(|parent| Some(parent.id()) == awaited);
        let back = || parent.map_or(TurnChange::Empty, |parent| self.turn_back(parent));
        match kind.spec().turn {
            TurnRule::Await if self.summary.state.is_side() => TurnChange::Keep,
            TurnRule::Await => {
                let author = parent.map(|parent| self.author(parent).clone());
                let due = author.map_or(Due::Anyone, Due::Participant);
                TurnChange::Await { message: id, entry: 0, asker: by.clone(), due }
            }
            TurnRule::Answer | TurnRule::TakeBack if on_awaited => back(),
            TurnRule::Answer if self.asked_back_about(awaited, parent) => TurnChange::Empty,
            TurnRule::Accept if on_awaited => TurnChange::Empty,
            TurnRule::Empty => TurnChange::Empty,
            TurnRule::Answer | TurnRule::Accept | TurnRule::TakeBack | TurnRule::Keep => {
                TurnChange::Keep
            }
        }
    }

    /// Whether `parent` is the message that the awaited `clarify` asks back about.
    fn asked_back_about(&self, awaited: Option<MessageId>, parent: Option<&MessageMeta>) -> bool {
        let awaited = awaited.and_then(|id| self.messages.find(id));
        awaited.zip(parent).is_some_and(|(awaited, parent)| {
            let about = awaited.parent().map(|about| self.messages.get(about).id());
            awaited.kind() == Kind::Clarify && about == Some(parent.id())
        })
    }

    /// Where the turn goes once `awaited` is answered or retracted: from a `clarify` back to what
    /// it was about, due its author, unless that needs no reply any more (§3.4).
    fn turn_back(&self, awaited: &MessageMeta) -> TurnChange {
        let (Kind::Clarify, Some(index)) = (awaited.kind(), awaited.parent()) else {
            return TurnChange::Empty;
        };
        let about = self.messages.get(index);
        if !about.kind().expects_reply() || about.retracted() || self.messages.answered(index) {
            return TurnChange::Empty;
        }
        TurnChange::Await {
            message: about.id(),
            entry: about.entry,
            asker: self.author(about).clone(),
            due: Due::Participant(self.author(awaited).clone()),
        }
    }
}

/// No act may point at a retracted message, and a `retract` cannot be retracted (§3.3).
fn refuse_retracted(kind: Kind, parent: &MessageMeta) -> Result<()> {
    if parent.retracted() {
        Err(Refusal::message_retracted())
    } else if kind.takes_back() && parent.kind().takes_back() {
        Err(Refusal::retraction_stands())
    } else {
        Ok(())
    }
}
