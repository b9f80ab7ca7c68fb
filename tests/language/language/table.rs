//! The state machine and the turn as tables (parley.md §3 to §6, §9).

use parley_protocol::entry::Act;
use parley_protocol::refusal::Refusal;
use parley_protocol::state::State;

use super::sheet;
use crate::harness::ThreadHarness;
use crate::scenario::{self, play, read};

/// A play, the act under test, and what came of it; the clock went on by one.
fn perform(text: &str, act: &str) -> (ThreadHarness, ThreadHarness, Result<Option<Act>, Refusal>) {
    let before = play(text);
    let mut harness = play(text);
    let (principal, command) = read(&harness, act);
    let outcome = harness.act(&principal, &command);
    (before, harness, outcome)
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
    let rows = sheet::rows(include_str!("table.txt"));
    assert!(rows.len() >= 200, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let place = format!("line {}: `{}` then `{}`", row.line, row.cells[0], row.cells[1]);
        let (before, after, outcome) = perform(row.cells[0], row.cells[1]);
        let act = outcome.as_ref().ok().and_then(Option::as_ref);
        check_always(&before, &after, act, &place);
        let got = match &outcome {
            Err(refusal) => scenario::refusal(refusal),
            Ok(act) => success(&after, act.as_ref()),
        };
        let mut want = row.cells[2..].join(" | ");
        if outcome.is_ok() && row.cells.len() < 7 {
            let given = got.rsplit_once(" | ").map_or("", |(_, parent)| parent);
            want = format!("{want} | {given}");
        }
        if got != want {
            wrong.push(format!("{place}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// State, awaiting, turn, event, and the parent as stored.
fn success(harness: &ThreadHarness, act: Option<&Act>) -> String {
    let head = harness.opened().summary();
    let parent = act.and_then(Act::message).and_then(|message| message.parent);
    let parent = parent.map_or("-".to_owned(), |id| scenario::rank(harness, id).to_string());
    let cells = [
        scenario::state(head),
        scenario::awaiting(harness, head.awaiting.as_ref()),
        scenario::due(head.turn().as_ref()),
        scenario::event(act),
        parent,
    ];
    cells.join(" | ")
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
    let mut wrong = Vec::new();
    let files = [include_str!("acts.txt"), include_str!("marks.txt")];
    for (place, text, act, want) in files.into_iter().flat_map(sheet::cases) {
        let (before, after, outcome) = perform(&text, &act);
        let made = outcome.as_ref().ok().and_then(Option::as_ref);
        check_always(&before, &after, made, &place);
        let got = match &outcome {
            Err(refusal) => sheet::short(refusal.reason).to_owned(),
            Ok(act) => change(&before, &after, act.as_ref()),
        };
        if got != want {
            wrong.push(format!("{place}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
