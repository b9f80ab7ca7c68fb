//! `subscriptions/listen` (mcp.md §5): the stream, event by event.

use parley_kit::{BlockingServer, Peer};
use serde_json::{Value, json};

use super::ask::{Client, bearer, bytes, request, with_meta};
use super::schema::{Revision, Schemas};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A stream that is being read.
struct Stream(Peer);

impl Stream {
    /// Asks to be told of `filter`.
    fn open(server: &BlockingServer, secret: &str, filter: &Value) -> Self {
        let headers = [
            &*bearer(secret),
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: subscriptions/listen",
            "Accept: application/json",
        ];
        let params = with_meta(&json!({ "notifications": filter }));
        let mut peer = server.connect();
        peer.send(bytes(server, &headers, &request("subscriptions/listen", &params)));
        let head = peer.head().expect("an answer");
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(head.header("transfer-encoding"), Some("chunked"));
        Self(peer)
    }

    /// The messages of the next chunk; `None` at the end.
    fn chunk(&mut self) -> Option<Vec<Value>> {
        let text = String::from_utf8(self.0.chunk().expect("a whole chunk")).expect("text");
        let events = text.trim_end().split("\n\n").filter(|event| !event.is_empty());
        let messages = events.map(|event| {
            let data = event.strip_prefix("event: message\ndata: ").expect("an event");
            serde_json::from_str(data).expect("JSON")
        });
        (!text.is_empty()).then(|| messages.collect())
    }

    /// The one message of the next chunk.
    fn message(&mut self) -> Value {
        let mut messages = self.chunk().expect("a message");
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.remove(0)
    }

    /// The parameters of the next message, which must notify of `what`.
    fn notified(&mut self, what: &str, definition: &str) -> Value {
        let mut message = self.message();
        Schemas::check(Revision::July2026, definition, &message);
        assert_eq!(message["method"], format!("notifications/{what}"));
        assert_eq!(message["params"]["_meta"][SUBSCRIPTION], 1);
        message["params"].take()
    }

    /// The address of the next update.
    fn updated(&mut self) -> Value {
        self.notified("resources/updated", "ResourceUpdatedNotification")["uri"].take()
    }

    /// What the server says it honours, which comes first.
    fn acknowledged(&mut self) -> Value {
        let definition = "SubscriptionsAcknowledgedNotification";
        self.notified("subscriptions/acknowledged", definition)["notifications"].take()
    }
}

/// Goal: the acknowledgement comes first and names what is honoured; then each change is told to
/// the address that it concerns; the result ends the stream at a shutdown. Method: a listener to
/// threads and inboxes while others act.
#[test]
fn told() {
    let server = BlockingServer::start(&[]);
    let ada = server.make_token(&json!({ "handle": "ada", "rights": ["read", "write"] }));
    let (agent, ada_speaks) =
        (Client::modern(&server, &server.agent), Client::modern(&server, &ada));
    agent.good("post_message", &json!({ "kind": "ask", "body": "One?" }));
    agent.good("post_message", &json!({ "kind": "ask", "body": "Two?" }));
    let filter = json!({
        "toolsListChanged": true,
        "resourceSubscriptions": [
            "parley://threads/th_1", "parley://threads/1", "parley://threads/th_99",
            "parley://nonsense", "parley://manifest", "parley://inbox/a%20b",
            "parley://inbox/w", "parley://threads/th_1",
        ],
    });
    let mut stream = Stream::open(&server, &ada, &filter);
    let honoured = ["parley://threads/th_1", "parley://threads/1", "parley://inbox/w"];
    assert_eq!(stream.acknowledged(), json!({ "resourceSubscriptions": honoured }));
    // Of another thread nothing is told, of a claim and an event it is.
    agent.good("post_message", &json!({ "kind": "inform", "thread": 2, "body": "Aside." }));
    agent.good("assert_claim", &json!({ "thread": 1, "statement": "So." }));
    let both = stream.chunk().expect("two updates");
    let uris: Vec<_> = both.iter().map(|one| one["params"]["uri"].as_str()).collect();
    assert_eq!(uris, [Some(honoured[0]), Some(honoured[1])]);
    agent.good("mark_thread", &json!({ "thread": 1, "state": "answered" }));
    assert_eq!(stream.chunk().map(|all| all.len()), Some(2));
    // A question to the sub-agent, in another thread: its inbox alone.
    let from = json!({ "extension": "w" });
    let said = json!({ "kind": "propose", "thread": 2, "body": "Mine.", "from": from });
    ada_speaks.good("post_message", &said);
    // What waited for anyone before waits for the sub-agent no longer.
    assert_eq!(stream.updated(), "parley://inbox/w");
    let back = json!({ "kind": "clarify", "thread": 2, "parent": "msg_4", "body": "How?" });
    agent.good("post_message", &back);
    assert_eq!(stream.updated(), "parley://inbox/w");
    server.stop(|| {
        let last = stream.message();
        Schemas::check_result(Revision::July2026, "subscriptions/listen", &last);
        assert_eq!((&last["id"], &last["result"]["_meta"][SUBSCRIPTION]), (&json!(1), &json!(1)));
        assert!(stream.chunk().is_none());
    });
}

/// Goal: revocation ends the stream, without a result. Method: a token revoked under a listener.
#[test]
fn revoked() {
    let server = BlockingServer::start(&[]);
    let ada = server.make_token(&json!({ "handle": "ada", "rights": ["read"] }));
    let mut stream = Stream::open(&server, &ada, &json!({}));
    assert_eq!(stream.acknowledged(), json!({}));
    server.revoke_last_token();
    assert!(stream.chunk().is_none());
}

/// Goal: what is wrong is said before a stream opens. Method: a row a fault.
#[test]
fn refused() {
    let server = BlockingServer::start(&[("feed.per_identity_max", "1")]);
    let writer = server.make_token(&json!({ "handle": "writer", "rights": ["write"] }));
    let inboxes = json!({ "resourceSubscriptions": ["parley://inbox", "parley://inbox/w"] });
    let numbers = json!({ "resourceSubscriptions": [7] });
    for (secret, params, status, code) in [
        ("", json!({ "notifications": {} }), 401, 401),
        (&*writer, json!({ "notifications": {} }), 403, 403),
        (&*server.agent, json!({}), 200, -32_602),
        (&*server.agent, json!({ "notifications": [] }), 200, -32_602),
        (&*server.agent, json!({ "notifications": { "resourceSubscriptions": 7 } }), 200, -32_602),
        (&*server.agent, json!({ "notifications": numbers }), 200, -32_602),
        (&*server.agent, json!({ "notifications": inboxes }), 429, 429),
    ] {
        let client = Client::modern(&server, secret);
        client.fails("subscriptions/listen", &params, status, code);
    }
    // The places of the stream that did not open are free again.
    let one = json!({ "resourceSubscriptions": ["parley://inbox"] });
    let mut stream = Stream::open(&server, &server.agent, &one);
    assert_eq!(stream.acknowledged(), one);
}
