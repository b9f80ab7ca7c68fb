//! What is no operation: manifest tags, health, metrics, the page, request ids.

use parley_kit::http::{ADMIN, AGENT, HOST};
use parley_kit::{BlockingServer, Peer};

/// Goal: the manifest has a tag, and a client that has it already is told so. Method: the tag sent
/// back in several forms.
#[test]
fn manifest_tag() {
    let server = BlockingServer::start(&[]);
    let line = "GET /v1/manifest HTTP/1.1";
    let answer = server.ask(&[line, HOST], "");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["parley"], "1");
    let tag = answer.header("etag").expect("a tag").to_owned();
    for (known, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", {tag}"), 304),
        ("*".into(), 304),
        ("\"other\"".into(), 200),
    ] {
        let again = server.ask(&[line, HOST, &format!("If-None-Match: {known}")], "");
        assert_eq!((again.status, again.header("etag")), (status, Some(&*tag)), "{known}");
        assert_eq!(again.body.is_empty(), status == 304);
    }
    let german = server.ask(&["GET /v1/manifest?lang=de HTTP/1.1", HOST], "");
    assert_ne!(german.header("etag"), Some(&*tag));
}

/// Goal: the description of the HTTP binding names every operation. Method: each path of the
/// table; and its tag.
#[test]
fn openapi() {
    let server = BlockingServer::start(&[]);
    let answer = server.ask(&["GET /openapi.json HTTP/1.1", HOST], "");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let document = answer.json();
    for operation in parley_protocol::operation::Operation::ALL {
        let row = operation.spec();
        let method = row.route.method.as_str().to_lowercase();
        assert!(document["paths"][row.route.path][&method].is_object(), "{}", row.route.path);
    }
    let tag = format!("If-None-Match: {}", answer.header("etag").expect("a tag"));
    assert_eq!(server.ask(&["GET /openapi.json HTTP/1.1", HOST, &tag], "").status, 304);
}

/// Goal: HEAD is GET without the body, on one connection that goes on. Method: each route that
/// reads, both ways.
#[test]
fn head() {
    let server = BlockingServer::start(&[]);
    for path in ["/v1/manifest", "/v1/threads", "/healthz", "/v1/threads/none", "/none"] {
        let get = server.ask(&[&format!("GET {path} HTTP/1.1"), HOST, AGENT], "");
        let mut peer = server.connect();
        for _ in 0..2 {
            peer.send(server.request(&[&format!("HEAD {path} HTTP/1.1"), HOST, AGENT], ""));
            let head = peer.answer(true);
            assert_eq!(head.status, get.status, "{path}");
            for name in ["content-type", "content-length", "etag"] {
                assert_eq!(head.header(name), get.header(name), "{path} {name}");
            }
        }
    }
    let waits = "HEAD /v1/inbox?wait_seconds=25&anyone=false HTTP/1.1";
    assert_eq!(server.ask(&[waits, HOST, AGENT], "").status, 200);
}

/// Goal: a request id of visible ASCII is kept, another is replaced, and those made differ.
/// Method: a row an id.
#[test]
fn request_ids() {
    let server = BlockingServer::start(&[]);
    let long = "x".repeat(129);
    let ask = |id: &str| {
        let id = format!("X-Request-Id: {id}");
        let answer = server.ask(&["GET /healthz HTTP/1.1", HOST, &id], "");
        answer.header("x-request-id").expect("an id").to_owned()
    };
    for kept in ["a", "7f3c-{}!~", &long[1..]] {
        assert_eq!(ask(kept), kept);
    }
    let mut made: Vec<String> = ["", "a b", "é", &long].iter().map(|id| ask(id)).collect();
    assert!(made.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_graphic())));
    made.dedup();
    assert_eq!(made.len(), 4);
}

/// Goal: counters whose labels have few values are there from the start, at 0. Method: the first
/// answer of a process of its own, by name and label.
#[test]
fn metrics_from_the_start() {
    let server = BlockingServer::start(&[]);
    let answer = server.ask(&["GET /metrics HTTP/1.1", HOST, ADMIN], "");
    let text = String::from_utf8(answer.body).expect("text");
    for (name, label, values) in [
        ("parley_feed_dropped_total", "cause", &["slow_consumer", "send_timeout", "silent"][..]),
        ("parley_feed_dropped_total", "cause", &["revoked", "shutdown"]),
        ("parley_feed_frames_total", "type", &["hello", "message", "event", "claim", "awaiting"]),
        ("parley_feed_frames_total", "type", &["settled", "caught_up", "subscribed", "notice"]),
        ("parley_actor_restarts_total", "actor", &["thread", "inbox", "router", "journal"]),
    ] {
        for value in values {
            let row = format!("{name}{{{label}=\"{value}\"}} ");
            assert!(text.lines().any(|line| line.starts_with(&row)), "{row}");
        }
    }
}

/// Goal: metrics are there for an administrator, and on an address of their own for everyone; each
/// request is counted under its operation and outcome. Method: some requests, then both.
#[test]
fn metrics() {
    let server = BlockingServer::start(&[("metrics_listen", "127.0.0.1:0")]);
    server.ask(&["GET /v1/threads HTTP/1.1", HOST, AGENT], "");
    server.ask(&["GET /v1/threads HTTP/1.1", HOST], "");
    server.ask(&["GET /none HTTP/1.1", HOST], "");
    let inside = server.ask(&["GET /metrics HTTP/1.1", HOST, ADMIN], "");
    let mut outside = Peer::connect(server.running().metrics_address.expect("an address"));
    outside.send("GET /metrics HTTP/1.1\r\nHost: anything\r\n\r\n");
    for answer in [inside, outside.answer(false)] {
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
        for row in [
            r#"parley_operations_total{operation="list_threads",outcome="ok"}"#,
            r#"parley_operations_total{operation="list_threads",outcome="token_missing"}"#,
            r#"parley_operations_total{operation="other",outcome="not_found"}"#,
            r#"parley_operation_seconds_bucket{operation="list_threads",outcome="ok",le="0.001"}"#,
            "parley_threads_resident",
            "parley_store_bytes",
        ] {
            assert!(answer.text().contains(row), "{row}\n{}", answer.text());
        }
        assert!(!answer.text().contains("local:"), "no label carries an identity");
    }
    for (request, status, reason) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 404, "not_found"),
        ("POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
    ] {
        outside.send(request);
        outside.answer(false).refusal(status, reason);
    }
}

/// Goal: the page is one file that may load nothing from elsewhere. Method: its policy, and what
/// it refers to.
#[test]
fn page() {
    let server = BlockingServer::start(&[]);
    let answer = server.ask(&["GET / HTTP/1.1", HOST], "");
    assert_eq!(answer.status, 200);
    let policy = answer.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"), "{policy}");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next());
    let nonce = format!("nonce=\"{}\"", nonce.expect("a nonce"));
    assert_eq!(answer.text().matches(&nonce).count(), 2);
    for foreign in ["http://", "https://", " src=", "href=", "innerHTML", "{nonce}"] {
        assert!(!answer.text().contains(foreign), "{foreign}");
    }
    let again = server.ask(&["GET / HTTP/1.1", HOST], "");
    assert_ne!(again.header("content-security-policy"), Some(policy));
}
