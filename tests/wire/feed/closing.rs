//! How feeds end.

use parley_kit::feed::{Events, ask, upgrade};
use parley_kit::http::bearer;
use parley_kit::{Listener, Observed, Server};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

/// Goal: a revoked token's feeds end at once, with 4001 and the last cursor; others go on, and a
/// held inbox read ends with 401. Method: two tokens of one line, one revoked.
#[tokio::test]
async fn revoked() {
    let observed = Observed::default();
    let _recording = observed.thread();
    let forum = Server::start(|_| {}).await;
    let (id, gone) = forum.token("ada", &["read"]).await;
    let (_, stays) = forum.token("ada", &["read"]).await;
    let (mut cut, hello) = Listener::greeted(forum.address, &gone, "?scope=all").await;
    let (mut kept, _) = Listener::greeted(forum.address, &stays, "?scope=all").await;
    let mut held = forum.client(&gone);
    let mut admin = forum.client(&forum.admin);
    let path = format!("DELETE /v1/tokens/{id}");
    let (read, revoked) = tokio::join!(held.get("/v1/inbox?wait_seconds=25"), async {
        // The read is held once its inbox is awake.
        while observed.metric("parley_inboxes_resident") < 1.0 {
            tokio::task::yield_now().await;
        }
        admin.ask(&path, "", b"").await
    });
    assert_eq!(revoked.status, 204);
    assert_eq!(read.refused(), (401, "token_unknown".to_owned()));
    assert_eq!(cut.closed().await, (4001, format!("token_unknown {}", hello.cursor())));
    let mut bob = forum.writer("bob").await;
    bob.open("still there?").await;
    kept.expect("message").await;
    let (answer, _) = ask(forum.address, "", &upgrade(&bearer(&gone)), None).await;
    assert_eq!(answer.status, 401);
}

/// Goal: an expired token's feeds end within a second or two. Method: a token for an hour, and an
/// hour on the clock.
#[tokio::test]
async fn expired() {
    let forum = Server::start(|_| {}).await;
    let hour =
        parley_protocol::time::Millis(parley::clock::Clock::now(&*forum.clock).0 + 3_600_000);
    let asked = json!({ "handle": "ada", "rights": ["read"], "expires_at": hour.to_string() });
    let made = forum.client(&forum.admin).post("/v1/tokens", &asked).await.expect(201);
    let secret = made["secret"].as_str().unwrap();
    let (mut listener, _) = Listener::greeted(forum.address, secret, "").await;
    forum.clock.pass(3_600_000);
    assert_eq!(listener.closed().await.0, 4001);
}

/// Goal: at shutdown feeds end with 1001 and the last cursor, event streams just end, and after it
/// the feed goes on from there. Method: stop and start again on the same files.
#[tokio::test]
async fn shutting_down() {
    let mut forum = Server::start(|_| {}).await;
    let mut ada = forum.writer("ada").await;
    let (mut listener, _) = Listener::greeted(forum.address, &ada.token, "?scope=all").await;
    let mut events = Events::open(forum.address, &ada.token, "", "").await;
    let thread = ada.open("one").await;
    listener.expect("message").await;
    let event = listener.expect("event").await;
    let ((), closed) = tokio::join!(forum.stop(), listener.closed());
    assert_eq!(closed, (1001, format!("shutting_down {}", event.cursor())));
    while events.read().await {}
    assert!(events.text.contains("event: hello"), "{:?}", events.text);
    forum.restart().await;
    let mut ada = forum.client(&ada.token);
    ada.inform(&thread, "two").await;
    let query = format!("?scope=all&since={}", event.cursor());
    let (mut listener, _) = Listener::greeted(forum.address, &ada.token, &query).await;
    let frames = listener.until("caught_up").await;
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0].json["message"]["body"], "two");
}

/// Goal: a breach of the protocol closes the feed with its code. Method: a message and a
/// frame too large, text that is no UTF-8, a frame without a mask.
#[tokio::test]
async fn broken() {
    let observed = Observed::default();
    let _recording = observed.thread();
    let forum = Server::start(|config| config.limits.request_bytes_max = 1_000).await;
    let (_, token) = forum.token("ada", &["read"]).await;
    let whole = |code: u8, bytes: &[u8]| {
        let mut frame = vec![0x80 | code, 0x80 | u8::try_from(bytes.len()).unwrap(), 0, 0, 0, 0];
        frame.extend_from_slice(bytes);
        frame
    };
    for (code, bytes) in [
        (1007, whole(1, &[0xFF])),
        (1002, vec![0x81, 0x01, b'x']),
        (1002, whole(3, b"x")),
        // The header of a frame of 4 GiB.
        (1009, vec![0x81, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let (mut listener, hello) = Listener::greeted(forum.address, &token, "").await;
        listener.socket.get_mut().write_all(&bytes).await.unwrap();
        let (got, reason) = listener.closed().await;
        assert_eq!(got, code, "{bytes:?}");
        assert!(reason.ends_with(hello.cursor()), "{reason}");
    }
    let (mut listener, _) = Listener::greeted(forum.address, &token, "").await;
    listener.say("x".repeat(1_000)).await;
    listener.expect("notice").await;
    listener.say("x".repeat(1_001)).await;
    assert_eq!(listener.closed().await.0, 1009);
    let (mut listener, _) = Listener::greeted(forum.address, &token, "").await;
    listener.say(Message::Close(None)).await;
    assert_eq!(listener.closed().await.0, 0);
    while observed.metric("parley_feed_connections") > 0.0 {
        tokio::task::yield_now().await;
    }
}

/// Goal: a peer is pinged, and dropped when nothing comes from it for twice the heartbeat; event
/// streams get a comment instead. Method: a heartbeat of a second, one peer that answers and one
/// that does not.
#[tokio::test]
async fn silent() {
    let forum = Server::start(|config| config.feed.heartbeat_seconds = 1).await;
    let (_, token) = forum.token("ada", &["read"]).await;
    let (mut alive, hello) = Listener::greeted(forum.address, &token, "").await;
    assert_eq!(hello.json["heartbeat_seconds"], 1);
    let mut events = Events::open(forum.address, &token, "", "").await;
    let (mut silent, _) = Listener::greeted(forum.address, &token, "").await;
    let mut pings = Vec::new();
    let reading = silent.socket.get_mut().read_to_end(&mut pings);
    let ((), ended) = tokio::join!(
        async {
            while !events.text.contains("\n:\n") {
                assert!(events.read().await);
            }
        },
        async {
            tokio::select! {
                heard = alive.hear() => panic!("{heard:?}"),
                ended = reading => ended,
            }
        }
    );
    assert!(events.text.contains("event: hello"));
    drop(ended);
    // The first bytes of a ping without anything in it.
    assert_eq!(pings[..2], [0x89, 0]);
    let mut bob = forum.writer("bob").await;
    bob.open("still there?").await;
    alive.expect("awaiting").await;
}
