//! A tiny notation for plays, and the words in which tables say what came of them.
//!
//! A play is a row of words: `who:change`, `who` being a name or `name/extension`.
//!
//! * a speech act by its kind: `b:answer`, with a parent `b:answer>2`: the second message of the
//!   thread; `>99` is one of another thread;
//! * `a:mark=closed`, `h:confirm=decided`, `a:reopen`;
//! * `a:claim`, superseding `a:claim^1,2`, good for ten milliseconds `a:claim~10`;
//! * `b:attest@1`, `b:seal@1`, `b:refute@1`: the first claim of the thread; `@99` is unknown;
//! * `8*b:inform`: eight times; `wait=500`, `back=500`: the clock goes on or back by that;
//!   `consecutive=3`, `exchange=`, `depth=`, `messages=`, `claims=`, `attestations=`: the limit.

use std::sync::Arc;

use parley_protocol::act::Kind;
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{Assertion, ClaimProof, Command, Envelope, Mark};
use parley_protocol::entry::{Act, Awaiting, Due};
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::ids::{ClaimId, MessageId};
use parley_protocol::limits::Limits;
use parley_protocol::refusal::Refusal;
use parley_protocol::state::{Origin, State};
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;

use crate::harness::{THREAD, ThreadHarness, token};

/// What is named where a number is of another thread, or of none.
const FOREIGN: u64 = 8_000_000;

/// The harness after a play. Panics if anything in it is refused.
pub fn play(text: &str) -> ThreadHarness {
    let mut harness = ThreadHarness::new(Limits::default());
    for word in text.split_whitespace() {
        if !direct(&mut harness, word) {
            let (times, word) = word.split_once('*').unwrap_or(("1", word));
            for _ in 0..times.parse::<u32>().expect("a number of times") {
                let (principal, command) = read(&harness, word);
                let outcome = harness.act(&principal, &command);
                assert!(outcome.is_ok(), "{word} in the play `{text}`: {outcome:?}");
                harness.now = harness.now.plus(1);
            }
        }
    }
    harness
}

/// A setting, which sets the clock or a limit; false if `word` is none.
fn direct(harness: &mut ThreadHarness, word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let Ok(value) = value.parse::<u64>() else { return false };
    let limits = &mut harness.limits;
    match name {
        "wait" => harness.now = harness.now.plus(value),
        "back" => harness.now = Millis(harness.now.0 - value),
        "consecutive" => limits.consecutive_max = value,
        "exchange" => limits.exchange_max = value,
        "depth" => limits.thread_depth_max = value,
        "messages" => limits.thread_messages_max = value,
        "claims" => limits.claims_per_thread_max = value,
        "attestations" => limits.attestations_per_claim_max = value,
        _ => panic!("no setting: {word}"),
    }
    true
}

/// The principal and the command of the word `who:change`, on this harness.
pub fn read(harness: &ThreadHarness, word: &str) -> (Principal, Command) {
    let (who, change) = word.split_once(':').unwrap_or_else(|| panic!("no word of a play: {word}"));
    let (name, extension) = match who.split_once('/') {
        Some((name, extension)) => (name, Some(Arc::from(extension))),
        None => (who, None),
    };
    let split = change.find(['>', '=', '@', '^', '~']).unwrap_or(change.len());
    let (verb, rest) = change.split_at(split);
    (token(name), command(harness, verb, rest, extension))
}

fn command(
    harness: &ThreadHarness,
    verb: &str,
    rest: &str,
    extension: Option<Arc<str>>,
) -> Command {
    let rank = || rest[1..].parse::<usize>().unwrap_or_else(|_| panic!("no number: {rest}"));
    let mark = |state| Mark { state, reason: Some("because".into()), extension: extension.clone() };
    let state = || State::parse(&rest[1..]).unwrap_or_else(|| panic!("no state: {rest}"));
    let evidence =
        vec![Evidence { kind: EvidenceKind::Commit, reference: "0123abc".into(), note: None }];
    let proof = |seal| ClaimProof {
        claim: claim(harness, rank()),
        evidence: evidence.clone(),
        seal,
        extension: extension.clone(),
    };
    match verb {
        "mark" => Command::Mark(mark(state())),
        "confirm" => Command::Confirm(mark(state())),
        "reopen" => Command::Reopen(mark(State::Open)),
        "attest" => Command::Attest(proof(false)),
        "seal" => Command::Attest(proof(true)),
        "refute" => Command::Refute(proof(false)),
        "claim" => {
            let (older, millis) = rest.split_once('~').unwrap_or((rest, ""));
            let older = older.trim_start_matches('^').split(',').filter(|text| !text.is_empty());
            let older = older.map(|text| claim(harness, text.parse().expect("a rank")));
            Command::Assert(Assertion {
                statement: "It holds.".into(),
                evidence: Vec::new(),
                supersedes: older.collect(),
                valid_until: millis.parse().ok().map(|millis| harness.now.plus(millis)),
                extension,
            })
        }
        _ => Command::Post(Envelope {
            kind: Kind::parse(verb).unwrap_or_else(|| panic!("no act: {verb}")),
            thread: harness.thread.is_some().then_some(THREAD),
            parent: (!rest.is_empty()).then(|| message(harness, rank())),
            extension,
            body: format!("{verb} it").into(),
            provenance: None,
        }),
    }
}

/// The message of this rank, from 1.
fn message(harness: &ThreadHarness, rank: usize) -> MessageId {
    let mut messages = harness.acts.iter().filter_map(|(_, act)| act.message());
    messages.nth(rank - 1).map_or(MessageId(FOREIGN), |message| message.id)
}

/// The claim of this rank, from 1.
pub fn claim(harness: &ThreadHarness, rank: usize) -> ClaimId {
    let mut claims = harness.thread.iter().flat_map(Thread::claims);
    claims.nth(rank - 1).map_or(ClaimId(FOREIGN), |claim| claim.id)
}

/// The rank of a message, from 1.
pub fn rank(harness: &ThreadHarness, id: MessageId) -> usize {
    let mut messages = harness.acts.iter().filter_map(|(_, act)| act.message());
    messages.position(|message| message.id == id).map_or(0, |index| index + 1)
}

/// `a` or `a/x`.
pub fn person(participant: &Participant) -> String {
    let text = participant.to_string();
    text.split_once(':').map_or(text.clone(), |(_, name)| name.to_owned())
}

/// `anyone`, a participant, or `-` where there is none.
pub fn due(due: Option<&Due>) -> String {
    match due {
        None => "-".to_owned(),
        Some(Due::Anyone) => "anyone".to_owned(),
        Some(Due::Participant(one)) => person(one),
    }
}

/// `2>anyone`: the message of that rank is awaited; `-` where none is.
pub fn awaiting(harness: &ThreadHarness, awaiting: Option<&Awaiting>) -> String {
    awaiting.map_or("-".to_owned(), |awaiting| {
        format!("{}>{}", rank(harness, awaiting.message), due(Some(&awaiting.due)))
    })
}

/// The state with its origin and confirmation: `open?` a model's proposal, `open!` confirmed by
/// virtue of `lock`, `open*` a human's. Panics where origin, confirmation and label do not fit.
pub fn state(head: &ThreadSummary) -> String {
    let label = head.label.as_deref();
    let mark = match (head.origin, head.confirmed_at.is_some(), label) {
        (Origin::Llm, false, None) => '?',
        (Origin::Llm, true, None | Some("KI · Kim")) => '!',
        (Origin::User, true, None) => '*',
        other => panic!("no such standing: {other:?}"),
    };
    format!("{}{mark}", head.state.as_str())
}

/// `open>answered`, or `-` where the act caused none.
pub fn event(act: Option<&Act>) -> String {
    let event = act.and_then(|act| act.event.as_ref());
    event.map_or("-".to_owned(), |event| {
        let from = event.from.map_or("null", State::as_str);
        format!("{from}>{}", event.to.as_str())
    })
}

/// The reason of a refusal and what belongs to it: `invalid_transition open>closed`.
pub fn refusal(refusal: &Refusal) -> String {
    let mut words = vec![refusal.reason.as_str().to_owned()];
    words.extend(refusal.field.as_deref().map(str::to_owned));
    words.extend(refusal.right.map(|right| right.as_str().to_owned()));
    if let (Some(state), Some(attempted)) = (refusal.state, refusal.attempted) {
        words.push(format!("{}>{}", state.as_str(), attempted.as_str()));
    }
    words.join(" ")
}
