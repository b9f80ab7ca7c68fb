//! Exporting a thread.

use parley_kit::{BlockingServer, peer};
use parley_protocol::artifact::closure::{VerifyOptions, verify};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::{ArtifactType, validate};
use serde_json::{Value, json};

use super::{agent, start};

const LINES: &str = "accept: application/jsonl\r\n";

/// A thread with something of everything: discussed, claimed, refuted, decided, closed.
pub fn thread(server: &BlockingServer) {
    let say = |token: &str, path: &str, body: Value, status: u16| {
        let line = format!("POST {path}");
        peer::ask(server.address, token, &line, "", body.to_string()).expect(status);
    };
    let agent = |path: &str, body, status| say(&server.agent, path, body, status);
    let human = |path: &str, body, status| say(&server.admin, path, body, status);
    let messages = "/v1/messages";
    agent(messages, json!({"kind": "ask", "body": "Que\u{301}?"}), 201);
    human(messages, json!({"kind": "propose", "thread": 1, "parent": 1, "body": "This."}), 201);
    let object = json!({"kind": "object", "thread": 1, "parent": 2, "body": "No \"that\"."});
    agent(messages, object, 201);
    human(messages, json!({"kind": "answer", "thread": 1, "parent": 3, "body": "But\nyes."}), 201);
    agent(messages, json!({"kind": "agree", "thread": 1, "parent": 4, "body": "Fine."}), 201);
    let evidence =
        json!([{"kind": "log", "ref": "run 7"}, {"kind": "note", "ref": "n", "note": "x"}]);
    let claim = json!({"statement": "It runs.", "evidence": evidence});
    agent("/v1/threads/th_1/claims", claim, 201);
    human("/v1/claims/cl_1/attest", json!({"evidence": evidence}), 200);
    let newer = json!({"statement": "It runs well.", "supersedes": ["cl_1"]});
    agent("/v1/threads/th_1/claims", newer, 201);
    human("/v1/claims/cl_2/refute", json!({"evidence": evidence}), 200);
    for place in 0..40 {
        let body = format!("On the side, {place}. {}", "ß".repeat(400));
        let who = if place % 2 == 0 { &agent as &dyn Fn(&str, Value, u16) } else { &human };
        who(messages, json!({"kind": "inform", "thread": 1, "body": body}), 201);
    }
    human(messages, json!({"kind": "object", "thread": 1, "parent": 1, "body": "Why?"}), 201);
    human(messages, json!({"kind": "decide", "thread": 1, "body": "So be it."}), 201);
    human("/v1/threads/th_1/mark", json!({"state": "closed"}), 200);
}

/// What the lines hold.
pub fn lines(server: &BlockingServer) -> String {
    let answer = agent(server, "GET /v1/threads/1/artifacts", LINES, b"");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/jsonl")));
    answer.text().to_owned()
}

/// The artifacts of all pages, each whole, in the bytes in which it stands there.
fn pages(server: &BlockingServer, limit: usize) -> Vec<String> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    let get = |cursor: &str| {
        let line = format!("GET /v1/threads/th_1/artifacts?limit={limit}{cursor}");
        agent(server, &line, "", b"")
    };
    loop {
        let answer = get(&cursor);
        let page = answer.expect(200);
        let found = page["items"].as_array().expect("items");
        // As raw text, so that bytes are compared and not values.
        let text = answer.text();
        let list = &text[text.find('[').expect("a list") + 1..];
        let mut from = 0;
        for _ in found {
            let left = &list[from..];
            let mut items_here = serde_json::Deserializer::from_str(left).into_iter::<Value>();
            items_here.next().expect("an item").expect("JSON");
            let end = items_here.byte_offset();
            items.push(left[..end].to_owned());
            // After it comes a comma, or the end of the list.
            from += end + 1;
        }
        cursor = format!("&cursor={}", page["cursor"].as_str().expect("a cursor"));
        if page["more"] == false {
            let after = get(&cursor).json();
            assert_eq!((&after["items"], &after["more"]), (&json!([]), &json!(false)));
            return items;
        }
        assert_eq!(found.len(), limit, "a page is full while there is more");
    }
}

/// Goal: pages, lines and the same after a restart give the same bytes, which are valid artifacts
/// whose decision and termination verify strictly. Method: a thread over HTTP, exported each way.
#[test]
fn every_way_the_same() {
    let mut server = start();
    thread(&server);
    let whole = lines(&server);
    assert!(whole.ends_with("}\n") && whole.len() > 40_000, "several pieces: {}", whole.len());
    let all: Vec<&str> = whole.lines().collect();
    for limit in [1, 7, 200] {
        assert_eq!(pages(&server, limit), all, "{limit} a page");
    }
    let mut collection = Collection::default();
    let mut judged = Vec::new();
    for line in &all {
        let valid = validate(line.as_bytes()).unwrap_or_else(|why| panic!("{line}: {why:?}"));
        assert_eq!(valid.canonical.bytes(), line.as_bytes(), "the canonical bytes");
        collection.add(line.as_bytes()).expect("an artifact");
        let kind = valid.content.artifact_type;
        if matches!(kind, Some(ArtifactType::Decision | ArtifactType::Termination)) {
            judged.push(valid.id);
        }
    }
    assert_eq!(judged.len(), 2, "a decision and a termination");
    for id in judged {
        let Ok(report) = verify(&collection, &[id], VerifyOptions::STRICT);
        assert!(report.ok, "{report:?}");
    }
    let last: Value = serde_json::from_str(all[all.len() - 1]).expect("JSON");
    assert_eq!(last["payload"]["state"], "completed");
    server.restart();
    assert_eq!(lines(&server), whole, "after a restart");
    assert_eq!(pages(&server, 50), all, "after a restart");
}

/// Goal: a cursor is good while the thread stands still, also across a restart, and nowhere else.
/// Method: one cursor used in all these places.
#[test]
fn cursors() {
    let mut server = start();
    let say = |server: &BlockingServer, message: Value| {
        agent(server, "POST /v1/messages", "", message.to_string().as_bytes());
    };
    let more = |thread: u64| json!({"kind": "inform", "thread": thread, "body": "More."});
    say(&server, json!({"kind": "ask", "body": "One?"}));
    say(&server, json!({"kind": "ask", "body": "Two?"}));
    say(&server, more(1));
    let page = agent(&server, "GET /v1/threads/1/artifacts?limit=1", "", b"").json();
    assert_eq!(page["more"], true);
    let cursor = page["cursor"].as_str().expect("a cursor");
    let next = |server: &BlockingServer, path: &str| {
        agent(server, &format!("GET {path}?cursor={cursor}"), "", b"")
    };
    assert_eq!(next(&server, "/v1/threads/1/artifacts").status, 200);
    server.restart();
    // Another thread that moves does no harm.
    say(&server, more(2));
    assert_eq!(next(&server, "/v1/threads/1/artifacts").status, 200);
    next(&server, "/v1/threads/2/artifacts").refusal(400, "invalid_cursor");
    next(&server, "/v1/threads/3/artifacts").refusal(400, "invalid_cursor");
    next(&server, "/v1/artifacts").refusal(400, "invalid_cursor");
    say(&server, more(1));
    next(&server, "/v1/threads/1/artifacts").refusal(400, "invalid_cursor");
}

/// Goal: what cannot be exported is refused in either form. Method: a row a request.
#[test]
fn refusals() {
    let server = start();
    for headers in ["", LINES] {
        for path in ["/v1/threads/1/artifacts", "/v1/threads/x/artifacts"] {
            let answer = agent(&server, &format!("GET {path}"), headers, b"");
            answer.refusal(404, "thread_not_found");
        }
        let answer = agent(&server, "GET /v1/threads/1/artifacts?limit=201", headers, b"");
        answer.refusal(400, "invalid_parameter");
    }
    let html = "accept: text/html\r\n";
    agent(&server, "GET /v1/threads/1/artifacts", html, b"").refusal(406, "not_acceptable");
    let ask = json!({"kind": "ask", "body": "One?"}).to_string();
    agent(&server, "POST /v1/messages", "", ask.as_bytes());
    let head = agent(&server, "HEAD /v1/threads/1/artifacts", LINES, b"");
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/jsonl")));
    agent(&server, "GET /v1/artifacts", LINES, b"").refusal(406, "not_acceptable");
}
