//! `read_inbox` held with progress (mcp.md §4), the first revision, and the template of the inbox.

use parley_kit::{BlockingServer, Peer};
use serde_json::{Value, json};

use super::ask::{Client, bearer, bytes, post, request, text_said, with_meta};
use super::schema::{Revision, Schemas};

/// Both, as clients send it that take either.
const EITHER: &str = "Accept: application/json, text/event-stream";

/// The bytes of a `read_inbox` that asks for progress.
fn held(server: &BlockingServer, secret: &str, revision: Revision, wait: &Value) -> String {
    let mut params = json!({ "name": "read_inbox", "arguments": { "wait_seconds": wait } });
    let version = format!("MCP-Protocol-Version: {}", revision.as_str());
    let mut headers = vec![bearer(secret), EITHER.into(), version];
    if revision == Revision::July2026 {
        params = with_meta(&params);
        headers.extend(["Mcp-Method: tools/call".into(), "Mcp-Name: read_inbox".into()]);
    }
    params["_meta"]["progressToken"] = json!("p-1");
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    bytes(server, &headers, &request("tools/call", &params))
}

/// The message of the next event; `None` at the end.
fn message(peer: &mut Peer) -> Option<Value> {
    let text = String::from_utf8(peer.chunk().expect("a whole chunk")).expect("text");
    let data = text.strip_prefix("event: message\ndata: ").map(str::trim_end);
    data.map(|data| serde_json::from_str(data).expect("JSON"))
}

/// Goal: with a progress token and an event stream in `Accept` an inbox is held beyond the usual
/// bound, and the stream ends with the result. Method: a question asked, then a token revoked,
/// while the inbox is held, in both eras.
#[test]
fn held_beyond_the_bound() {
    for revision in [Revision::November2025, Revision::July2026] {
        let server = BlockingServer::start(&[]);
        let secret = server.make_token(&json!({ "handle": "bob", "rights": ["read"] }));
        let open = || {
            let mut peer = server.connect();
            peer.send(held(&server, &secret, revision, &json!(300)));
            let head = peer.head().expect("an answer");
            let kind = head.header("content-type");
            assert_eq!((head.status, kind), (200, Some("text/event-stream")));
            peer
        };
        let mut peer = open();
        let asker = Client::legacy(&server, &server.agent);
        asker.good("post_message", &json!({ "kind": "ask", "body": "Well?" }));
        let result = message(&mut peer).expect("the result");
        Schemas::check_result(revision, "tools/call", &result);
        assert_eq!((&result["id"], &result["result"]["isError"]), (&json!(1), &json!(false)));
        let said = text_said(&result["result"]);
        assert_eq!(said["items"][0]["message"]["body"], "Well?");
        assert_eq!(message(&mut peer), None);
        asker.good("mark_thread", &json!({ "thread": 1, "state": "answered" }));
        asker.good("mark_thread", &json!({ "thread": 1, "state": "closed" }));
        let mut peer = open();
        server.revoke_last_token();
        let error = message(&mut peer).expect("the error");
        assert_eq!(error["error"]["code"], 401, "{error}");
        assert_eq!(message(&mut peer), None);
    }
}

/// Goal: without either of the two, or beyond the greater bound, the refusal is as ever, and so is
/// the answer to a call that is not held. Method: a row a request.
#[test]
fn bounds() {
    let server = BlockingServer::start(&[]);
    let agent = bearer(&server.agent);
    let body = |wait: u64, meta: &Value| {
        let arguments = json!({ "wait_seconds": wait });
        request(
            "tools/call",
            &json!({ "name": "read_inbox", "arguments": arguments, "_meta": meta }),
        )
    };
    let (token, none) = (json!({ "progressToken": 7 }), json!({}));
    for (accept, wait, meta, refused) in [
        (EITHER, 301, &token, true),
        (EITHER, 26, &none, true),
        ("Accept: application/json", 26, &token, true),
        (EITHER, 26, &json!({ "progressToken": [] }), true),
        (EITHER, 0, &token, false),
    ] {
        let answer = post(&server, &[&agent, accept], &body(wait, meta));
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept} {wait}");
        let result = &answer.json()["result"];
        assert_eq!(result["isError"], refused, "{accept} {wait} {meta}: {result}");
        assert!(!refused || text_said(result)["field"] == "wait_seconds", "{result}");
    }
    let many = format!("[{}]", body(26, &token));
    let answer = post(&server, &[&agent, EITHER], &many);
    assert_eq!(answer.json()[0]["result"]["isError"], true, "a batch is no stream");
}

/// Goal: revision 2024-11-05 is served, with batches as in the next. Method: a start and a batch.
#[test]
fn first_revision() {
    let server = BlockingServer::start(&[]);
    let start = json!({ "protocolVersion": "2024-11-05", "capabilities": {} });
    let started = post(&server, &[], &request("initialize", &start)).json();
    assert_eq!(started["result"]["protocolVersion"], "2024-11-05");
    let ping = request("ping", &json!({}));
    let header = ["MCP-Protocol-Version: 2024-11-05"];
    let answers = post(&server, &header, &format!("[{ping},{ping}]"));
    assert_eq!((answers.status, answers.json().as_array().map(Vec::len)), (200, Some(2)));
    let (older, either) = ("MCP-Protocol-Version: 2024-10-07", post(&server, &header, &ping));
    assert_eq!((either.status, post(&server, &[older], &ping).status), (200, 400));
}

/// Goal: the inbox is a resource with and without questions to anyone. Method: an open question,
/// read under each address.
#[test]
fn inbox_with_anyone() {
    let server = BlockingServer::start(&[]);
    let bob = server.make_token(&json!({ "handle": "bob", "rights": ["read"] }));
    let asker = Client::legacy(&server, &server.agent);
    asker.good("post_message", &json!({ "kind": "ask", "body": "Well?" }));
    let client = Client::modern(&server, &bob);
    for (uri, items) in [
        ("parley://inbox", 1),
        ("parley://inbox?anyone=true", 1),
        ("parley://inbox?anyone=", 1),
        ("parley://inbox?anyone=false", 0),
    ] {
        let read = client.result("resources/read", &json!({ "uri": uri }));
        let text = read["contents"][0]["text"].as_str().expect("a text");
        let said: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(said["items"].as_array().map(Vec::len), Some(items), "{uri}");
    }
    client.fails("resources/read", &json!({ "uri": "parley://inbox?anyone=x" }), 400, 400);
    let templates = client.result("resources/templates/list", &json!({}));
    let templates = templates["resourceTemplates"].as_array().expect("templates");
    assert!(templates.iter().any(|one| one["uriTemplate"] == "parley://inbox{?anyone}"));
}
