//! The rules of the table for objections, decisions and the end, written a second time, the slow
//! and obvious way: each answer is searched in all acts.

use parley_protocol::act::Kind;
use parley_protocol::artifact::{ArtifactType, Identifier, TerminationState, Valid};
use parley_protocol::entry::{Act, Change, Message};
use parley_protocol::ids::MessageId;
use parley_protocol::state::State;

fn messages(acts: &[(u64, Act)]) -> impl Iterator<Item = (usize, &Act, &Message)> {
    let acts = acts.iter().enumerate();
    acts.filter_map(|(place, (_, act))| act.message().map(|message| (place, act, message)))
}

fn is_retracted(acts: &[(u64, Act)], id: MessageId) -> bool {
    messages(acts).any(|(_, _, one)| one.kind == Kind::Retract && one.parent == Some(id))
}

/// Whether `by`, who made the objection, has accepted a reply to it and not taken that back.
fn is_resolved(acts: &[(u64, Act)], objection: MessageId, by: &Act) -> bool {
    let mut replies = messages(acts)
        .filter(|(_, _, one)| one.parent == Some(objection) && one.kind != Kind::Retract);
    replies.any(|(_, _, reply)| {
        messages(acts).any(|(_, act, one)| {
            one.kind == Kind::Agree
                && one.parent == Some(reply.id)
                && act.by == by.by
                && !is_retracted(acts, one.id)
        })
    })
}

/// What is to be said of the objection that an act makes; `None` if it makes none.
fn word(acts: &[(u64, Act)], act: &Act) -> Option<&'static str> {
    match &act.change {
        Change::Refute(..) => Some("unresolved"),
        Change::Message(one) if one.kind == Kind::Object => Some(if is_retracted(acts, one.id) {
            "withdrawn"
        } else if is_resolved(acts, one.id, act) {
            "resolved"
        } else {
            "unresolved"
        }),
        _ => None,
    }
}

/// The state that stands after the act at `place`, and whether it is confirmed.
fn state(acts: &[(u64, Act)], place: usize) -> (State, bool) {
    let event = acts[..=place].iter().rev().find_map(|(_, act)| act.event.as_ref());
    event.map(|event| (event.to, event.confirmed)).expect("the opening has one")
}

fn is_final(acts: &[(u64, Act)], place: usize) -> bool {
    let is_last = !messages(&acts[place + 1..]).any(|(_, _, one)| one.kind == Kind::Decide);
    let stays = |from: usize| {
        (from..acts.len()).all(|at| matches!(state(acts, at).0, State::Decided | State::Closed))
    };
    let was = (place..acts.len()).any(|at| state(acts, at).1 && stays(at));
    let after = acts[place + 1..].iter().any(|(_, act)| word(acts, act) == Some("unresolved"));
    is_last && was && !after
}

/// Compares what was exported with what the rules say. Gives how many decisions are final, how
/// many provisional, how many objections block no more, how many terminations there are.
pub fn compare(acts: &[(u64, Act)], read: &[Valid], place: &str) -> [usize; 4] {
    let of = |kind| move |one: &&Valid| one.content.artifact_type == Some(kind);
    let objections: Vec<&Valid> = read.iter().filter(of(ArtifactType::Objection)).collect();
    let words: Vec<(usize, &str)> = acts
        .iter()
        .enumerate()
        .filter_map(|(at, (_, act))| word(acts, act).map(|word| (at, word)))
        .collect();
    let blocking: Vec<bool> = objections.iter().map(|one| one.content.blocking).collect();
    let want: Vec<bool> = words.iter().map(|(_, word)| *word == "unresolved").collect();
    assert_eq!(blocking, want, "{place}: blocking");
    let mut counts = [0, 0, want.iter().filter(|it| !**it).count(), 0];
    let mut decisions = read.iter().filter(of(ArtifactType::Decision));
    let mut before = 0;
    let mut last_final = None;
    for (at, ..) in messages(acts).filter(|(_, _, one)| one.kind == Kind::Decide) {
        let valid = decisions.next().expect("as many as in the thread");
        let decision = valid.content.decision.as_ref().expect("a decision");
        let named = objections
            .iter()
            .zip(&words)
            .filter(|(_, (made, word))| *made < at && (*made >= before || *word == "unresolved"));
        let named: Vec<(Identifier, String)> =
            named.map(|(one, (_, word))| (one.id, (*word).to_owned())).collect();
        let got = decision.dispositions.iter().map(|one| (one.objection, one.word.clone()));
        assert_eq!(got.collect::<Vec<_>>(), named, "{place}: dispositions");
        let open = named.iter().filter(|(_, word)| word == "unresolved").map(|(id, _)| *id);
        assert_eq!(decision.unresolved, open.collect::<Vec<_>>(), "{place}: unresolved");
        assert_eq!(decision.is_final, is_final(acts, at), "{place}: final");
        counts[usize::from(!decision.is_final)] += 1;
        last_final = decision.is_final.then_some(valid.id);
        before = at;
    }
    let end = match (state(acts, acts.len() - 1), last_final) {
        ((State::Closed, true), Some(_)) => Some(TerminationState::Completed),
        ((State::Deferred, true), _) => Some(TerminationState::Suspended),
        ((State::Closed | State::Obsolete | State::Rejected, true), _) => {
            Some(TerminationState::Cancelled)
        }
        _ => None,
    };
    let ends: Vec<&Valid> = read.iter().filter(of(ArtifactType::Termination)).collect();
    assert_eq!(ends.first().map(|one| one.content.state), end.map(Some), "{place}: end");
    assert!(ends.len() <= 1 && ends.first().is_none_or(|one| one.id == read[read.len() - 1].id));
    counts[3] = ends.len();
    counts
}
