//! The state machine and the turn as tables (parley.md §3 to §6, §9).

use parley_protocol::entry::Act;
use parley_protocol::refusal::Refusal;
use parley_protocol::state::State;

use super::sheet::{self, Case};
use crate::harness::ThreadHarness;
use crate::scenario::{self, play, read};

/// The thread before and after the act under test, and what came of it; the clock went on by one.
fn perform(case: &Case) -> (ThreadHarness, ThreadHarness, Result<Option<Act>, Refusal>) {
    let (before, mut after) = (play(&case.play), play(&case.play));
    let (principal, command) = read(&after, &case.act);
    let outcome = after.act(&principal, &command);
    check_always(&before, &after, outcome.as_ref().ok().and_then(Option::as_ref), &case.place);
    (before, after, outcome)
}

/// What holds of any outcome: a refusal or a success without a change leaves the thread as it
/// was; an event says what changed; one that leads to `decided`, `closed` or a side state
/// empties `awaiting`.
fn check_always(before: &ThreadHarness, after: &ThreadHarness, act: Option<&Act>, place: &str) {
    let Some(act) = act else {
        assert_eq!(before.opened(), after.opened(), "{place}: nothing may change");
        return;
    };
    let Some(opened) = &before.thread else { return };
    let (old, new) = (opened.summary(), after.opened().summary());
    let standing = |head: &parley_protocol::thread_summary::ThreadSummary| {
        (head.state, head.origin, head.confirmed_at, head.label.clone())
    };
    assert_eq!(act.event.is_some(), standing(old) != standing(new), "{place}: event");
    if let Some(event) = &act.event {
        assert_eq!((event.from, event.to), (Some(old.state), new.state), "{place}: event");
        assert_eq!(event.confirmed, new.confirmed_at.is_some(), "{place}: event");
        assert_eq!((event.origin, &event.label), (new.origin, &new.label), "{place}: event");
        if new.confirmed_at.is_some() {
            assert_eq!(new.confirmed_at, Some(act.at), "{place}: time");
        }
        if !matches!(event.to, State::Open | State::Answered) {
            assert_eq!(new.awaiting, None, "{place}: the event empties awaiting");
        }
    }
    assert_eq!(new.awaiting, act.awaiting, "{place}: the message carries what it left behind");
    if let Some(awaiting) = &new.awaiting {
        let since = if act.awaiting_set { Some(act.at) } else { None };
        let since = since.or(old.awaiting.as_ref().map(|was| was.since));
        assert_eq!(Some(awaiting.since), since, "{place}: since");
    }
}

/// Goal: every act, mark, confirmation and reopening does what the page says, in the order of
/// checks that it says. Method: a row a case: a play, an act, and the whole outcome.
#[test]
fn rows() {
    sheet::hold(&sheet::rows(include_str!("table.txt")), 200, |case| {
        let (_, after, outcome) = perform(case);
        let cells = match &outcome {
            Err(refusal) => return scenario::refusal(refusal),
            Ok(act) => success(&after, act.as_ref()),
        };
        // A row may leave out the parent.
        cells[..case.want.split(" | ").count().clamp(4, 5)].join(" | ")
    });
}

/// State, awaiting, turn, event, and the parent as stored.
fn success(harness: &ThreadHarness, act: Option<&Act>) -> [String; 5] {
    let head = harness.opened().summary();
    let parent = act.and_then(Act::message).and_then(|message| message.parent);
    let parent = parent.map_or("-".to_owned(), |id| scenario::rank(harness, id).to_string());
    [
        scenario::state(head),
        scenario::awaiting(harness, head.awaiting.as_ref()),
        scenario::due(head.turn().as_ref()),
        scenario::event(act),
        parent,
    ]
}

/// The state where it changed, and awaiting where that changed; `.` where it did not.
fn change(before: &ThreadHarness, after: &ThreadHarness, act: Option<&Act>) -> String {
    let state = scenario::state(after.opened().summary());
    let old = before.opened().summary().awaiting.as_ref();
    let new = after.opened().summary().awaiting.as_ref();
    let shown = if old == new { ".".to_owned() } else { scenario::awaiting(after, new) };
    match act {
        Some(act) if act.event.is_some() => format!("{state} {shown}"),
        _ => shown,
    }
}

/// Goal: every kind in every state on every sort of parent, and every mark in every state by
/// everyone. Method: grids, a play above each, the act made of a row and a column.
#[test]
fn grids() {
    let files = [include_str!("acts.txt"), include_str!("marks.txt")];
    let cases: Vec<Case> = files.into_iter().flat_map(sheet::cases).collect();
    sheet::hold(&cases, 3_000, |case| {
        let (before, after, outcome) = perform(case);
        match &outcome {
            Err(refusal) => sheet::short(refusal.reason).to_owned(),
            Ok(act) => change(&before, &after, act.as_ref()),
        }
    });
}
