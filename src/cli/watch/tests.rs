//! Connections, reconnections and the text of frames.

use clap::Parser;
use futures_util::SinkExt;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::*;
use crate::cli::client::{answering, whole};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: WatchArgs,
}

fn options(line: &str) -> WatchArgs {
    Line::try_parse_from(line.split_whitespace()).unwrap().options
}

/// Accepts one connection; returns it with the requested path.
async fn accept(listener: &TcpListener) -> (WebSocketStream<TcpStream>, String) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let look = |request: &Request, mut response: Response| {
        path = request.uri().to_string();
        let offered = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).cloned();
        assert_eq!(offered.as_ref().unwrap(), SUBPROTOCOL);
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, offered.unwrap());
        Ok(response)
    };
    let socket = accept_hdr_async(stream, look).await.unwrap();
    (socket, path)
}

async fn send(socket: &mut WebSocketStream<TcpStream>, frame: Value) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

/// Goal: a broken feed resumes after the last printed frame, and a revoked token ends it. Method:
/// a server of two connections that checks the requested paths.
#[tokio::test]
async fn a_broken_feed_is_taken_up_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut first, path) = accept(&listener).await;
        assert_eq!(path, "/v1/feed?scope=inbox&extension=w&anyone=false");
        send(&mut first, json!({ "type": "hello", "cursor": "16.0.a" })).await;
        send(&mut first, json!({ "type": "settled", "thread": "th_1", "cursor": "32.0.b" })).await;
        drop(first);
        let (mut second, path) = accept(&listener).await;
        assert_eq!(path, "/v1/feed?scope=inbox&extension=w&since=32.0.b&anyone=false");
        let close = CloseFrame { code: 4001.into(), reason: "token_unknown 32.0.b".into() };
        second.close(Some(close)).await.unwrap();
    });
    let options = options("watch --extension w --anyone=false --json");
    let client = Client::new(&url, Some("secret")).unwrap();
    let ended = follow(&client, &options).await;
    let Err(CliError::Failed(line)) = ended else { panic!("{ended:?}") };
    assert!(line.starts_with("token_unknown 32.0.b: "), "{line}");
    server.await.unwrap();
}

/// Goal: a refusal before the upgrade ends the command. Method: a server that refuses.
#[tokio::test]
async fn a_refused_feed_says_why() {
    let refused = r#"{"reason":"invalid_cursor","detail":"Begin anew."}"#;
    let (client, _) = answering(whole("400 Bad Request", refused)).await;
    let ended = follow(&client, &options("watch --since nonsense")).await;
    let Err(CliError::Refused(problem)) = ended else { panic!("{ended:?}") };
    assert_eq!(problem.reason, "invalid_cursor");
}

/// Goal: every frame of bindings.md §6 has a text that names its object. Method: a
/// row a type.
#[test]
fn frames() {
    let participant = json!({ "identity": "local:ada", "extension": null });
    let thread = json!({
        "id": "th_1", "state": "open", "state_confirmed_at": null, "turn": "anyone",
        "awaiting": { "message": "msg_1" }
    });
    let message = json!({
        "id": "msg_1", "from": participant, "kind": "ask", "body": "Why?", "parent": null,
        "created_at": "2026-11-29T20:00:00.000Z", "retracted": null
    });
    let event = json!({
        "id": "ev_1", "by": participant, "from": null, "to": "open", "confirmed": false
    });
    for (frame, want) in [
        (
            json!({ "type": "hello", "scope": "inbox", "participant": participant }),
            "Listening as local:ada (inbox).\n",
        ),
        (
            json!({ "type": "message", "thread": thread, "message": message }),
            "th_1  open (proposed)  turn: anyone, on msg_1\n    \
             msg_1  local:ada ask  2026-11-29 20:00:00\n      Why?\n",
        ),
        (
            json!({ "type": "event", "thread": thread, "event": event }),
            "th_1  open (proposed)  turn: anyone, on msg_1\n    \
             ev_1  local:ada new → open (proposed)\n",
        ),
        (json!({ "type": "settled", "thread": "th_1" }), "th_1  waits for you no more\n"),
        (json!({ "type": "caught_up" }), "Caught up.\n"),
        (json!({ "type": "later" }), "(later)\n"),
    ] {
        assert_eq!(describe(&frame), want);
    }
}

/// Goal: only the close code of a revoked token is final; every other one leads to a
/// reconnection. Method: a row a close code.
#[test]
fn close_codes() {
    for (code, is_final) in [(1001, false), (4008, false), (4001, true), (1009, false)] {
        let close = CloseFrame { code: code.into(), reason: "why 1.0.ab".into() };
        assert_eq!(closed(Some(&close)).is_err(), is_final, "{code}");
    }
    assert!(closed(None).is_ok());
}
