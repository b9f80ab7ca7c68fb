//! The feed as server-sent events.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;

use super::forum::{Answer, Forum};
use super::socket::{Frame, ask, bearer};

/// An event stream.
struct Events {
    answer: Answer,
    stream: BufReader<TcpStream>,
}

impl Events {
    async fn open(forum: &Forum, token: &str, query: &str, more: &str) -> Self {
        let headers = format!("accept: text/event-stream\r\n{}{more}", bearer(token));
        let (answer, stream) = ask(forum, query, &headers, None).await;
        assert_eq!(answer.status, 200, "{query} {more}");
        Self { answer, stream }
    }

    /// The next event, as a frame; its type and identifier are those of the frame.
    async fn next(&mut self) -> Frame {
        let (mut event, mut id) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).await.unwrap() > 0, "the stream ended");
            // Lines between events are those of the chunked coding.
            let line = line.trim_end();
            if let Some(value) = line.strip_prefix("event: ") {
                value.clone_into(&mut event);
            } else if let Some(value) = line.strip_prefix("id: ") {
                value.clone_into(&mut id);
            } else if let Some(value) = line.strip_prefix("data: ") {
                let frame = Frame::read(value);
                assert_eq!((frame.kind(), frame.cursor()), (event.as_str(), id.as_str()));
                return frame;
            }
        }
    }
}

/// Goal: events carry what frames carry, and `Last-Event-ID`, which goes before `since`, resumes.
/// Method: three messages heard live; then from the first on, by header and by parameter.
#[tokio::test]
async fn resumed() {
    let forum = Forum::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let token = ada.token.clone().unwrap();
    let mut events = Events::open(&forum, &token, "?scope=all", "").await;
    assert_eq!(events.answer.headers["content-type"], "text/event-stream");
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
        let mut events = Events::open(&forum, &token, query, more).await;
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
    let forum = Forum::start(|_| {}).await;
    let (_, token) = forum.token("ada", &["read"]).await;
    let mut events = Vec::new();
    for scope in ["?scope=all", "?scope=inbox"] {
        let mut stream = Events::open(&forum, &token, scope, "").await;
        stream.next().await;
        events.push(stream);
    }
    let per_identity = forum.metric("parley_inboxes_resident").await;
    assert!(per_identity >= 1.0);
    drop(events);
    let mut again = Events::open(&forum, &token, "?scope=all", "").await;
    assert_eq!(again.next().await.kind(), "hello");
}
