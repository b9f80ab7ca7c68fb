//! What must be: every act that the log holds, judged and applied once more by the language alone.

use std::collections::{BTreeMap, BTreeSet};

use parley_kit::numbers::{Counters, Given};
use parley_kit::{ExpectedFeed, ensure, same};
use parley_protocol::act::Kind;
use parley_protocol::claim::Evidence;
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Awaiting, Change, KeyUse};
use parley_protocol::identity::Principal;
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::limits::Limits;
use parley_protocol::refusal::Reason;
use parley_protocol::state::State;
use parley_protocol::thread::{Context, Thread};
use parley_protocol::wire;
use serde_json::Value;

/// An act where it stands.
#[derive(Debug)]
pub struct Seen {
    pub number: u64,
    pub act: Act,
    /// What was awaited in its thread before it.
    pub before: Option<Awaiting>,
}

/// What the language says to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Refused(Reason),
    Unchanged,
    Done,
}

/// All threads as they should be.
#[derive(Debug, Default)]
pub struct Reference {
    pub limits: Limits,
    pub threads: BTreeMap<ThreadId, Thread>,
    /// The messages of each, with their kinds.
    pub messages: BTreeMap<ThreadId, Vec<(MessageId, Kind)>>,
    pub claims: BTreeMap<ClaimId, ThreadId>,
    pub seen: Vec<Seen>,
    ids: Ids,
}

/// The numbers given to messages, events and claims, each of which must be the only one.
#[derive(Debug, Default)]
struct Ids {
    given: BTreeSet<(&'static str, u64)>,
    /// The last ones of each thread.
    last: BTreeMap<(ThreadId, &'static str), u64>,
}

/// The text of its own that every command of a run carries, by which an act is known as its.
pub fn text_of(act: &Act) -> &str {
    match &act.change {
        Change::Message(message) => &message.body,
        Change::Mark => act.event.as_ref().and_then(|it| it.reason.as_deref()).unwrap_or(""),
        Change::Assert(claim) => &claim.statement,
        Change::Attest(_, attestation) => first_of(&attestation.evidence),
        Change::Refute(_, refutation) => first_of(&refutation.evidence),
    }
}

fn first_of(evidence: &[Evidence]) -> &str {
    evidence.first().map_or("", |piece| &piece.reference)
}

impl Reference {
    /// What the language says to `command` on the thread as it stands now.
    pub fn verdict(&self, principal: &Principal, thread: ThreadId, command: &Command) -> Verdict {
        let Some(thread) = self.threads.get(&thread) else {
            return Verdict::Refused(Reason::ThreadNotFound);
        };
        let (now, numbers) = (thread.summary().updated_at, &mut Counters::default());
        let mut ctx = Context { now, principal, limits: &self.limits, numbers, key: None };
        match thread.admit(&mut ctx, command) {
            Ok(Some(_)) => Verdict::Done,
            Ok(None) => Verdict::Unchanged,
            Err(refusal) => Verdict::Refused(refusal.reason),
        }
    }

    /// Takes the next act of the log, which `principal` asked for by `command`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(
        &mut self,
        number: u64,
        act: &Act,
        principal: &Principal,
        command: &Command,
        key: Option<KeyUse>,
    ) -> Result<(), String> {
        self.ids.take(act)?;
        let limits = &self.limits;
        let mut ctx = Context { now: act.at, principal, limits, numbers: &mut Given(act), key };
        let before = match self.threads.get_mut(&act.thread) {
            None => {
                let expected = Thread::opening(&mut ctx, act.thread, command);
                same("opening", act, &expected)?;
                let thread = Thread::open(act).ok_or_else(|| format!("no opening: {act:?}"))?;
                self.threads.insert(act.thread, thread);
                None
            }
            Some(thread) => {
                let head = thread.summary();
                let follows = act.at >= head.updated_at && act.seq == head.seq;
                ensure(follows, || format!("time or order runs backwards: {act:?}"))?;
                let before = head.awaiting.clone();
                let expected = thread.admit(&mut ctx, command);
                let expected = expected
                    .map_err(|it| format!("stored, but {}: {act:?}", it.reason.as_str()))?;
                same("act", act, &expected.ok_or_else(|| format!("changes nothing: {act:?}"))?)?;
                thread.apply(act);
                before
            }
        };
        let thread = self.threads.get_mut(&act.thread).expect("it is there by now");
        thread.stamp(act, number);
        one_turn(thread)?;
        if let Some(message) = act.message() {
            self.messages.entry(act.thread).or_default().push((message.id, message.kind));
        }
        if let Change::Assert(claim) = &act.change {
            self.claims.insert(claim.id, act.thread);
        }
        self.seen.push(Seen { number, act: act.clone(), before });
        Ok(())
    }

    /// What answers show of an act.
    pub fn shown(&self, act: &Act) -> Value {
        let mut out = Vec::new();
        match &act.change {
            Change::Message(_) => wire::message(&mut out, act, None),
            Change::Mark => wire::event(&mut out, act),
            Change::Assert(_) | Change::Attest(..) | Change::Refute(..) => {
                let claim = act.claims().next();
                let thread = self.threads.get(&act.thread);
                match claim.and_then(|claim| thread.and_then(|thread| thread.claim(claim))) {
                    Some(claim) => wire::claim(&mut out, claim, act.at),
                    None => out.extend_from_slice(b"null"),
                }
            }
        }
        serde_json::from_slice(&out).unwrap()
    }

    /// What the inbox of `feed` shows that was set after the position `since`, in order.
    pub fn inbox(&self, feed: &ExpectedFeed, since: u64) -> Vec<(ThreadId, MessageId)> {
        let heads = self.threads.values().map(Thread::summary);
        let mut found: Vec<_> = heads
            .filter(|head| head.awaiting_entry * 16 + 11 > since)
            .filter(|head| feed.waits(head.awaiting.as_ref()))
            .filter_map(|head| {
                let message = head.awaiting.as_ref()?.message;
                Some((head.awaiting_entry, head.id, message))
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, thread, message)| (thread, message)).collect()
    }
}

impl Ids {
    fn take(&mut self, act: &Act) -> Result<(), String> {
        let asserted = match &act.change {
            Change::Assert(claim) => Some(claim.id.0),
            _ => None,
        };
        let ids = [
            ("message", act.message().map(|message| message.id.0)),
            ("event", act.event.as_ref().map(|event| event.id.0)),
            ("claim", asserted),
        ];
        for (kind, id) in ids.into_iter().filter_map(|(kind, id)| Some((kind, id?))) {
            let last = self.last.insert((act.thread, kind), id).unwrap_or_default();
            let good = id > last && self.given.insert((kind, id));
            ensure(good, || format!("an identifier is used twice or falls: {act:?}"))?;
        }
        Ok(())
    }
}

/// Whether the answer `body` shows what is `shown` of an act.
pub fn shows(body: &Value, shown: &Value) -> bool {
    ["message", "event", "claim"].iter().any(|member| body[*member] == *shown)
}

/// Exactly one open turn where there is to be one (parley.md §4).
fn one_turn(thread: &Thread) -> Result<(), String> {
    let head = thread.summary();
    let line = matches!(head.state, State::Open | State::Answered | State::Decided);
    let proposed = head.state == State::Closed && head.confirmed_at.is_none();
    let good = match (head.turn().is_some(), head.awaiting.is_some()) {
        (true, waits) => line || proposed && waits,
        (false, waits) => !line && !waits,
    };
    ensure(good, || format!("not one turn: {head:?}"))
}
