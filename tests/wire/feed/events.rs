//! The feed as server-sent events.

use parley_kit::feed::Events;
use parley_kit::{Frame, Observed, Server};
use serde_json::{Value, json};

/// Goal: events carry what frames carry, and `Last-Event-ID`, which goes before `since`, resumes.
/// Method: three messages heard live; then from the first on, by header and by parameter.
#[tokio::test]
async fn resumed() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let mut events = Events::open(forum.address, &ada.token, "?scope=all", "").await;
    assert_eq!(events.answer.header("content-type").unwrap(), "text/event-stream");
    let hello = events.next().await;
    assert_eq!(hello.json["resumed"], false);
    let thread = ada.open("one").await;
    ada.inform(&thread, "two").await;
    ada.inform(&thread, "three").await;
    let mut live = Vec::new();
    for _ in 0..4 {
        live.push(events.next().await);
    }
    let bodies = |frames: &[Frame]| -> Vec<Value> {
        frames.iter().map(|frame| frame.json["message"]["body"].clone()).collect()
    };
    assert_eq!(bodies(&live), [json!("one"), Value::Null, json!("two"), json!("three")]);
    let from_start = format!("?scope=all&since={}", hello.cursor());
    let second = format!("last-event-id: {}\r\n", live[2].cursor());
    for (query, more, want) in [
        (from_start.as_str(), "", 4),
        (from_start.as_str(), "last-event-id: \r\n", 4),
        (from_start.as_str(), second.as_str(), 1),
        ("?scope=all", second.as_str(), 1),
        ("?scope=all&since=nonsense", second.as_str(), 1),
    ] {
        let mut events = Events::open(forum.address, &ada.token, query, more).await;
        assert_eq!(events.next().await.json["resumed"], true);
        let mut frames = Vec::new();
        loop {
            let frame = events.next().await;
            if frame.kind() == "caught_up" {
                break;
            }
            frames.push(frame);
        }
        assert_eq!(bodies(&frames), bodies(&live)[4 - want..], "{query} {more}");
    }
}

/// Goal: no line of an event stream breaks where some clients break lines, and proxies neither
/// keep nor change it. Method: a body with U+2028 and U+2029, live and replayed, and as the answer
/// of MCP.
#[tokio::test]
async fn separators() {
    let forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let body = "one\u{2028}two\u{2029}three";
    let mut live = Events::open(forum.address, &ada.token, "?scope=all", "").await;
    let hello = live.next().await;
    let thread = ada.open(body).await;
    let query = format!("?scope=all&since={}", hello.cursor());
    let mut replayed = Events::open(forum.address, &ada.token, &query, "").await;
    replayed.next().await;
    for events in [&mut live, &mut replayed] {
        assert_eq!(events.answer.header("cache-control"), Some("no-store, no-transform"));
        assert_eq!(events.answer.header("x-accel-buffering"), Some("no"));
        while !events.text.contains("event: message") {
            assert!(events.read().await, "the stream ended");
        }
        assert!(!events.text.contains(['\u{2028}', '\u{2029}']), "{}", events.text);
        assert_eq!(events.next().await.json["message"]["body"], body);
    }
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "read_thread", "arguments": { "thread": thread } },
    });
    let accept = "accept: text/event-stream\r\ncontent-type: application/json\r\n";
    let answer = ada.ask("POST /mcp", accept, call.to_string().as_bytes()).await;
    let text = String::from_utf8(answer.body.clone()).unwrap();
    assert!(text.contains(r"one\u2028two\u2029three"), "{text}");
    assert!(!text.contains(['\u{2028}', '\u{2029}']), "{text}");
    assert_eq!(answer.header("cache-control"), Some("no-store, no-transform"));
}

/// Goal: a client that goes away leaves its seat. Method: two streams, dropped, before the number
/// of feeds.
#[tokio::test]
async fn left() {
    let observed = Observed::default();
    let _recording = observed.thread();
    let forum = Server::start(|_| {}).await;
    let (_, token) = forum.token("ada", &["read"]).await;
    let mut events = Vec::new();
    for scope in ["?scope=all", "?scope=inbox"] {
        let mut stream = Events::open(forum.address, &token, scope, "").await;
        stream.next().await;
        events.push(stream);
    }
    assert!(observed.metric("parley_inboxes_resident") >= 1.0);
    drop(events);
    let mut again = Events::open(forum.address, &token, "?scope=all", "").await;
    assert_eq!(again.next().await.kind(), "hello");
}
