//! What stands before the upgrade: the order of checks, the parameters, the handshake.

use parley_kit::feed::{ask, upgrade};
use parley_kit::http::bearer;
use parley_kit::{Listener, Server};
use serde_json::json;

const EVENTS: &str = "accept: text/event-stream\r\n";

/// A request and the refusal that answers it.
type Row<'r> = (&'r str, &'r str, String, (u16, &'r str));

/// Asks for each row and compares; a row's headers get a right `Host` unless they have one.
async fn compare(forum: &Server, rows: &[Row<'_>]) {
    for (name, query, headers, (status, reason)) in rows {
        let (answer, _) = ask(forum.address, query, headers, None).await;
        let (got, why) = answer.refused();
        assert_eq!((got, why.as_str()), (*status, *reason), "{name}");
        assert_eq!(answer.header("content-type").unwrap(), "application/problem+json", "{name}");
    }
}

/// Goal: every refusal before the parameters is a problem over HTTP, the first check that fails
/// answering. Method: a row a request, whatever comes later being wrong too.
#[tokio::test]
async fn order_of_checks() {
    let forum = Server::start(|_| {}).await;
    let (_, reader) = forum.token("reader", &["read"]).await;
    let (_, writer) = forum.token("writer", &["write"]).await;
    let (read, write) = (bearer(&reader), bearer(&writer));
    let socket = upgrade(&read);
    let foreign = |more: &str| format!("host: forum.example\r\n{more}");
    let from = |origin: &str, more: &str| format!("origin: {origin}\r\n{more}");
    let accept = |kind: &str| format!("accept: {kind}\r\n{read}");
    let h2c = format!("connection: upgrade\r\nupgrade: h2c\r\n{read}");
    let rows: &[Row<'_>] = &[
        ("host", "?scope=x", foreign(&socket), (403, "origin_forbidden")),
        ("no origin", "?scope=x", from("null", &socket), (403, "origin_forbidden")),
        ("origin", "?scope=x", from("http://a.example", EVENTS), (403, "origin_forbidden")),
        ("no token", "?scope=x", upgrade(""), (401, "token_missing")),
        ("no token, no carrier", "", String::new(), (401, "token_missing")),
        ("wrong token", "?scope=x", upgrade(&bearer("ply_nobody")), (401, "token_unknown")),
        ("no right", "?scope=x", upgrade(&write), (403, "token_right_missing")),
        ("no carrier", "?scope=x", read.clone(), (406, "not_acceptable")),
        ("anything", "", accept("*/*"), (406, "not_acceptable")),
        ("json", "", accept("application/json"), (406, "not_acceptable")),
        ("not this", "", accept("text/event-stream;q=0"), (406, "not_acceptable")),
        ("another upgrade", "", h2c, (406, "not_acceptable")),
    ];
    compare(&forum, rows).await;
    let mut http = forum.client(&reader);
    assert_eq!(http.post("/v1/feed", &json!({})).await.refused().1, "method_not_allowed");
    let head = http.ask("HEAD /v1/feed", EVENTS, b"").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

/// Goal: parameters are read strictly, before a cursor is, and threads are looked up last. Method:
/// a row a query.
#[tokio::test]
async fn parameters() {
    const INVALID: (u16, &str) = (400, "invalid_parameter");
    let forum = Server::start(|_| {}).await;
    let (_, reader) = forum.token("reader", &["read"]).await;
    let socket = upgrade(&bearer(&reader));
    let many = (1..=101).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
    let many = format!("?scope=threads&threads={many}");
    for (query, want) in [
        ("?scope=x", INVALID),
        ("?scope=all&scope=all", INVALID),
        ("?limit=1", INVALID),
        ("?token=x", INVALID),
        ("?since=", INVALID),
        ("?extension=a%20b", INVALID),
        ("?scope=threads&extension=a", INVALID),
        ("?scope=threads&anyone=true", INVALID),
        ("?anyone=1", INVALID),
        ("?scope=all&threads=th_1", INVALID),
        ("?threads=th_1", INVALID),
        ("?scope=threads&threads=th_1,,th_2", INVALID),
        ("?scope=threads&threads=msg_1", INVALID),
        (many.as_str(), INVALID),
        ("?since=x&limit=1", INVALID),
        ("?since=1.1.0", (400, "invalid_cursor")),
        ("?scope=threads&threads=1&since=x", (400, "invalid_cursor")),
        ("?scope=threads&threads=th_1", (404, "thread_not_found")),
    ] {
        compare(&forum, &[(query, query, socket.clone(), want)]).await;
    }
    let events = EVENTS.to_owned() + &bearer(&reader);
    let old = socket.replace("version: 13", "version: 8");
    let keyless = socket.replace("sec-websocket-key", "x-key");
    let id = format!("last-event-id: x\r\n{events}");
    let twice = format!("last-event-id: x\r\n{id}");
    let chat = format!("sec-websocket-protocol: Parley.v1, chat\r\n{socket}");
    let rows: &[Row<'_>] = &[
        ("subprotocol", "", chat, INVALID),
        ("event id, twice", "", twice, INVALID),
        ("key", "", keyless, INVALID),
        ("event id", "", id, (400, "invalid_cursor")),
        ("thread, as events", "?scope=threads&threads=1", events, (404, "thread_not_found")),
    ];
    compare(&forum, rows).await;
    let (answer, _) = ask(forum.address, "", &old, None).await;
    assert_eq!(answer.refused(), (426, "invalid_parameter".to_owned()));
    assert_eq!(answer.json()["status"], 426);
    assert_eq!(answer.header("sec-websocket-version"), Some("13"));
}

/// Goal: a ticket is not spent on an upgrade that offers no subprotocol of the server. Method: the
/// ticket alone, then beside `parley.v1`.
#[tokio::test]
async fn ticket_unspent() {
    let forum = Server::start(|_| {}).await;
    let (_, token) = forum.token("ada", &["read"]).await;
    let made = forum.client(&token).post("/v1/feed/tickets", &json!({})).await.expect(201);
    let ticket = made["ticket"].as_str().unwrap();
    let alone = upgrade(&format!("sec-websocket-protocol: ticket.{ticket}\r\n"));
    let (answer, _) = ask(forum.address, "", &alone, None).await;
    assert_eq!(answer.refused(), (400, "invalid_parameter".to_owned()));
    assert!(answer.json()["detail"].as_str().unwrap().contains("parley.v1"));
    let beside = format!("sec-websocket-protocol: parley.v1, ticket.{ticket}\r\n");
    let beside = upgrade(&beside);
    let mut listener = Listener::with(forum.address, "", &beside, None).await;
    listener.expect("hello").await;
}

/// Goal: a listener from an allowed origin, with or without subprotocol, hears `hello` first.
/// Method: a row a set of headers, with the subprotocol that is chosen.
#[tokio::test]
async fn handshakes() {
    let forum = Server::start(|config| {
        config.allowed_origins = vec!["https://app.example".parse().unwrap()];
    })
    .await;
    let (_, token) = forum.token("ada", &["read"]).await;
    for (more, chosen) in [
        ("", None),
        ("origin: https://app.example\r\n", None),
        ("sec-websocket-protocol: parley.v1\r\n", Some("parley.v1")),
        ("sec-websocket-protocol: other, parley.v1\r\n", Some("parley.v1")),
        ("accept: application/json\r\n", None),
    ] {
        let headers = upgrade(&(bearer(&token) + more));
        let mut listener = Listener::with(forum.address, "?extension=x", &headers, None).await;
        assert_eq!(listener.answer.header("sec-websocket-protocol"), chosen, "{more}");
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
    let forum = Server::start(|config| config.profiles = vec!["dialectic".to_owned()]).await;
    let mut admin = forum.client(&forum.admin);
    for line in ["GET /v1/feed", "POST /v1/feed/tickets"] {
        let answer = admin.ask(line, EVENTS, b"").await;
        assert_eq!(answer.refused(), (404, "not_found".to_owned()), "{line}");
    }
}
