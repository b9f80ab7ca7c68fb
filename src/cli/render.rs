//! Renders the objects of bindings.md §2 as text for people.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::cli::text::{in_one_line, push_block};

/// The deepest level of a tree with an indent of its own.
const INDENT_LEVELS_MAX: usize = 16;

/// The string at a JSON Pointer, neutral and in one line; empty without one.
pub fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).map(in_one_line).unwrap_or_default()
}

/// A participant: `local:ada` or `local:ada/worker-2`.
pub fn participant(value: &Value) -> String {
    let identity = text_at(value, "/identity");
    match value["extension"].as_str() {
        Some(extension) => format!("{identity}/{}", in_one_line(extension)),
        None => identity,
    }
}

/// The participant that is due: `anyone`, an identity, or `nobody`.
pub fn due(value: &Value) -> String {
    match value {
        Value::Null => "nobody".to_owned(),
        Value::String(word) => in_one_line(word),
        other => participant(other),
    }
}

/// The state of a thread and its confirmation: `decided (proposed)`, `decided (KI · Night)`,
/// `decided (human)`.
pub fn state(thread: &Value) -> String {
    let is_confirmed = !thread["state_confirmed_at"].is_null();
    let by = confirmation(is_confirmed, &thread["state_label"], &thread["state_origin"]);
    let locked = if thread["locked"] == true { ", locked" } else { "" };
    format!("{} ({by}{locked})", text_at(thread, "/state"))
}

/// The confirmation of a state or an event.
fn confirmation(is_confirmed: bool, label: &Value, origin: &Value) -> String {
    match (is_confirmed, label.as_str(), origin.as_str()) {
        (false, ..) => "proposed".to_owned(),
        (true, Some(label), _) => in_one_line(label),
        (true, None, Some("user")) => "human".to_owned(),
        (true, None, _) => "confirmed".to_owned(),
    }
}

/// `2026-11-29 20:00:00` of an RFC 3339 time.
fn time(value: &Value) -> String {
    let text = value.as_str().map(in_one_line).unwrap_or_default();
    text.chars().take(19).map(|it| if it == 'T' { ' ' } else { it }).collect()
}

/// The turn, and the message that is awaited: `turn: local:ada, on msg_1`.
pub fn turn(thread: &Value) -> String {
    let due = due(&thread["turn"]);
    match thread.pointer("/awaiting/message").and_then(Value::as_str) {
        Some(message) => format!("turn: {due}, on {}", in_one_line(message)),
        None => format!("turn: {due}"),
    }
}

/// A thread in one line: identifier, state and turn.
pub fn head(thread: &Value) -> String {
    format!("{}  {}  {}", text_at(thread, "/id"), state(thread), turn(thread))
}

/// A thread in a few lines.
pub fn thread(thread: &Value) -> String {
    let mut text = head(thread);
    text.push('\n');
    push_block(&mut text, "  ", &text_at(thread, "/subject"));
    let count = |name: &str, one: &str| match thread[name].as_u64().unwrap_or_default() {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let _ = writeln!(
        text,
        "  opened by {} {}, {}, {}",
        participant(&thread["creator"]),
        time(&thread["created_at"]),
        count("message_count", "message"),
        count("claim_count", "claim"),
    );
    text
}

/// A message at a level of a tree.
pub fn message(message: &Value, level: usize) -> String {
    let indent = "    ".repeat(level.min(INDENT_LEVELS_MAX));
    let mut text = String::new();
    let _ = write!(
        text,
        "{indent}{}  {} {}",
        text_at(message, "/id"),
        participant(&message["from"]),
        text_at(message, "/kind"),
    );
    if let Some(parent) = message["parent"].as_str() {
        let _ = write!(text, " {}", in_one_line(parent));
    }
    let _ = write!(text, "  {}", time(&message["created_at"]));
    if let Some(label) = message["label"].as_str() {
        let _ = write!(text, "  {}", in_one_line(label));
    }
    text.push('\n');
    push_block(&mut text, &format!("{indent}  "), message["body"].as_str().unwrap_or_default());
    let retracted = &message["retracted"];
    if !retracted.is_null() {
        let by = participant(&retracted["by"]);
        let _ = writeln!(text, "{indent}  [retracted by {by}, {}]", text_at(retracted, "/message"));
    }
    text
}

/// The messages of a thread as a tree, each level in order of creation, which is the order of
/// `messages`.
pub fn tree(messages: &[Value]) -> String {
    let ids = messages.iter().enumerate();
    let ids: HashMap<_, _> = ids.filter_map(|(at, it)| Some((it["id"].as_str()?, at))).collect();
    let index = |id: &str| ids.get(id).copied();
    let mut replies = vec![Vec::new(); messages.len()];
    let mut open = Vec::new();
    for (child, message) in messages.iter().enumerate() {
        match message["parent"].as_str().and_then(index) {
            Some(parent) if parent < child => replies[parent].push(child),
            _ => open.push((child, 0)),
        }
    }
    open.reverse();
    let mut text = String::new();
    while let Some((at, level)) = open.pop() {
        text.push_str(&message(&messages[at], level));
        open.extend(replies[at].iter().rev().map(|reply| (*reply, level + 1)));
    }
    text
}

/// A change of state.
pub fn event(event: &Value) -> String {
    let from = event["from"].as_str().map_or_else(|| "new".to_owned(), in_one_line);
    let by = confirmation(event["confirmed"] == true, &event["label"], &event["origin"]);
    let mut text = format!(
        "{}  {} {from} → {} ({by})\n",
        text_at(event, "/id"),
        participant(&event["by"]),
        text_at(event, "/to"),
    );
    if let Some(reason) = event["reason"].as_str() {
        push_block(&mut text, "  ", reason);
    }
    text
}

/// A claim with its evidence.
pub fn claim(claim: &Value) -> String {
    let expired = if claim["expired"] == true { ", expired" } else { "" };
    let mut text = format!(
        "{}  {}{expired}  {}\n",
        text_at(claim, "/id"),
        text_at(claim, "/status"),
        participant(&claim["author"]),
    );
    push_block(&mut text, "  ", claim["statement"].as_str().unwrap_or_default());
    push_evidence(&mut text, &claim["evidence"]);
    for attestation in claim["attestations"].as_array().into_iter().flatten() {
        let what = if attestation["seal"] == true { "sealed" } else { "attested" };
        let _ = writeln!(text, "  {what} by {}", participant(&attestation["by"]));
        push_evidence(&mut text, &attestation["evidence"]);
    }
    let refutation = &claim["refutation"];
    if !refutation.is_null() {
        let _ = writeln!(text, "  refuted by {}", participant(&refutation["by"]));
        push_evidence(&mut text, &refutation["evidence"]);
    }
    let supersedes = claim["supersedes"].as_array().into_iter().flatten();
    let supersedes: Vec<_> = supersedes.filter_map(Value::as_str).map(in_one_line).collect();
    if !supersedes.is_empty() {
        let _ = writeln!(text, "  supersedes {}", supersedes.join(", "));
    }
    if let Some(newer) = claim["superseded_by"].as_str() {
        let _ = writeln!(text, "  superseded by {}", in_one_line(newer));
    }
    text
}

fn push_evidence(text: &mut String, evidence: &Value) {
    for piece in evidence.as_array().into_iter().flatten() {
        let mut line = format!("{} {}", text_at(piece, "/kind"), text_at(piece, "/ref"));
        if let Some(note) = piece["note"].as_str().filter(|note| !note.is_empty()) {
            let _ = write!(line, " ({})", in_one_line(note));
        }
        push_block(text, "    - ", &line);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message_json(id: &str, parent: Option<&str>, body: &str) -> Value {
        json!({
            "id": id, "parent": parent, "kind": "answer", "body": body, "label": null,
            "from": { "identity": "local:ada", "extension": "w" },
            "created_at": "2026-11-29T20:00:00.000Z", "retracted": null
        })
    }

    /// Goal: a tree is nested by parent, each level in order of creation. Method: five messages,
    /// two of them beside the opening.
    #[test]
    fn trees() {
        let messages = [
            message_json("msg_1", None, "a"),
            message_json("msg_2", Some("msg_1"), "b"),
            message_json("msg_3", None, "c"),
            message_json("msg_4", Some("msg_1"), "d"),
            message_json("msg_5", Some("msg_2"), "e"),
        ];
        let tree = tree(&messages);
        let order: Vec<_> = tree.lines().filter(|line| line.contains("msg_")).collect();
        let want = ["msg_1", "    msg_2", "        msg_5", "    msg_4", "msg_3"];
        assert_eq!(order.len(), want.len(), "{tree}");
        for (line, want) in order.iter().zip(want) {
            assert!(line.starts_with(want), "{line:?} {want:?}");
        }
    }

    /// Goal: text of a participant cannot control the terminal. Method: escapes in body, name
    /// and label of one message.
    #[test]
    fn messages_are_data() {
        let mut message_value = message_json("msg_1", None, "a\u{1b}[2Jb\nc");
        message_value["label"] = "KI · \u{1b}x".into();
        message_value["from"]["extension"] = "w\u{7}".into();
        let text = message(&message_value, 1);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
        assert!(text.contains("      a␛[2Jb\n      c\n"), "{text:?}");
    }

    /// Goal: a proposal differs from a confirmed state, which names who confirmed it. Method: a row
    /// a case.
    #[test]
    fn states() {
        for (confirmed, label, origin, locked, want) in [
            (json!(null), json!(null), "llm", false, "closed (proposed)"),
            (json!("t"), json!("KI · Night"), "llm", true, "closed (KI · Night, locked)"),
            (json!("t"), json!(null), "user", true, "closed (human, locked)"),
            (json!("t"), json!(null), "llm", false, "closed (confirmed)"),
        ] {
            let thread = json!({
                "state": "closed", "state_confirmed_at": confirmed, "state_label": label,
                "state_origin": origin, "locked": locked
            });
            assert_eq!(state(&thread), want);
        }
    }

    /// Goal: every form of a turn has its text. Method: a row a case.
    #[test]
    fn turns() {
        let ada = json!({ "identity": "local:ada", "extension": null });
        for (turn_value, awaiting, want) in [
            (json!("anyone"), json!({ "message": "msg_1" }), "turn: anyone, on msg_1"),
            (ada, json!(null), "turn: local:ada"),
            (json!(null), json!(null), "turn: nobody"),
        ] {
            assert_eq!(turn(&json!({ "turn": turn_value, "awaiting": awaiting })), want);
        }
    }
}
