//! What a forum shows: everything that can be read, for comparing two.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use parley_kit::artifact::claim;
use parley_kit::peer::{ask, get, pages, post};
use parley_kit::{Process, position};
use serde_json::{Value, json};

use super::site::start;

/// Everything that one forum shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// By path.
    pub threads: BTreeMap<String, Thread>,
    /// Artifacts, each with what is read of it.
    pub artifacts: Vec<(Value, Vec<u8>)>,
    /// Tokens.
    pub tokens: Vec<Value>,
    /// The inboxes asked for.
    pub inboxes: Vec<Value>,
}

/// One thread, without `cursor` members.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// The place of its last change.
    pub position: u64,
    pub head: Value,
    pub messages: Vec<Value>,
    pub events: Vec<Value>,
    pub claims: Vec<Value>,
}

/// Takes all `cursor` members out.
fn without_cursors(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cursor");
            members.values_mut().for_each(without_cursors);
        }
        Value::Array(items) => items.iter_mut().for_each(without_cursors),
        _ => {}
    }
}

/// All items of a list, and its last page.
fn all(address: SocketAddr, token: &str, path: &str, name: &str) -> (Vec<Value>, Value) {
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{separator}limit=1000");
    let (mut items, last) = pages(&path, name, |path| get(address, token, path));
    items.iter_mut().for_each(without_cursors);
    (items, last)
}

/// Reads everything, as `token`, which must be an administrator's.
pub fn read(address: SocketAddr, token: &str) -> Shown {
    let (heads, _) = all(address, token, "/v1/threads", "items");
    let thread = |head: &Value| {
        let path = format!("/v1/threads/{}", head["id"].as_str().unwrap());
        let (messages, mut page) = all(address, token, &format!("{path}?format=flat"), "messages");
        // That of a page is its end; the thread's own stands in a page of the list.
        let query = format!("/v1/threads/{}", head["number"]);
        let own = get(address, token, &query);
        let position = position(own["cursor"].as_str().unwrap());
        let (events, _) = all(address, token, &format!("{path}/events"), "items");
        let (claims, _) = all(address, token, &format!("{path}/claims"), "items");
        without_cursors(&mut page);
        if let Some(members) = page.as_object_mut() {
            members.remove("messages");
        }
        (path, Thread { position, head: page, messages, events, claims })
    };
    let threads = heads.iter().map(thread).collect();
    let (artifacts, _) = all(address, token, "/v1/artifacts", "items");
    let artifacts = artifacts.into_iter().map(|artifact| {
        let id = artifact["artifact_id"].as_str().unwrap_or_else(|| panic!("{artifact}"));
        let body = ask(address, token, &format!("GET /v1/artifacts/{id}"), "", "").body;
        (artifact, body)
    });
    let artifacts = artifacts.collect();
    let (tokens, _) = all(address, token, "/v1/tokens", "items");
    let inbox = |extension: &str| all(address, token, &format!("/v1/inbox{extension}"), "items").0;
    let inboxes = vec![inbox("").into(), inbox("?anyone=false").into()];
    Shown { threads, artifacts, tokens, inboxes }
}

/// A folder `data` that a server has filled with so many threads, and that no server holds.
pub fn filled(data: &str, threads: u64) {
    let server = start(data);
    fill(&server, threads);
    server.stop();
}

/// Fills a forum with a bit of everything: threads in many states, claims, artifacts, keys, tokens.
pub fn fill(server: &Process, threads: u64) {
    let (address, admin) = (server.address, server.admin.as_str());
    let ada = server.token(&json!({ "handle": "ada", "rights": ["read", "write", "verify"] }));
    let bob = server.token(&json!({ "handle": "bob", "rights": ["read", "write"] }));
    let gone =
        json!({ "handle": "gone", "rights": ["read"], "expires_at": "2199-01-01T00:00:00Z" });
    server.token(&gone);
    assert_eq!(ask(address, admin, "DELETE /v1/tokens/5", "", "").status, 204);
    let done = |body: Value| {
        assert!(body.get("reason").is_none() || body.get("event").is_some(), "{body}");
        body
    };
    for number in 0..threads {
        let say = |token: &str, kind: &str, thread: &Value, text: &str| {
            let mut body = json!({ "kind": kind, "body": format!("{text} {number}") });
            if !thread.is_null() {
                body["thread"] = thread.clone();
            }
            done(post(address, token, "/v1/messages", &body))
        };
        let asked = say(&ada, "ask", &Value::Null, "What is it called?");
        let thread = asked["thread"]["id"].clone();
        let path = format!("/v1/threads/{}", thread.as_str().unwrap());
        match number % 6 {
            0 => {}
            1 => drop(say(&bob, "answer", &thread, "It is called so.")),
            2 => {
                say(&bob, "clarify", &thread, "Which one do you mean?");
                say(&ada, "inform", &thread, "By the way.");
            }
            3 => {
                let answered = say(&bob, "answer", &thread, "It is called otherwise.");
                let body = json!({ "kind": "retract", "thread": thread, "body": "Wrong.",
                                   "parent": answered["message"]["id"] });
                done(post(address, &bob, "/v1/messages", &body));
            }
            4 => {
                let claim = json!({ "statement": format!("It has a name, {number}.") });
                let claimed = done(post(address, &ada, &format!("{path}/claims"), &claim));
                let id = claimed["claim"]["id"].as_str().unwrap_or_else(|| panic!("{claimed}"));
                let proof = json!({ "evidence": [{ "kind": "log", "ref": "line 7" }] });
                done(post(address, admin, &format!("/v1/claims/{id}/attest"), &proof));
                let next = json!({ "statement": "It has another.", "supersedes": [id] });
                done(post(address, &ada, &format!("{path}/claims"), &next));
            }
            _ => {
                say(&bob, "answer", &thread, "It is called that.");
                let body = json!({ "state": "closed", "reason": "Done." });
                done(post(address, admin, &format!("{path}/mark"), &body));
            }
        }
        done(post(address, &ada, "/v1/artifacts", &claim(&format!("text {number}"))));
    }
}
