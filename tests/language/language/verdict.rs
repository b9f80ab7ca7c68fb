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

/// Judges `command` of `principal` on the thread that `model` is.
pub fn judge(
    model: &Model,
    principal: &Principal,
    command: &Command,
    limits: &Limits,
    now: Millis,
) -> Verdict {
    let now = now.max(model.updated_at);
    let verdict = match command {
        Command::Post(envelope) => post(model, principal, envelope, limits),
        Command::Mark(mark) => self::mark(model, principal, mark.state),
        Command::Confirm(mark) => confirm(model, principal, mark.state),
        Command::Reopen(_) => reopen(model, principal),
        Command::Assert(assertion) => assert_claim(model, principal, assertion, limits),
        Command::Attest(proof) => attest(model, principal, proof, limits, now),
        Command::Refute(proof) => refute(model, proof),
    };
    verdict.unwrap_or_else(Verdict::Refused)
}

fn post(
    model: &Model,
    principal: &Principal,
    envelope: &Envelope,
    limits: &Limits,
) -> Checked<Verdict> {
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
    rest(model, principal, envelope, on, limits)?;
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

/// The state that an act marks.
fn marks(kind: Kind, on: Option<&Said>) -> Option<State> {
    let answers = kind == Kind::Answer && on.is_some_and(|on| on.kind == Kind::Ask);
    if answers {
        return Some(State::Answered);
    }
    (kind == Kind::Decide).then_some(State::Decided)
}

/// The 409s of a message, in the order of §10.
fn rest(
    model: &Model,
    principal: &Principal,
    envelope: &Envelope,
    on: Option<&Said>,
    limits: &Limits,
) -> Checked<()> {
    let kind = envelope.kind;
    let me = principal.participant(envelope.extension.as_ref());
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
fn again(model: &Model, principal: &Principal) -> Verdict {
    if confirms(principal) && !model.last_move().confirmed {
        return Verdict::Done { parent: None, to: Some(model.state()) };
    }
    Verdict::Nothing
}

fn mark(model: &Model, principal: &Principal, to: State) -> Checked<Verdict> {
    check(!model.locked(), "thread_closed")?;
    check(model.has_authority(principal), "thread_authority_missing")?;
    let from = model.state();
    if from == to {
        return Ok(again(model, principal));
    }
    let human = principal.author_kind.as_str() == "human";
    let allowed =
        human || (!side(from) && (side(to) || (1..=2).contains(&(place(to) - place(from)))));
    check(allowed, &transition(from, to))?;
    Ok(Verdict::Done { parent: None, to: Some(to) })
}

fn confirm(model: &Model, principal: &Principal, named: State) -> Checked<Verdict> {
    check(confirms(principal), "token_right_missing lock")?;
    check(!model.locked(), "thread_closed")?;
    let state = model.state();
    let moved = format!("state_moved {}>{}", state.as_str(), named.as_str());
    check(state == named, &moved)?;
    Ok(again(model, principal))
}

fn reopen(model: &Model, principal: &Principal) -> Checked<Verdict> {
    let state = model.state();
    let may = if side(state) { confirms(principal) } else { model.has_authority(principal) };
    check(may, "thread_authority_missing")?;
    check(side(state) || state == State::Closed, &transition(state, State::Open))?;
    Ok(Verdict::Done { parent: None, to: Some(State::Open) })
}

const DONE: Verdict = Verdict::Done { parent: None, to: None };

fn assert_claim(
    model: &Model,
    principal: &Principal,
    assertion: &Assertion,
    limits: &Limits,
) -> Checked<Verdict> {
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
    check(count < limits.claims_per_thread_max, "thread_full")?;
    let gone = older.iter().any(|id| model.status(*id) == ClaimStatus::Superseded);
    check(!gone, "claim_settled")?;
    Ok(DONE)
}

fn attest(
    model: &Model,
    principal: &Principal,
    proof: &ClaimProof,
    limits: &Limits,
    now: Millis,
) -> Checked<Verdict> {
    let id = proof.claim;
    let held = model.claim(id).ok_or("claim_not_found")?;
    check(!model.locked(), "thread_closed")?;
    let support = model.proved(id).filter(|one| one.what == For::Support).count() as u64;
    let room = proof.seal || support < limits.attestations_per_claim_max;
    check(room, "thread_full")?;
    check(held.by.identity != principal.identity, "self_attest")?;
    let status = model.status(id);
    let settled = matches!(status, ClaimStatus::Refuted | ClaimStatus::Superseded);
    let expired = held.until.is_some_and(|until| now >= until);
    check(!settled && !expired, "claim_settled")?;
    let mine = |what| {
        model.proved(id).any(|one| one.what == what && one.by.identity == principal.identity)
    };
    let already = mine(For::Seal) || (!proof.seal && mine(For::Support));
    check(!already, "already_attested")?;
    if proof.seal {
        let standing = matches!(status, ClaimStatus::Supported | ClaimStatus::Verified);
        let by_another = model
            .proved(id)
            .any(|one| one.what != For::Refutation && one.by.identity != principal.identity);
        check(standing && by_another, "claim_not_supported")?;
    }
    Ok(DONE)
}

fn refute(model: &Model, proof: &ClaimProof) -> Checked<Verdict> {
    check(model.claim(proof.claim).is_some(), "claim_not_found")?;
    check(!model.locked(), "thread_closed")?;
    let settled =
        matches!(model.status(proof.claim), ClaimStatus::Refuted | ClaimStatus::Superseded);
    check(!settled, "claim_settled")?;
    Ok(DONE)
}
