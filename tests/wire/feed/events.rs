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
