//! Each operation with its worst legal input.

use serde_json::{Value, json};

use super::content::{Content, JSON};

const BATCHES: &str = "content-type: application/json\r\nmcp-protocol-version: 2025-03-26\r\n\
                       accept: application/json, text/event-stream\r\n";

/// One request.
pub struct Operation {
    /// Its name in the table.
    pub name: &'static str,
    /// Method and target.
    pub line: String,
    /// Its headers, whole lines.
    pub headers: String,
    /// Its body.
    pub body: Body,
}

/// The body of a request.
pub enum Body {
    /// The same each time.
    Fixed(String),
    /// With `{turn}` in place of the number of the turn.
    Turn(String),
    /// No body; the answer is a stream of this many events.
    Events(usize),
}

/// All operations on this content.
pub fn all(content: &Content) -> impl Iterator<Item = Operation> + use<> {
    let all = reads(content).into_iter().chain(writes(content));
    all.chain(batches(content)).chain(feeds(content))
}

fn reads(content: &Content) -> Vec<Operation> {
    let Content { tree, longest, claim, decision, .. } = content;
    let get = |name, path: &str| Operation {
        name,
        line: format!("GET {path}"),
        headers: String::new(),
        body: Body::Fixed(String::new()),
    };
    vec![
        get("healthz", "/healthz"),
        get("manifest", "/v1/manifest"),
        get("openapi", "/openapi.json"),
        get("list_threads", "/v1/threads?limit=200"),
        get("read_thread as a tree", &format!("/v1/threads/{tree}")),
        get("read_thread flat", &format!("/v1/threads/{longest}?format=flat&limit=200")),
        get("read_events", &format!("/v1/threads/{longest}/events?limit=200")),
        get("list_claims", &format!("/v1/threads/{longest}/claims?limit=200")),
        get("read_claim", &format!("/v1/claims/{claim}")),
        get("read_inbox", "/v1/inbox?limit=200"),
        get("list_artifacts", "/v1/artifacts?limit=200"),
        get("verify_closure", &format!("/v1/artifacts/{decision}/closure")),
        get("export_thread", &format!("/v1/threads/{longest}/artifacts?limit=200")),
    ]
}

fn writes(content: &Content) -> Vec<Operation> {
    let Content { tree, longest, groups, .. } = content;
    let write = |name, path: &str, body: Value| Operation {
        name,
        line: format!("POST {path}"),
        headers: JSON.to_owned(),
        body: Body::Turn(body.to_string()),
    };
    let asked = json!({ "kind": "ask", "body": "why?" });
    let mut keyed = write("post_message under a key", "/v1/messages", asked);
    keyed.headers += "idempotency-key: one\r\n";
    let evidence = vec![json!({ "kind": "log", "ref": "\u{10348}".repeat(1_900) }); 8];
    let claim = json!({ "statement": "{turn}", "evidence": evidence });
    let says = json!({ "kind": "inform", "thread": tree, "body": "\u{10348}".repeat(500) });
    let artifact = |kind: &str, payload: Value, references: Vec<Value>| {
        json!({
            "protocol_version": "0.1",
            "artifact_type": kind,
            "payload": payload,
            "references": references,
        })
    };
    let statement = json!({ "statement": format!("{{turn}}{}", "y".repeat(60_000)) });
    let outcome = json!({
        "outcome": "{turn}",
        "status": "final",
        "objection_dispositions": [],
        "unresolved_issues": [],
    });
    let considers = |id| json!({ "artifact_id": id, "relation": "considers" });
    let considered = groups.iter().map(considers).collect();
    let claims = format!("/v1/threads/{longest}/claims");
    vec![
        write("post_message, sleeping thread", "/v1/messages", says),
        write("assert_claim, longest thread", &claims, claim),
        keyed,
        write("publish_artifact, large", "/v1/artifacts", artifact("CLAIM", statement, Vec::new())),
        write(
            "publish_artifact, closure",
            "/v1/artifacts",
            artifact("DECISION", outcome, considered),
        ),
    ]
}

/// Batches of fifty calls over MCP.
fn batches(content: &Content) -> Vec<Operation> {
    let Content { tree, decision, .. } = content;
    let batch = |name, method: &str, params: Value| {
        let call = |id| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let calls: Vec<Value> = (0..50).map(call).collect();
        Operation {
            name,
            line: "POST /mcp".to_owned(),
            headers: BATCHES.to_owned(),
            body: Body::Fixed(json!(calls).to_string()),
        }
    };
    let tool = |name, tool: &str, arguments: Value| {
        batch(name, "tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    vec![
        tool("batch of list_artifacts", "list_artifacts", json!({ "limit": 200 })),
        tool("batch of trees", "read_thread", json!({ "thread": tree, "format": "tree" })),
        tool("batch of closures", "verify_closure", json!({ "artifact_id": decision })),
        tool("batch of manifests", "get_manifest", json!({})),
        batch("batch of tools/list", "tools/list", json!({})),
    ]
}

fn feeds(content: &Content) -> Vec<Operation> {
    let Content { start, longest, .. } = content;
    let events = |name, path: &str, count| Operation {
        name,
        line: format!("GET /v1/feed?{path}"),
        headers: String::new(),
        body: Body::Events(count),
    };
    vec![
        events("feed, replay", &format!("scope=all&since={start}"), 5_000),
        events("feed of one thread", &format!("scope=threads&threads={longest}"), 1),
    ]
}
