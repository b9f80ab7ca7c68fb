//! Checks that the turn of a shown thread follows from its state and its `awaiting`.

use super::transitions::State;
use crate::objects::{Due, Thread};

/// Checks `parley.md` §4: one turn from `open` to `decided`; none in a side state, and none once
/// `closed` is confirmed.
pub fn check(thread: &Thread<'_>) -> Result<(), String> {
    let awaited = thread.awaiting.as_ref().map(|awaiting| &awaiting.due);
    let creator = Due::One(thread.creator.clone());
    let Some(state) = State::parse(&thread.state) else {
        return Err(format!("{} has the unknown state {}", thread.id, thread.state));
    };
    let confirmed = thread.state_confirmed_at.is_some();
    let (expected, may_await) = match state {
        State::Open | State::Answered | State::Decided => (Some(awaited.unwrap_or(&creator)), true),
        State::Closed if confirmed => (None, false),
        State::Closed => (awaited, true),
        State::Deferred | State::Obsolete | State::Rejected => (None, false),
    };
    if !may_await && awaited.is_some() {
        return Err(format!("{} is {} and still awaits something", thread.id, thread.state));
    }
    if thread.turn.as_ref() == expected {
        return Ok(());
    }
    Err(format!(
        "{} is {}: the turn is {:?}, but {:?} is due: more than one open turn",
        thread.id, thread.state, thread.turn, expected
    ))
}

#[cfg(test)]
mod tests {
    fn check_row(state: &str, confirmed: bool, awaiting: &str, turn: &str) -> Result<(), String> {
        let confirmed = if confirmed { "\"2026-11-29T20:00:00.000Z\"" } else { "null" };
        let text = format!(
            r#"{{"id":"th_1","creator":{{"identity":"local:a","extension":null}},
            "state":"{state}","state_confirmed_at":{confirmed},"message_count":2,
            "cursor":"1.1.x","awaiting":{awaiting},"turn":{turn}}}"#
        );
        super::check(&serde_json::from_str(&text).unwrap())
    }

    /// Goal: correct turns pass and planted faults are found. Method: a row for each.
    #[test]
    fn rows() {
        let a = r#"{"identity":"local:a","extension":null}"#;
        let b = r#"{"identity":"local:b","extension":null}"#;
        let slot = r#"{"message":"msg_1","due":{"identity":"local:b","extension":null}}"#;
        check_row("open", false, slot, b).unwrap();
        check_row("answered", false, "null", a).unwrap();
        check_row("closed", false, "null", "null").unwrap();
        check_row("deferred", false, "null", "null").unwrap();
        check_row("open", false, slot, a).unwrap_err();
        check_row("open", false, "null", "null").unwrap_err();
        check_row("deferred", false, slot, "null").unwrap_err();
        check_row("closed", true, "null", a).unwrap_err();
    }
}
