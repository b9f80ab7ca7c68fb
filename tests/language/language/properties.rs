//! Random commands against the core: it must agree with the naive model on every one, and a thread
//! must be what its acts make of it.

use std::collections::BTreeMap;

use parley_protocol::act::Kind;
use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Awaiting, Change, Due, Position};
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::state::{Origin, State};
use parley_protocol::thread::Thread;

use super::model::{Fact, For, Held, Model, Moved, Proved, Said, Turn, confirms};
use super::verdict::{Judge, Verdict};
use crate::generator::Generator;
use crate::harness::{ThreadHarness, stored};
use crate::scenario;

/// Enters what happened, as the page's verdict says, under the numbers that the core gave.
fn record(model: &mut Model, principal: &Principal, act: &Act, entry: u64, verdict: &Verdict) {
    let Verdict::Done { parent, to } = verdict else { panic!("only what is done is recorded") };
    let (at, by) = (act.at, act.by.clone());
    let from = (!model.facts.is_empty()).then(|| model.state());
    let user = principal.author_kind.as_str() == "human";
    let proved = |claim, what| Fact::Proved(Proved { claim, at, by: by.clone(), what });
    model.facts.extend(match &act.change {
        Change::Message(one) => {
            let (id, kind, parent, by) = (one.id, one.kind, *parent, by.clone());
            Some(Fact::Said(Said { id, at, entry, by, human: user, kind, parent }))
        }
        Change::Mark => None,
        Change::Assert(claim) => {
            let (id, until, older) = (claim.id, claim.valid_until, claim.supersedes.clone());
            Some(Fact::Held(Held { id, at, by: by.clone(), until, older }))
        }
        Change::Attest(claim, one) if one.seal => Some(proved(*claim, For::Seal)),
        Change::Attest(claim, _) => Some(proved(*claim, For::Support)),
        Change::Refute(claim, _) => Some(proved(*claim, For::Refutation)),
    });
    if let Some(to) = *to {
        let event = act.event.as_ref().expect("there is one");
        let label = (!user && confirms(principal)).then_some(principal.label.as_deref()).flatten();
        let label = label.map(|label| format!("KI · {label}"));
        let message = act.message().map(|message| message.id);
        let (id, confirmed) = (event.id, confirms(principal));
        let moved = Moved { id, at, by, from, to, user, confirmed, label, message };
        model.facts.push(Fact::Moved(moved));
    }
    model.updated_at = at;
}

/// The core's outcome in the terms of the page's verdict.
fn outcome(result: &Result<Option<Act>, parley_protocol::refusal::Refusal>) -> Verdict {
    match result {
        Err(refusal) => Verdict::Refused(scenario::refusal(refusal)),
        Ok(None) => Verdict::Nothing,
        Ok(Some(act)) => Verdict::Done {
            parent: act.message().and_then(|message| message.parent),
            to: act.event.as_ref().map(|event| event.to),
        },
    }
}

fn due(due: &Due) -> Option<Participant> {
    match due {
        Due::Anyone => None,
        Due::Participant(one) => Some(one.clone()),
    }
}

/// The head says what the model says.
fn compare_heads(model: &Model, harness: &ThreadHarness, place: &str) {
    let head = harness.opened().summary();
    let moved = model.last_move();
    assert_eq!(head.state, moved.to, "{place}: state");
    let origin = if moved.user { Origin::User } else { Origin::Llm };
    assert_eq!(head.origin, origin, "{place}: origin");
    let confirmed_at = moved.confirmed.then_some(moved.at);
    assert_eq!((head.confirmed_at, head.locked()), (confirmed_at, model.locked()), "{place}");
    assert_eq!(head.label.as_deref(), moved.label.as_deref(), "{place}: label");
    assert_eq!(&head.creator, model.creator(), "{place}: creator");
    let counts = [model.said().count(), model.held().count(), harness.acts.len()].map(|n| n as u64);
    assert_eq!([head.message_count, head.claim_count, head.seq], counts, "{place}: counts");
    assert_eq!(head.updated_at, model.updated_at, "{place}: updated_at");
    let turn = match head.turn() {
        None => Turn::Nobody,
        Some(Due::Anyone) => Turn::Anyone,
        Some(Due::Participant(one)) => Turn::One(one),
    };
    assert_eq!(turn, model.turn(), "{place}: turn");
    let waits = model.awaiting();
    let Some(awaiting) = &head.awaiting else {
        assert_eq!(waits, None, "{place}: awaiting");
        return;
    };
    let waits = waits.unwrap_or_else(|| panic!("{place}: nothing is awaited, not {awaiting:?}"));
    let message = model.message(waits.message).expect("it was said");
    assert_eq!(
        (awaiting.message, &awaiting.asker, due(&awaiting.due), awaiting.since),
        (waits.message, &message.by, waits.due, waits.since),
        "{place}: awaiting"
    );
    let entries = (head.awaiting_entry, head.awaited_entry);
    assert_eq!(entries, (waits.entry, message.entry), "{place}: entries");
}

/// Every claim says what the model says.
fn compare_claims(model: &Model, harness: &ThreadHarness, place: &str) {
    assert_eq!(harness.opened().claims().count(), model.held().count(), "{place}: claims");
    for (claim, held) in harness.opened().claims().zip(model.held()) {
        assert_eq!(claim.id, held.id, "{place}");
        assert_eq!(claim.status, model.status(held.id), "{place}: {}", held.id);
        assert_eq!((&claim.author, claim.created_at), (&held.by, held.at), "{place}");
        assert_eq!((claim.valid_until, &claim.supersedes), (held.until, &held.older), "{place}");
        assert_eq!(claim.superseded_by, model.superseded_by(held.id), "{place}: superseded_by");
        let supports = model.proved(held.id).filter(|one| one.what != For::Refutation);
        let supports = supports.map(|one| (&one.by, one.at, one.what == For::Seal));
        let attested = claim.attestations.iter().map(|one| (&one.by, one.at, one.seal));
        assert!(supports.eq(attested), "{place}: attestations of {}", held.id);
        let refutation = model.proved(held.id).find(|one| one.what == For::Refutation);
        let refuted = claim.refutation.as_ref().map(|one| (&one.by, one.at));
        assert_eq!(refutation.map(|one| (&one.by, one.at)), refuted, "{place}");
    }
}

/// The rules of every act.
fn check_act(
    model: &Model,
    before: Option<&Awaiting>,
    act: &Act,
    harness: &ThreadHarness,
    place: &str,
) {
    let head = harness.opened().summary();
    assert_eq!(act.awaiting, head.awaiting, "{place}: awaiting as it left it behind");
    let changed = before != act.awaiting.as_ref();
    assert_eq!(act.awaiting_was.as_ref(), before.filter(|_| changed), "{place}: what stood there");
    assert_eq!(act.awaiting_set, changed && act.awaiting.is_some(), "{place}: set");
    let claims = act.claims().count() as u64;
    let slot = match (changed && before.is_some(), act.awaiting_set, claims, &act.event) {
        (true, ..) => 12,
        (_, true, ..) => 11,
        (_, _, 1.., _) => 1 + claims,
        (.., Some(_)) => 1,
        _ => 0,
    };
    let entry = harness.acts.last().expect("just stored").0;
    assert_eq!(head.position, Position(entry * 16 + slot), "{place}: position");
    // Exactly one turn on the line, none in a side state; in a proposed `closed` what is awaited.
    let line = matches!(head.state, State::Open | State::Answered | State::Decided);
    let closed = head.state == State::Closed && head.awaiting.is_some();
    assert_eq!(head.turn().is_some(), line || closed, "{place}: turn");
    if let Some(awaiting) = &act.awaiting {
        assert_ne!(due(&awaiting.due).as_ref(), Some(&awaiting.asker), "{place}: due on its own");
        assert!(!model.retracted(awaiting.message), "{place}: a retracted one is awaited");
    }
    if let (Some(event), Change::Message(message)) = (&act.event, &act.change)
        && event.from.is_some()
    {
        let moves = matches!(message.kind, Kind::Answer | Kind::Decide);
        assert!(moves && event.from != Some(State::Closed), "{place}: acts move forward");
    }
}

/// Times and numbers rise, however the clock jumps.
fn check_order(acts: &[(u64, Act)], place: &str) {
    for pair in acts.windows(2) {
        assert!(pair[0].1.at <= pair[1].1.at, "{place}: time runs backwards");
        assert_eq!(pair[0].1.seq + 1, pair[1].1.seq, "{place}: seq");
    }
    let rises = |numbers: Vec<u64>| numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let acts = || acts.iter().map(|(_, act)| act);
    assert!(rises(acts().filter_map(Act::message).map(|one| one.id.0).collect()), "{place}");
    assert!(rises(acts().filter_map(|act| act.event.as_ref()).map(|one| one.id.0).collect()));
    let made = acts().filter_map(|act| match &act.change {
        Change::Assert(claim) => Some(claim.id.0),
        _ => None,
    });
    assert!(rises(made.collect()), "{place}");
}

/// The events are the ones that the model tells, the opening first, from null.
fn compare_events(model: &Model, acts: &[(u64, Act)], place: &str) {
    let acts = acts.iter().filter(|(_, act)| act.event.is_some());
    assert_eq!(acts.clone().count(), model.moved().count(), "{place}: events");
    for ((_, act), moved) in acts.zip(model.moved()) {
        let event = act.event.as_ref().expect("it has one");
        let origin = if moved.user { Origin::User } else { Origin::Llm };
        assert_eq!((event.id, event.from, event.to), (moved.id, moved.from, moved.to), "{place}");
        assert_eq!((event.origin, event.confirmed), (origin, moved.confirmed), "{place}");
        assert_eq!(event.label.as_deref(), moved.label.as_deref(), "{place}: label");
        assert_eq!((&act.by, act.at), (&moved.by, moved.at), "{place}: by whom and when");
        let message = act.message().map(|message| message.id);
        assert_eq!(message, moved.message, "{place}: the message that caused it");
    }
    assert_eq!(model.moved().next().map(|opening| opening.from), Some(None), "{place}: opening");
    assert_eq!(model.moved().filter(|moved| moved.from.is_none()).count(), 1, "{place}: opening");
}

/// The thread that `acts` make.
fn rebuilt(acts: &[(u64, Act)]) -> Thread {
    let mut thread: Option<Thread> = None;
    for (entry, act) in acts {
        match &mut thread {
            None => thread = Thread::open(act),
            Some(thread) => thread.apply(act),
        }
        thread.as_mut().expect("the first act opens").stamp(act, *entry);
    }
    thread.expect("there is an act")
}

fn snapshot(thread: &Thread) -> Thread {
    let bytes = postcard::to_stdvec(thread).expect("a thread serializes");
    postcard::from_bytes(&bytes).expect("and comes back")
}

/// One thread of `steps` commands; counts what came of them.
fn play(seed: u64, steps: usize, seen: &mut BTreeMap<String, u64>) {
    let mut generator = Generator::new(seed);
    let mut harness = ThreadHarness::new(generator.limits());
    let mut model = Model::default();
    for step in 0..steps {
        let (principal, command) = generator.next(&harness);
        let who = principal.participant(command.extension());
        let place = format!("seed {seed}, step {step}, {who}: {command:?}");
        let want = if harness.thread.is_none() {
            Verdict::Done { parent: None, to: Some(State::Open) }
        } else {
            let (principal, limits, now) = (&principal, &harness.limits, harness.now);
            Judge { model: &model, principal, limits, now }.judge(&command)
        };
        let before = harness.thread.clone();
        let result = harness.act(&principal, &command);
        assert_eq!(outcome(&result), want, "{place}");
        *seen.entry(word(&want, &command)).or_default() += 1;
        if let Ok(Some(act)) = &result {
            assert_eq!(act.by, who, "{place}");
            assert_eq!(act.at, harness.now.max(model.updated_at), "{place}: time");
            record(&mut model, &principal, act, harness.acts.last().expect("stored").0, &want);
            let awaiting = before.as_ref().and_then(|before| before.summary().awaiting.as_ref());
            check_act(&model, awaiting, act, &harness, &place);
            let back = act.awaiting.as_ref().is_some_and(|now| {
                act.awaiting_set && act.message().is_some_and(|message| message.id != now.message)
            });
            *seen.entry("turn back".to_owned()).or_default() += u64::from(back);
        } else {
            assert_eq!(before, harness.thread, "{place}: nothing may change");
        }
        compare_heads(&model, &harness, &place);
        compare_claims(&model, &harness, &place);
        if generator.rng.percent(5) {
            // From here on with the thread as it comes back from its acts or from a snapshot.
            let back = if generator.rng.percent(50) {
                rebuilt(&stored(&harness.acts))
            } else {
                snapshot(harness.opened())
            };
            assert_eq!(harness.thread, Some(back.clone()), "{place}: not what its acts make");
            harness.thread = Some(back);
        }
        harness.now = generator.clock(harness.now);
    }
    let place = format!("seed {seed}");
    check_order(&harness.acts, &place);
    compare_events(&model, &harness.acts, &place);
    assert_eq!(stored(&harness.acts), harness.acts, "{place}: stored form");
    assert_eq!(&rebuilt(&harness.acts), harness.opened(), "{place}: rebuilt");
    assert_eq!(&snapshot(harness.opened()), harness.opened(), "{place}: snapshot");
}

/// What was seen: the reason, or the kind of what was done.
fn word(verdict: &Verdict, command: &Command) -> String {
    match verdict {
        Verdict::Refused(text) => text.split(' ').next().unwrap_or("").to_owned(),
        Verdict::Nothing => "nothing".to_owned(),
        Verdict::Done { to, .. } => {
            let change = match command {
                Command::Post(envelope) => envelope.kind.as_str(),
                Command::Mark(_) => "mark",
                Command::Confirm(_) => "confirm",
                Command::Reopen(_) => "reopen",
                Command::Assert(_) => "assert",
                Command::Attest(proof) if proof.seal => "seal",
                Command::Attest(_) => "attest",
                Command::Refute(_) => "refute",
            };
            format!("{change}{}", if to.is_some() { " moves" } else { "" })
        }
    }
}

/// Goal: core and page agree on all commands, and a thread is what its acts make of it. Method:
/// 40 000 seeded commands through the core and the naive model, compared after each; every
/// reason and every change must have come often enough to mean something.
#[test]
fn core_and_page_agree() {
    let first = match std::env::var("PLAY_SEED") {
        Ok(text) => text.parse().expect("PLAY_SEED is a number"),
        Err(_) => 20_261_129,
    };
    println!("first seed {first}");
    let mut seen = BTreeMap::new();
    for seed in first..first + 600 {
        play(seed, 50, &mut seen);
    }
    for seed in first + 600..first + 660 {
        play(seed, 170, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.values().sum::<u64>() >= 40_000);
    let deeds = "ask,answer,answer moves,clarify,propose,object,agree,inform,decide,decide moves,\
                 retract,mark moves,confirm moves,reopen moves,nothing,turn back,assert,attest,\
                 seal,refute";
    let reasons = "invalid_body,token_right_missing,thread_authority_missing,message_not_found,\
                   claim_not_found,thread_closed,message_retracted,self_reply,consecutive_limit,\
                   loop_limit,depth_limit,thread_full,invalid_transition,state_moved,self_attest,\
                   claim_settled,already_attested,claim_not_supported";
    for word in deeds.split(',').chain(reasons.split(',')) {
        let count = seen.get(word).copied().unwrap_or_default();
        assert!(count >= 10, "{word} came {count} times only");
    }
}
