//! Tickets: good for one upgrade of their maker.

use parley_kit::feed::{ask, upgrade};
use parley_kit::http::bearer;
use parley_kit::{Client, Listener, Server};
use serde_json::json;

async fn ticket(http: &mut Client) -> String {
    let made = http.post("/v1/feed/tickets", &json!({})).await.expect(201);
    assert!(made["expires_at"].as_str().unwrap().ends_with('Z'));
    made["ticket"].as_str().unwrap().to_owned()
}

fn with(ticket: &str) -> String {
    upgrade(&format!("sec-websocket-protocol: parley.v1, ticket.{ticket}\r\n"))
}

/// Goal: a ticket opens one feed of its maker, once, within 30 s, if its token still holds.
/// Method: one ticket for each case.
#[tokio::test]
async fn once() {
    let forum = Server::start(|_| {}).await;
    let (id, secret) = forum.token("ada", &["read"]).await;
    let mut http = forum.client(&secret);
    let used = ticket(&mut http).await;
    let mut listener = Listener::with(forum.address, "?scope=all", &with(&used), None).await;
    assert_eq!(listener.answer.header("sec-websocket-protocol").unwrap(), "parley.v1");
    let hello = listener.expect("hello").await;
    assert_eq!(hello.json["participant"]["identity"], "local:ada");
    let unknown = (401, "token_unknown".to_owned());
    assert_eq!(ask(forum.address, "", &with(&used), None).await.0.refused(), unknown);
    assert_eq!(ask(forum.address, "", &with("nonsense"), None).await.0.refused(), unknown);

    let after_a_leap = ticket(&mut http).await;
    forum.clock.ahead(3_600_000);
    let opened = Listener::with(forum.address, "", &with(&after_a_leap), None).await;
    assert_eq!(opened.answer.status, 101, "the calendar clock leaps; no time has passed");
    forum.clock.back(3_600_000);

    let late = ticket(&mut http).await;
    forum.clock.pass(30_000);
    assert_eq!(ask(forum.address, "", &with(&late), None).await.0.refused(), unknown);

    let of_the_revoked = ticket(&mut http).await;
    let path = format!("DELETE /v1/tokens/{id}");
    assert_eq!(forum.client(&forum.admin).ask(&path, "", b"").await.status, 204);
    assert_eq!(ask(forum.address, "", &with(&of_the_revoked), None).await.0.refused(), unknown);
}

/// Goal: a ticket is used up by the upgrade that names it whatever becomes of it, but not before
/// `Host` and `Origin` were good, nor by what is no upgrade. Method: each way to fail, then the
/// same ticket again.
#[tokio::test]
async fn used_up() {
    let forum = Server::start(|_| {}).await;
    let (_, secret) = forum.token("ada", &["read"]).await;
    let mut http = forum.client(&secret);
    let foreign = "origin: http://a.example\r\n";
    let events = "accept: text/event-stream\r\n";
    for (query, more, status, is_left) in [
        ("?scope=x", String::new(), 400, false),
        ("?since=x", String::new(), 400, false),
        ("?scope=threads&threads=9", String::new(), 404, false),
        ("", bearer(&secret), 400, false),
        ("", bearer("ply_nobody"), 401, false),
        ("", foreign.to_owned(), 403, true),
        ("", "host: forum.example\r\n".to_owned(), 403, true),
    ] {
        let ticket = ticket(&mut http).await;
        let (answer, _) = ask(forum.address, query, &(with(&ticket) + &more), None).await;
        assert_eq!(answer.status, status, "{query} {more}");
        let (again, _) = ask(forum.address, "", &with(&ticket), None).await;
        assert_eq!(again.status, if is_left { 101 } else { 401 }, "{query} {more}");
    }
    let ticket = ticket(&mut http).await;
    let plain = format!("sec-websocket-protocol: parley.v1, ticket.{ticket}\r\n{events}");
    assert_eq!(ask(forum.address, "", &plain, None).await.0.status, 401);
    assert_eq!(ask(forum.address, "", &with(&ticket), None).await.0.status, 101);
}

/// Goal: asking for a ticket is checked like everything else. Method: a row a request.
#[tokio::test]
async fn asking() {
    let forum = Server::start(|_| {}).await;
    let (_, reader) = forum.token("reader", &["read"]).await;
    let (_, writer) = forum.token("writer", &["write"]).await;
    let path = "POST /v1/feed/tickets";
    for (token, line, headers, body, want) in [
        ("", path, "", "", "token_missing"),
        (&writer, path, "", "", "token_right_missing"),
        (&reader, path, "content-type: text/plain\r\n", "", "unsupported_media_type"),
        (&reader, path, "accept: text/html\r\n", "", "not_acceptable"),
        (&reader, path, "idempotency-key: a\r\n", "", "invalid_parameter"),
        (&reader, "POST /v1/feed/tickets?a=1", "", "", "invalid_parameter"),
        (&reader, path, "", "{\"a\":1}", "invalid_body"),
        (&reader, path, "", "[]", "invalid_body"),
        (&reader, "GET /v1/feed/tickets", "", "", "method_not_allowed"),
        (&reader, path, "", "", ""),
        (&reader, path, "", "{}", ""),
    ] {
        let mut http = forum.client(token);
        let answer = http.ask(line, headers, body.as_bytes()).await;
        assert_eq!(answer.refused().1, want, "{line} {headers} {body}");
    }
}
