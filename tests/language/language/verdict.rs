//! What the page says to a command: the refusal, in the order of its checks, or what happens.

use parley_protocol::act::Kind;
use parley_protocol::claim::ClaimStatus;
use parley_protocol::command::{Assertion, ClaimProof, Command, Envelope};
use parley_protocol::identity::Principal;
use parley_protocol::ids::MessageId;
use parley_protocol::limits::Limits;
use parley_protocol::state::State;
use parley_protocol::time::Millis;

use super::model::{For, Model, Said, confirms, expects, place, side};

/// What the page says to a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The reason, and what belongs to it, in the words of `scenario::refusal`.
    Refused(String),
    /// It succeeds, and nothing changes.
    Nothing,
    /// It happens: the parent that a message is stored with, and the state that it leads to if
    /// there is an event.
    Done { parent: Option<MessageId>, to: Option<State> },
}

type Checked<T> = Result<T, String>;

fn check(good: bool, refusal: &str) -> Checked<()> {
    if good { Ok(()) } else { Err(refusal.to_owned()) }
}

fn transition(from: State, to: State) -> String {
    format!("invalid_transition {}>{}", from.as_str(), to.as_str())
}

const DONE: Verdict = Verdict::Done { parent: None, to: None };

/// The state that an act marks.
fn marks(kind: Kind, on: Option<&Said>) -> Option<State> {
    let answers = kind == Kind::Answer && on.is_some_and(|on| on.kind == Kind::Ask);
    if answers {
        return Some(State::Answered);
    }
    (kind == Kind::Decide).then_some(State::Decided)
}

/// What a command is judged by: the thread that `model` is, whose command it is, limits and clock.
pub struct Judge<'a> {
    pub model: &'a Model,
    pub principal: &'a Principal,
    pub limits: &'a Limits,
    pub now: Millis,
}

impl Judge<'_> {
    /// What the page says to `command`.
    pub fn judge(&self, command: &Command) -> Verdict {
        let verdict = match command {
            Command::Post(envelope) => self.post(envelope),
            Command::Mark(mark) => self.mark(mark.state),
            Command::Confirm(mark) => self.confirm(mark.state),
            Command::Reopen(_) => self.reopen(),
            Command::Assert(assertion) => self.assert_claim(assertion),
            Command::Attest(proof) => self.attest(proof),
            Command::Refute(proof) => self.refute(proof),
        };
        verdict.unwrap_or_else(Verdict::Refused)
    }

    fn post(&self, envelope: &Envelope) -> Checked<Verdict> {
        let (model, principal) = (self.model, self.principal);
        let kind = envelope.kind;
        let found = |id| model.message(id);
        check(envelope.parent.is_none_or(|id| found(id).is_some()), "message_not_found parent")?;
        check(!model.locked(), "thread_closed")?;
        let reply = matches!(kind, Kind::Answer | Kind::Clarify | Kind::Object | Kind::Agree);
        let mut parent = envelope.parent;
        if reply && parent.is_none() {
            parent = model.awaiting().map(|waits| waits.message);
            check(parent.is_some(), "invalid_body parent")?;
        }
        let on = parent.and_then(found);
        let own = on.is_some_and(|on| on.by.identity == principal.identity);
        let free = match kind {
            Kind::Decide => false,
            Kind::Retract => own,
            Kind::Ask
            | Kind::Answer
            | Kind::Clarify
            | Kind::Propose
            | Kind::Object
            | Kind::Agree
            | Kind::Inform => true,
        };
        check(free || model.has_authority(principal), "thread_authority_missing")?;
        self.rest(envelope, on)?;
        let state = model.state();
        let mark = marks(kind, on);
        if side(state)
            && let Some(to) = mark
        {
            return Err(transition(state, to));
        }
        let to = mark.filter(|to| {
            let same = state == *to && !model.last_move().confirmed && confirms(principal);
            same || place(state) < place(*to)
        });
        Ok(Verdict::Done { parent, to })
    }

    /// The 409s of a message, in the order of §10.
    fn rest(&self, envelope: &Envelope, on: Option<&Said>) -> Checked<()> {
        let (model, limits) = (self.model, self.limits);
        let kind = envelope.kind;
        let me = self.principal.participant(envelope.extension.as_ref());
        let retract = kind == Kind::Retract;
        if let Some(on) = on {
            let taken = model.retracted(on.id) || (retract && on.kind == Kind::Retract);
            check(!taken, "message_retracted")?;
            check(retract || on.by != me, "self_reply")?;
        }
        check(retract || model.row(&me) < limits.consecutive_max, "consecutive_limit")?;
        let count = model.exchange(&me);
        let long = expects(kind) && count >= limits.exchange_max;
        let way_out = matches!(kind, Kind::Decide | Kind::Retract);
        let too_long = !way_out && count >= 2 * limits.exchange_max;
        check(!long && !too_long, "loop_limit")?;
        let depth = on.map_or(1, |on| model.depth(on.id) + 1);
        check(retract || depth <= limits.thread_depth_max, "depth_limit")?;
        let count = model.said().count() as u64;
        check(retract || count < limits.thread_messages_max, "thread_full")
    }

    /// Setting the state that the thread has already.
    fn again(&self) -> Verdict {
        if confirms(self.principal) && !self.model.last_move().confirmed {
            return Verdict::Done { parent: None, to: Some(self.model.state()) };
        }
        Verdict::Nothing
    }

    fn mark(&self, to: State) -> Checked<Verdict> {
        check(!self.model.locked(), "thread_closed")?;
        check(self.model.has_authority(self.principal), "thread_authority_missing")?;
        let from = self.model.state();
        if from == to {
            return Ok(self.again());
        }
        let human = self.principal.author_kind.as_str() == "human";
        let allowed =
            human || (!side(from) && (side(to) || (1..=2).contains(&(place(to) - place(from)))));
        check(allowed, &transition(from, to))?;
        Ok(Verdict::Done { parent: None, to: Some(to) })
    }

    fn confirm(&self, named: State) -> Checked<Verdict> {
        check(confirms(self.principal), "token_right_missing lock")?;
        check(!self.model.locked(), "thread_closed")?;
        let state = self.model.state();
        let moved = format!("state_moved {}>{}", state.as_str(), named.as_str());
        check(state == named, &moved)?;
        Ok(self.again())
    }

    fn reopen(&self) -> Checked<Verdict> {
        let (model, principal) = (self.model, self.principal);
        let state = model.state();
        let may = if side(state) { confirms(principal) } else { model.has_authority(principal) };
        check(may, "thread_authority_missing")?;
        check(side(state) || state == State::Closed, &transition(state, State::Open))?;
        Ok(Verdict::Done { parent: None, to: Some(State::Open) })
    }

    fn assert_claim(&self, assertion: &Assertion) -> Checked<Verdict> {
        let (model, principal) = (self.model, self.principal);
        let older = &assertion.supersedes;
        for (place, id) in older.iter().enumerate() {
            let missing = format!("claim_not_found supersedes/{place}");
            check(model.claim(*id).is_some(), &missing)?;
        }
        check(!model.locked(), "thread_closed")?;
        let mut authors = older.iter().filter_map(|id| model.claim(*id)).map(|held| &held.by);
        let own = authors.all(|author| author.identity == principal.identity);
        check(own || model.has_authority(principal), "thread_authority_missing")?;
        let count = model.held().count() as u64;
        check(count < self.limits.claims_per_thread_max, "thread_full")?;
        let gone = older.iter().any(|id| model.status(*id) == ClaimStatus::Superseded);
        check(!gone, "claim_settled")?;
        Ok(DONE)
    }

    fn attest(&self, proof: &ClaimProof) -> Checked<Verdict> {
        let (model, identity) = (self.model, &self.principal.identity);
        let now = self.now.max(model.updated_at);
        let id = proof.claim;
        let held = model.claim(id).ok_or("claim_not_found")?;
        check(!model.locked(), "thread_closed")?;
        let support = model.proved(id).filter(|one| one.what == For::Support).count() as u64;
        let room = proof.seal || support < self.limits.attestations_per_claim_max;
        check(room, "thread_full")?;
        check(held.by.identity != *identity, "self_attest")?;
        let status = model.status(id);
        let settled = matches!(status, ClaimStatus::Refuted | ClaimStatus::Superseded);
        let expired = held.until.is_some_and(|until| now >= until);
        check(!settled && !expired, "claim_settled")?;
        let mine =
            |what| model.proved(id).any(|one| one.what == what && one.by.identity == *identity);
        let already = mine(For::Seal) || (!proof.seal && mine(For::Support));
        check(!already, "already_attested")?;
        if proof.seal {
            let standing = matches!(status, ClaimStatus::Supported | ClaimStatus::Verified);
            let mut supports = model.proved(id).filter(|one| one.what != For::Refutation);
            let by_another = supports.any(|one| one.by.identity != *identity);
            check(standing && by_another, "claim_not_supported")?;
        }
        Ok(DONE)
    }

    fn refute(&self, proof: &ClaimProof) -> Checked<Verdict> {
        let model = self.model;
        check(model.claim(proof.claim).is_some(), "claim_not_found")?;
        check(!model.locked(), "thread_closed")?;
        let settled =
            matches!(model.status(proof.claim), ClaimStatus::Refuted | ClaimStatus::Superseded);
        check(!settled, "claim_settled")?;
        Ok(DONE)
    }
}
