//! What is stored, and the worst legal input of each operation.

use std::net::SocketAddr;
use std::sync::Mutex;

use parley_kit::artifact::{artifact, claim};
use parley_kit::peer::{Caller, Events, ask, post};
use serde_json::{Value, json};

/// Messages of the long thread: as many as one tree shows.
const TREE: usize = 1_000;
/// Messages of the longest thread that may be.
const LONGEST: usize = 10_000;
/// Large artifacts, as many as one page shows.
const LARGE: usize = 200;
/// Artifacts at the bottom of the closure, and of those that refer to them.
const LEAVES: usize = 4_000;
const GROUPS: usize = 16;
/// Clients that fill the forum side by side.
const CLIENTS: usize = 16;

const JSON: &str = "content-type: application/json\r\n";
const BATCHES: &str = "content-type: application/json\r\nmcp-protocol-version: 2025-03-26\r\n\
                       accept: application/json, text/event-stream\r\n";

/// What is stored.
pub struct Content {
    agent: String,
    /// A cursor after which nearly everything comes.
    start: String,
    tree: String,
    longest: String,
    claim: String,
    decision: String,
    groups: Vec<String>,
}

/// One request.
pub struct Operation {
    /// Its name in the table.
    pub name: String,
    line: String,
    headers: String,
    body: Body,
}

enum Body {
    /// The same each time.
    Fixed(String),
    /// With `{turn}` in place of the number of the turn.
    Turn(String),
    /// No body; the answer is a stream of this many events.
    Events(usize),
}

impl Content {
    /// Fills an empty forum.
    pub fn write(address: SocketAddr, admin: &str, agent: &str) -> Self {
        let opened = json!({ "kind": "ask", "body": "first" });
        let first = post(address, agent, "/v1/messages", &opened);
        let start = first["thread"]["cursor"].as_str().expect("a cursor").to_owned();
        let tree = thread(address, agent, TREE);
        let longest = thread(address, agent, LONGEST);
        let proven = claimed(address, admin, agent, &tree);
        for number in 0..300 {
            let body = json!({ "statement": format!("{number} {}", "s".repeat(3_000)) });
            post(address, agent, &format!("/v1/threads/{longest}/claims"), &body);
        }
        let large = (0..LARGE).map(|it| claim(&format!("{it} {}", "x".repeat(56_000))));
        publish(address, agent, large.collect());
        let leaves =
            publish(address, agent, (0..LEAVES).map(|it| claim(&format!("leaf {it}"))).collect());
        let groups = leaves.chunks(LEAVES / GROUPS).enumerate().map(|(number, supported)| {
            let why =
                json!({ "content": format!("group {number}"), "provenance_class": "HYPOTHESIS" });
            let references: Vec<(&str, &str)> =
                supported.iter().map(|id| (id.as_str(), "supports")).collect();
            artifact("EVIDENCE", &why, &references)
        });
        let groups = publish(address, agent, groups.collect());
        let decision = publish(address, agent, vec![decision("settled", &groups)]).remove(0);
        Self { agent: agent.to_owned(), start, tree, longest, claim: proven, decision, groups }
    }

    /// Asks something small.
    pub fn greet(&self, address: SocketAddr) {
        ask(address, &self.agent, "GET /v1/threads?limit=1", "", "").expect(200);
    }

    /// Asks an operation and reads its answer to the end.
    pub fn ask(&self, address: SocketAddr, operation: &Operation, turn: usize) {
        let Operation { name, line, headers, body } = operation;
        let body = match body {
            Body::Fixed(body) => body.clone(),
            Body::Turn(body) => body.replace("{turn}", &format!("{turn}-{}", std::process::id())),
            Body::Events(count) => {
                let mut events = Events::open(address, &self.agent, line).unwrap();
                (0..*count).for_each(|_| drop(events.event().unwrap()));
                return;
            }
        };
        let answer = ask(address, &self.agent, line, headers, body);
        assert!(answer.status < 300, "{name}: {answer:?}");
    }

    /// Each operation with its worst legal input.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<> {
        let Self { start, tree, longest, claim, decision, groups, .. } = self;
        let get = |name: &str, path: String| Operation {
            name: name.to_owned(),
            line: format!("GET {path}"),
            headers: String::new(),
            body: Body::Fixed(String::new()),
        };
        let write = |name: &str, path: String, body: Value| Operation {
            name: name.to_owned(),
            line: format!("POST {path}"),
            headers: JSON.to_owned(),
            body: Body::Turn(body.to_string()),
        };
        let mut keyed = write(
            "post_message under a key",
            "/v1/messages".into(),
            json!({ "kind": "ask", "body": "why?" }),
        );
        keyed.headers += "idempotency-key: one\r\n";
        let evidence = json!({ "kind": "log", "ref": "\u{10348}".repeat(1_900) });
        let evidence = vec![evidence; 8];
        let outcome = json!({ "outcome": "{turn}", "status": "final", "objection_dispositions": [], "unresolved_issues": [] });
        let considered: Vec<Value> =
            groups.iter().map(|id| json!({ "artifact_id": id, "relation": "considers" })).collect();
        let deciding = json!({ "protocol_version": "0.1", "artifact_type": "DECISION", "payload": outcome, "references": considered });
        let largest = json!({ "protocol_version": "0.1", "artifact_type": "CLAIM", "payload": { "statement": format!("{{turn}}{}", "y".repeat(60_000)) }, "references": [] });
        let batch = |name: &str, tool: &str, arguments: Value| {
            let calls: Vec<Value> = (0..50)
                .map(|id| {
                    let call = json!({ "name": tool, "arguments": arguments });
                    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call })
                })
                .collect();
            Operation {
                name: name.to_owned(),
                line: "POST /mcp".to_owned(),
                headers: BATCHES.to_owned(),
                body: Body::Fixed(json!(calls).to_string()),
            }
        };
        let tools: Vec<Value> = (0..50)
            .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }))
            .collect();
        let events = |name: &str, path: String, count| Operation {
            name: name.to_owned(),
            line: format!("GET {path}"),
            headers: String::new(),
            body: Body::Events(count),
        };
        let mut operations = vec![
            get("healthz", "/healthz".into()),
            get("manifest", "/v1/manifest".into()),
            get("openapi", "/openapi.json".into()),
            get("list_threads", "/v1/threads?limit=200".into()),
            get("read_thread as a tree", format!("/v1/threads/{tree}")),
            get("read_thread flat", format!("/v1/threads/{longest}?format=flat&limit=200")),
            get("read_events", format!("/v1/threads/{longest}/events?limit=200")),
            get("list_claims", format!("/v1/threads/{longest}/claims?limit=200")),
            get("read_claim", format!("/v1/claims/{claim}")),
            get("read_inbox", "/v1/inbox?limit=200".into()),
            get("list_artifacts", "/v1/artifacts?limit=200".into()),
            get("verify_closure", format!("/v1/artifacts/{decision}/closure")),
            get("export_thread", format!("/v1/threads/{longest}/artifacts?limit=200")),
            write(
                "post_message, sleeping thread",
                "/v1/messages".into(),
                json!({ "kind": "inform", "thread": tree, "body": "\u{10348}".repeat(500) }),
            ),
            write(
                "assert_claim, longest thread",
                format!("/v1/threads/{longest}/claims"),
                json!({ "statement": "{turn}", "evidence": evidence }),
            ),
            keyed,
            write("publish_artifact, large", "/v1/artifacts".into(), largest),
            write("publish_artifact, closure", "/v1/artifacts".into(), deciding),
            batch("batch of list_artifacts", "list_artifacts", json!({ "limit": 200 })),
            batch("batch of trees", "read_thread", json!({ "thread": tree, "format": "tree" })),
            batch("batch of closures", "verify_closure", json!({ "artifact_id": decision })),
            batch("batch of manifests", "get_manifest", json!({})),
            events("feed, replay", format!("/v1/feed?scope=all&since={start}"), 5_000),
            events("feed of 100 threads", format!("/v1/feed?scope=threads&threads={longest}"), 1),
        ];
        operations.push(Operation {
            name: "batch of tools/list".to_owned(),
            line: "POST /mcp".to_owned(),
            headers: BATCHES.to_owned(),
            body: Body::Fixed(json!(tools).to_string()),
        });
        operations.into_iter()
    }
}

fn decision(outcome: &str, considered: &[String]) -> Value {
    let payload = json!({ "outcome": outcome, "status": "final", "objection_dispositions": [], "unresolved_issues": [] });
    let references: Vec<(&str, &str)> =
        considered.iter().map(|id| (id.as_str(), "considers")).collect();
    artifact("DECISION", &payload, &references)
}

/// A thread of this many messages.
fn thread(address: SocketAddr, agent: &str, messages: usize) -> String {
    let opened = post(address, agent, "/v1/messages", &json!({ "kind": "ask", "body": "why?" }));
    let thread = opened["thread"]["id"].as_str().expect("a thread").to_owned();
    let says = json!({ "kind": "inform", "thread": thread, "body": "b".repeat(500) });
    each(address, agent, vec![("POST /v1/messages", says.to_string()); messages - 1]);
    thread
}

/// A claim with all the evidence that it may carry, attested by as many as may.
fn claimed(address: SocketAddr, admin: &str, agent: &str, thread: &str) -> String {
    let evidence = vec![json!({ "kind": "log", "ref": "\u{10348}".repeat(1_900) }); 8];
    let body = json!({ "statement": "it holds", "evidence": evidence });
    let path = format!("/v1/threads/{thread}/claims");
    let made = post(address, agent, &path, &body);
    let claim = made["claim"]["id"].as_str().expect("a claim").to_owned();
    for number in 0..32 {
        let token = json!({ "handle": format!("w{number}"), "rights": ["read", "write"] });
        let made = post(address, admin, "/v1/tokens", &token);
        let secret = made["secret"].as_str().expect("a secret").to_owned();
        let proof = json!({ "evidence": evidence });
        let said = post(address, &secret, &format!("/v1/claims/{claim}/attest"), &proof);
        assert_eq!(said["claim"]["status"], "supported", "{said}");
    }
    claim
}

fn publish(address: SocketAddr, agent: &str, artifacts: Vec<Value>) -> Vec<String> {
    let requests = artifacts.iter().map(|it| ("POST /v1/artifacts", it.to_string())).collect();
    each(address, agent, requests);
    artifacts.iter().map(|it| it["artifact_id"].as_str().expect("named").to_owned()).collect()
}

/// Sends the requests over a few connections.
fn each(address: SocketAddr, agent: &str, requests: Vec<(&'static str, String)>) {
    let requests = Mutex::new(requests);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut caller = Caller::connect(address, agent).expect("it listens");
                loop {
                    let next = requests.lock().expect("no client panics").pop();
                    let Some((line, body)) = next else { break };
                    let answer = caller.ask(line, JSON, body).expect("an answer");
                    assert!(answer.status < 300, "{answer:?}");
                }
            });
        }
    });
}
