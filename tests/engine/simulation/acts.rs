//! The next command of a participant: mostly sensible, sometimes not.

use std::sync::Arc;

use parley_kit::Rng;
use parley_kit::acts::{assertion, message};
use parley_protocol::act::Kind;
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{ClaimProof, Command, Mark};
use parley_protocol::ids::{ClaimId, ThreadId};
use parley_protocol::state::State;
use parley_protocol::thread::Thread;

use crate::reference::Reference;

/// A command.
#[derive(Debug)]
pub struct Wish {
    /// As the call names it.
    pub thread: Option<ThreadId>,
    /// Where it is judged; `None` for an opening.
    pub home: Option<ThreadId>,
    pub command: Command,
}

/// A thread that is never opened.
const NOWHERE: ThreadId = ThreadId(1_000_000);

/// An extension, or none.
pub fn extension(rng: &Rng) -> Option<Arc<str>> {
    rng.weighed(&[(6, None), (1, Some("x")), (1, Some("y"))]).map(Arc::from)
}

/// The next command, known by `text`; it may seal if `seals`.
pub fn wish(rng: &Rng, reference: &Reference, threads: usize, text: &str, seals: bool) -> Wish {
    let opened: Vec<ThreadId> = reference.threads.keys().copied().collect();
    let extension = extension(rng);
    if opened.is_empty() || opened.len() < threads && rng.percent(20) {
        let command = message(Kind::Ask, None, None, extension, text);
        return Wish { thread: None, home: None, command };
    }
    let thread = if rng.percent(1) { NOWHERE } else { rng.pick(&opened) };
    let here = |command| Wish { thread: Some(thread), home: Some(thread), command };
    let draw = Draw { rng, reference, thread, extension, text };
    match rng.below(100) {
        0..=69 => here(draw.speech()),
        70..=83 => here(draw.mark()),
        _ => draw.claim(seals),
    }
}

/// Where the next command goes, and what is said in it.
struct Draw<'a> {
    rng: &'a Rng,
    reference: &'a Reference,
    thread: ThreadId,
    extension: Option<Arc<str>>,
    text: &'a str,
}

impl Draw<'_> {
    fn speech(self) -> Command {
        let Self { rng, reference, thread, extension, text } = self;
        let weight = |kind| match kind {
            Kind::Ask | Kind::Clarify => 10,
            Kind::Answer | Kind::Inform => 20,
            Kind::Propose | Kind::Object | Kind::Agree => 6,
            Kind::Decide | Kind::Retract => 4,
        };
        let kind = rng.weighed(&Kind::ALL.map(|kind| (weight(kind), kind)));
        let messages = reference.messages.get(&thread).map_or(&[][..], Vec::as_slice);
        let recent = &messages[messages.len().saturating_sub(6)..];
        let replies = matches!(kind, Kind::Answer | Kind::Clarify | Kind::Object | Kind::Agree);
        let head = reference.threads.get(&thread).map(Thread::summary);
        let none = replies && head.is_some_and(|head| head.awaiting.is_none());
        let named = none && rng.percent(90) || kind == Kind::Retract || rng.percent(40);
        let named = named && !recent.is_empty();
        let parent = named.then(|| rng.pick(recent).0);
        message(kind, Some(thread), parent, extension, text)
    }

    fn mark(self) -> Command {
        let Self { rng, reference, thread, extension, text } = self;
        let there =
            reference.threads.get(&thread).map_or(State::Open, |thread| thread.summary().state);
        let any = rng.weighed(&[
            (6, there),
            (6, State::Answered),
            (4, State::Decided),
            (3, State::Closed),
            (1, State::Deferred),
            (1, State::Open),
        ]);
        let mark = |state| Mark { state, reason: Some(text.into()), extension };
        // A thread that is locked is of no more use until it is opened again.
        let locked = reference.threads.get(&thread).is_some_and(|thread| thread.summary().locked());
        match rng.below(10) {
            _ if locked => Command::Reopen(mark(State::Open)),
            0..=4 => Command::Mark(mark(any)),
            5..=7 => Command::Confirm(mark(there)),
            _ => Command::Reopen(mark(State::Open)),
        }
    }

    fn claim(self, seals: bool) -> Wish {
        let Self { rng, reference, thread, extension, text } = self;
        let here = |it: &(&ClaimId, &ThreadId)| *it.1 == thread;
        let claims: Vec<ClaimId> =
            reference.claims.iter().filter(here).map(|(id, _)| *id).collect();
        if claims.is_empty() || rng.percent(40) {
            let replaces = !claims.is_empty() && rng.percent(30);
            let supersedes = replaces.then(|| rng.pick(&claims));
            let command = assertion(text, supersedes, extension);
            return Wish { thread: Some(thread), home: Some(thread), command };
        }
        let claim = rng.pick(&claims);
        let evidence =
            vec![Evidence { kind: EvidenceKind::Log, reference: text.into(), note: None }];
        let refutes = rng.percent(15);
        let seal = !refutes && seals && rng.percent(50);
        let proof = ClaimProof { claim, evidence, seal, extension };
        let command = if refutes { Command::Refute(proof) } else { Command::Attest(proof) };
        Wish { thread: None, home: Some(thread), command }
    }
}
