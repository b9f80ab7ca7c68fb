//! What stands before the upgrade: the order of checks, the parameters, the handshake.

use serde_json::json;

use super::forum::Forum;
use super::socket::{Listener, ask, bearer, upgrade};

const EVENTS: &str = "accept: text/event-stream\r\n";

/// Goal: every refusal before the upgrade is a problem over HTTP, the first check that fails
/// answering. Method: a row a request; R and W stand for a reader's and a writer's token.
#[tokio::test]
async fn refusals() {
    let forum = Forum::start(|_| {}).await;
    let (_, reader) = forum.token("reader", &["read"]).await;
    let (_, writer) = forum.token("writer", &["write"]).await;
    let host = format!("host: {}\r\n", forum.address);
    let foreign = "host: forum.example\r\n";
    let (read, write) = (bearer(&reader), bearer(&writer));
    let socket = upgrade(&read);
    let old = socket.replace("version: 13", "version: 8");
    let keyless = socket.replace("sec-websocket-key", "x-key");
    let rows: &[(&str, &str, String, (u16, &str))] = &[
        ("host", "", foreign.to_owned() + &socket, (403, "origin_forbidden")),
        ("origin", "", format!("origin: null\r\n{socket}"), (403, "origin_forbidden")),
        (
            "origin",
            "?scope=x",
            format!("origin: http://a.example\r\n{EVENTS}{read}"),
            (403, "origin_forbidden"),
        ),
        ("no token", "?scope=x", upgrade(""), (401, "token_missing")),
        ("no token, no carrier", "", String::new(), (401, "token_missing")),
        ("wrong token", "", upgrade(&bearer("ply_nobody")), (401, "token_unknown")),
        ("no right", "?scope=x", upgrade(&write), (403, "token_right_missing")),
        ("no carrier", "?scope=x", read.clone(), (406, "not_acceptable")),
        ("anything", "", format!("accept: */*\r\n{read}"), (406, "not_acceptable")),
        ("json", "", format!("accept: application/json\r\n{read}"), (406, "not_acceptable")),
        (
            "refused",
            "",
            format!("accept: text/event-stream;q=0\r\n{read}"),
            (406, "not_acceptable"),
        ),
        (
            "another upgrade",
            "",
            format!("connection: upgrade\r\nupgrade: h2c\r\n{read}"),
            (406, "not_acceptable"),
        ),
        ("version", "", old, (400, "invalid_parameter")),
        ("key", "", keyless, (400, "invalid_parameter")),
        ("scope", "?scope=x", socket.clone(), (400, "invalid_parameter")),
        ("scope twice", "?scope=all&scope=all", socket.clone(), (400, "invalid_parameter")),
        ("unknown", "?limit=1", socket.clone(), (400, "invalid_parameter")),
        ("token in the query", "?token=x", socket.clone(), (400, "invalid_parameter")),
        ("empty", "?since=", socket.clone(), (400, "invalid_parameter")),
        ("extension", "?extension=a%20b", socket.clone(), (400, "invalid_parameter")),
        (
            "extension of threads",
            "?scope=threads&extension=a",
            socket.clone(),
            (400, "invalid_parameter"),
        ),
        (
            "anyone of threads",
            "?scope=threads&anyone=true",
            socket.clone(),
            (400, "invalid_parameter"),
        ),
        ("anyone", "?anyone=1", socket.clone(), (400, "invalid_parameter")),
        ("threads of all", "?scope=all&threads=th_1", socket.clone(), (400, "invalid_parameter")),
        (
            "threads",
            "?scope=threads&threads=th_1,,th_2",
            socket.clone(),
            (400, "invalid_parameter"),
        ),
        ("thread", "?scope=threads&threads=msg_1", socket.clone(), (400, "invalid_parameter")),
        ("cursor", "?since=1.1.0", socket.clone(), (400, "invalid_cursor")),
        (
            "cursor before thread",
            "?scope=threads&threads=1&since=x",
            socket.clone(),
            (400, "invalid_cursor"),
        ),
        ("event id", "", format!("{EVENTS}last-event-id: x\r\n{read}"), (400, "invalid_cursor")),
        (
            "unknown thread",
            "?scope=threads&threads=th_1",
            socket.clone(),
            (404, "thread_not_found"),
        ),
        (
            "unknown thread, as events",
            "?scope=threads&threads=1",
            format!("{EVENTS}{read}"),
            (404, "thread_not_found"),
        ),
    ];
    for (name, query, headers, (status, reason)) in rows {
        let headers =
            if headers.contains("host:") { headers.clone() } else { host.clone() + headers };
        let (answer, _) = ask(&forum, query, &headers, None).await;
        let (got, why) = answer.refused();
        assert_eq!((got, why.as_str()), (*status, *reason), "{name}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{name}");
    }
    let many = (1..=101).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
    let (answer, _) = ask(&forum, &format!("?scope=threads&threads={many}"), &socket, None).await;
    assert_eq!(answer.refused().1, "invalid_parameter");
    let mut http = forum.client();
    http.token = Some(reader);
    assert_eq!(http.post("/v1/feed", &json!({})).await.refused().1, "method_not_allowed");
    let head = http.ask("HEAD /v1/feed", EVENTS, b"").await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
    assert_eq!(forum.metric("parley_feed_connections").await, 0.0);
}

/// Goal: a listener from an allowed origin, with or without subprotocol, hears `hello` first.
/// Method: a row a set of headers, with the subprotocol that is chosen.
#[tokio::test]
async fn handshakes() {
    let forum = Forum::start(|config| {
        config.allowed_origins = vec!["https://app.example".parse().unwrap()];
    })
    .await;
    let (_, token) = forum.token("ada", &["read"]).await;
    for (more, chosen) in [
        ("", None),
        ("origin: https://app.example\r\n", None),
        ("sec-websocket-protocol: parley.v1\r\n", Some("parley.v1")),
        ("sec-websocket-protocol: other, parley.v1\r\n", Some("parley.v1")),
        ("sec-websocket-protocol: other\r\n", None),
        ("accept: application/json\r\n", None),
    ] {
        let headers = upgrade(&(bearer(&token) + more));
        let mut listener = Listener::with(&forum, "?extension=x", &headers, None).await;
        let got = listener.answer.headers.get("sec-websocket-protocol").map(String::as_str);
        assert_eq!(got, chosen, "{more}");
        let hello = listener.expect("hello").await;
        assert_eq!(hello.json["participant"], json!({ "identity": "local:ada", "extension": "x" }));
        assert_eq!(hello.json["scope"], "inbox");
        assert_eq!(hello.json["heartbeat_seconds"], 20);
        assert_eq!(hello.json["resumed"], false);
    }
}

/// Goal: where the profile is off, there is no feed. Method: both paths of it.
#[tokio::test]
async fn switched_off() {
    let forum = Forum::start(|config| config.profiles = vec!["dialectic".to_owned()]).await;
    let mut admin = forum.admin();
    for line in ["GET /v1/feed", "POST /v1/feed/tickets"] {
        let answer = admin.ask(line, EVENTS, b"").await;
        assert_eq!(answer.refused(), (404, "not_found".to_owned()), "{line}");
    }
}
