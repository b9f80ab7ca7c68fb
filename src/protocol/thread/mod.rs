//! A thread: a state machine that admits commands and applies acts.
//!
//! `admit` decides, `apply` changes; they are apart, so that a thread rebuilt from its
//! acts equals the one that admitted them. Checks come in the order of parley.md §6: found,
//! locked, the missing parent of a reply, authority, then the rest in the order of §10.

mod dialectic;
mod loop_window;
mod mark;
mod messages;
mod speak;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::command::Command;
use crate::entry::{Act, Change, Event, KeyUse, Message};
use crate::identity::{AuthorKind, Participant, Principal};
use crate::ids::{ClaimId, MessageId, Numbers};
use crate::limits::Limits;
use crate::refusal::{Refusal, Result};
use crate::state::{Origin, State};
use crate::thread_summary::ThreadSummary;
use crate::time::Millis;

use loop_window::LoopWindow;
use messages::{MessageMeta, Messages};

/// The context in which a thread judges a command.
pub struct Context<'a> {
    /// The clock; a thread's own time never runs backwards, even if this does.
    pub now: Millis,
    /// The principal that calls.
    pub principal: &'a Principal,
    /// The limits in force.
    pub limits: &'a Limits,
    /// Where new numbers come from.
    pub numbers: &'a mut dyn Numbers,
    /// The idempotency key that the act came under.
    pub key: Option<KeyUse>,
}

/// A thread, as a state machine over its acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    summary: ThreadSummary,
    messages: Messages,
    /// Each participant that spoke, once.
    authors: Vec<(Participant, AuthorKind)>,
    loop_window: LoopWindow,
    claims: BTreeMap<ClaimId, Arc<Claim>>,
}

impl Thread {
    /// The act that opens a thread, which is to be numbered `thread`.
    pub fn opening(ctx: &mut Context<'_>, thread: crate::ids::ThreadId, command: &Command) -> Act {
        speak::opening(ctx, thread, command)
    }

    /// The thread that its opening act makes; `None` if `act` is no opening.
    pub fn open(act: &Act) -> Option<Self> {
        let mut thread = Self {
            summary: ThreadSummary::open(act)?,
            messages: Messages::default(),
            authors: Vec::new(),
            loop_window: LoopWindow::default(),
            claims: BTreeMap::new(),
        };
        thread.apply_parts(act);
        Some(thread)
    }

    /// The head.
    pub fn summary(&self) -> &ThreadSummary {
        &self.summary
    }

    /// The claim `id` in its present state.
    pub fn claim(&self, id: ClaimId) -> Option<&Arc<Claim>> {
        self.claims.get(&id)
    }

    /// The claims, by identifier.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<Claim>> {
        self.claims.values()
    }

    /// Takes the claims out, to be stored apart: [`Thread::put_claims`] makes it whole again.
    pub fn take_claims(&mut self) -> Vec<Arc<Claim>> {
        std::mem::take(&mut self.claims).into_values().collect()
    }

    /// Puts claims in.
    pub fn put_claims(&mut self, claims: impl IntoIterator<Item = Arc<Claim>>) {
        self.claims.extend(claims.into_iter().map(|claim| (claim.id, claim)));
    }

    /// Judges `command`: the act to apply, or none if it succeeds and nothing changes.
    pub fn admit(&self, ctx: &mut Context<'_>, command: &Command) -> Result<Option<Act>> {
        let act = match command {
            Command::Post(envelope) => self.speak(ctx, envelope).map(Some),
            Command::Mark(mark) => self.mark(ctx, mark),
            Command::Confirm(mark) => self.confirm(ctx, mark),
            Command::Reopen(mark) => self.reopen(ctx, mark).map(Some),
            Command::Assert(assertion) => self.assert(ctx, assertion).map(Some),
            Command::Attest(proof) => self.attest(ctx, proof).map(Some),
            Command::Refute(proof) => self.refute(ctx, proof).map(Some),
        };
        act.map_err(|refusal| refusal.of(self.summary.id))
    }

    /// Applies `act`, the next one of this thread.
    pub fn apply(&mut self, act: &Act) {
        self.summary.apply(act);
        self.apply_parts(act);
    }

    /// Records the entry of `act`, the one applied last, in the one order.
    pub fn stamp(&mut self, act: &Act, entry: u64) {
        self.summary.stamp(act, entry);
        if let (Change::Message(_), Some(last)) = (&act.change, self.messages.last_mut()) {
            last.entry = entry;
        }
    }

    fn apply_parts(&mut self, act: &Act) {
        match &act.change {
            Change::Message(message) => self.apply_message(act, message),
            Change::Mark => {}
            Change::Assert(_) | Change::Attest(..) | Change::Refute(..) => self.apply_claim(act),
        }
        if act.event.is_some() {
            // The opening counts in an exchange, although it caused an event (§3.2).
            self.loop_window = LoopWindow::default();
            if act.seq == 0
                && let Some((_, kind)) = self.authors.first()
            {
                self.loop_window.spoke(0, *kind);
            }
        }
    }

    fn apply_message(&mut self, act: &Act, message: &Message) {
        let author = self.author_index(&act.by, act.author_kind);
        let parent = message.parent.and_then(|id| self.messages.index(id));
        if let Some(parent) = parent.filter(|_| message.kind.takes_back()) {
            self.messages.retract(parent);
        }
        self.messages.push(MessageMeta::new(message.id, message.kind, parent, author));
        self.loop_window.spoke(author, act.author_kind);
    }

    fn author_index(&mut self, by: &Participant, kind: AuthorKind) -> u32 {
        let found = self.authors.iter().position(|(author, _)| author == by);
        let index = found.unwrap_or_else(|| {
            self.authors.push((by.clone(), kind));
            self.authors.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    fn apply_claim(&mut self, act: &Act) {
        // Taken out, so that a claim that nothing else holds is changed in place.
        let take = |id| Ok::<_, Infallible>(self.claims.remove(&id));
        let Ok(changed) = act.changed_claims(take);
        self.claims.extend(changed.into_iter().map(|claim| (claim.id, claim)));
    }

    fn meta(&self, id: MessageId) -> Result<&MessageMeta> {
        self.messages.find(id).ok_or_else(|| Refusal::message_not_found(id))
    }

    fn author(&self, meta: &MessageMeta) -> &Participant {
        &self.authors[meta.author as usize].0
    }

    /// 409 `thread_closed` while `closed` is confirmed: only reopening gets through.
    fn refuse_locked(&self) -> Result<()> {
        if !self.summary.locked() {
            return Ok(());
        }
        Err(Refusal::thread_closed())
    }

    /// Whether `principal` has authority over the thread (§6): creator's line, lock holder, human.
    fn has_authority(&self, principal: &Principal) -> bool {
        principal.moderates() || principal.identity == self.summary.creator.identity
    }

    fn require_authority(&self, principal: &Principal, what: &str) -> Result<()> {
        if self.has_authority(principal) {
            return Ok(());
        }
        Err(Refusal::thread_authority_missing(what))
    }

    /// The thread's own time: it never runs backwards, even if the clock does (§2).
    fn time(&self, now: Millis) -> Millis {
        now.max(self.summary.updated_at)
    }

    /// The act that `change` becomes; `awaiting` stays as it is.
    fn act(&self, ctx: &Context<'_>, by: Participant, change: Change) -> Act {
        Act {
            thread: self.summary.id,
            seq: self.summary.seq,
            at: self.time(ctx.now),
            by,
            author_kind: ctx.principal.author_kind,
            change,
            event: None,
            awaiting: self.summary.awaiting.clone(),
            awaiting_set: false,
            awaited_entry: 0,
            awaiting_was: None,
            key: ctx.key,
        }
    }
}

/// The event that `ctx.caller` causes by setting `to` (§5.1).
fn event(ctx: &mut Context<'_>, from: Option<State>, to: State, reason: Option<Box<str>>) -> Event {
    let principal = ctx.principal;
    Event {
        id: ctx.numbers.event(),
        from,
        to,
        origin: if principal.is_human() { Origin::User } else { Origin::Llm },
        confirmed: principal.moderates(),
        label: principal.shown_label(),
        reason,
    }
}

/// Empties `awaiting` in `act`, and records the former value.
fn empty_awaiting(act: &mut Act) {
    if let Some(was) = act.awaiting.take() {
        act.awaiting_was = Some(was);
    }
}
