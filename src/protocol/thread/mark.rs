//! Marks, confirmations, reopenings (parley.md §5).

use crate::command::Mark;
use crate::entry::{Act, Change};
use crate::identity::Right;
use crate::refusal::{Refusal, Result};
use crate::state::State;

use super::{Context, Thread, empty_awaiting, event};

impl Thread {
    pub(super) fn mark(&self, ctx: &mut Context<'_>, mark: &Mark) -> Result<Option<Act>> {
        self.refuse_locked()?;
        self.require_authority(ctx.principal, "mark its state")?;
        let (from, to) = (self.summary.state, mark.state);
        if from == to {
            return Ok(self.confirming(ctx, mark));
        }
        if !ctx.principal.is_human() && !from.model_may_move(to) {
            return Err(Refusal::invalid_transition(from, to));
        }
        Ok(Some(self.moving(ctx, mark, to)))
    }

    pub(super) fn confirm(&self, ctx: &mut Context<'_>, mark: &Mark) -> Result<Option<Act>> {
        if !ctx.principal.moderates() {
            return Err(Refusal::lacks(Right::Lock));
        }
        self.refuse_locked()?;
        let (state, named) = (self.summary.state, mark.state);
        if state != named {
            return Err(Refusal::state_moved(state, named));
        }
        Ok(self.confirming(ctx, mark))
    }

    pub(super) fn reopen(&self, ctx: &mut Context<'_>, mark: &Mark) -> Result<Act> {
        let from = self.summary.state;
        if from.is_side() && !ctx.principal.moderates() {
            return Err(Refusal::side_state_authority_missing());
        }
        self.require_authority(ctx.principal, "reopen it")?;
        if from != State::Closed && !from.is_side() {
            return Err(Refusal::invalid_transition(from, State::Open));
        }
        Ok(self.moving(ctx, mark, State::Open))
    }

    /// Setting the state that the thread has: a proposal becomes confirmed by whose marks are.
    fn confirming(&self, ctx: &mut Context<'_>, mark: &Mark) -> Option<Act> {
        let confirms = ctx.principal.moderates() && self.summary.confirmed_at.is_none();
        confirms.then(|| self.moving(ctx, mark, self.summary.state))
    }

    fn moving(&self, ctx: &mut Context<'_>, mark: &Mark, to: State) -> Act {
        let by = ctx.principal.participant(mark.extension.as_ref());
        let mut act = self.act(ctx, by, Change::Mark);
        act.event = Some(event(ctx, Some(self.summary.state), to, mark.reason.clone()));
        if to.empties_awaiting() {
            empty_awaiting(&mut act);
        }
        act
    }
}
