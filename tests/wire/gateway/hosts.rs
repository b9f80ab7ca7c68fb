//! `Host`, `Origin` and what browsers are told (bindings.md §1, §6).

use parley_kit::BlockingServer;
use parley_kit::http::{AGENT, HOST};

use crate::REQUEST_HEADERS;

/// Goal: hosts and origins are judged on every way in but those that ask for none. Method: a row
/// a request; the table of all rules stands beside their code.
#[test]
fn asked_everywhere_but_for_health() {
    let server = BlockingServer::start(&[
        ("allowed_hosts", "forum.example"),
        ("allowed_origins", "https://app.example"),
    ]);
    for (path, host, origin, status) in [
        ("/v1/manifest", "{own}", None, 200),
        ("/v1/manifest", "forum.example", None, 200),
        ("/v1/manifest", "forum.example:99", None, 200),
        ("/v1/manifest", "other.example", None, 403),
        ("/v1/manifest", "localhost", None, 200),
        ("/v1/manifest", "localhost.:1", None, 200),
        ("/v1/manifest", "{own}", Some("https://app.example"), 200),
        ("/v1/manifest", "{own}", Some("https://forum.example"), 403),
        ("/v1/manifest", "{own}", Some("http://{own}"), 200),
        ("/v1/manifest", "{own}", Some("http://app.example"), 403),
        ("/v1/manifest", "{own}", Some("https://other.example"), 403),
        ("/v1/manifest", "{own}", Some("null"), 403),
        ("/", "other.example", None, 403),
        ("/openapi.json", "other.example", None, 403),
        ("/none", "other.example", None, 403),
        ("/healthz", "other.example", Some("https://other.example"), 200),
        ("/readyz", "other.example", Some("null"), 200),
    ] {
        let (line, host) = (format!("GET {path} HTTP/1.1"), format!("Host: {host}"));
        let origin = origin.map(|origin| format!("Origin: {origin}"));
        let mut lines = vec![&*line, &host];
        lines.extend(origin.as_deref());
        let answer = server.ask(&lines, "");
        assert_eq!(answer.status, status, "{lines:?}");
        if status == 403 {
            answer.problem("origin_forbidden", &line);
            let detail = answer.json()["detail"].to_string();
            let named = if detail.contains("`Host`") { "allowed_hosts" } else { "allowed_origins" };
            assert!(detail.contains(named) && detail.contains("\\\""), "{detail}");
            assert_eq!(answer.header("access-control-allow-origin"), None, "{lines:?}");
        }
    }
}

/// Goal: an allowed origin may read answers and refusals and their headers, and its preflights
/// are answered; nobody else's. Method: the headers of each.
#[test]
fn allowed_origins_may_read() {
    let server = BlockingServer::start(&[("allowed_origins", "https://app.example")]);
    let origin = "Origin: https://app.example";
    for (lines, status) in [
        (&["GET /v1/threads HTTP/1.1", HOST, origin, AGENT][..], 200),
        (&["GET /v1/threads HTTP/1.1", HOST, origin], 401),
        (&["GET /none HTTP/1.1", HOST, origin], 404),
        (&["OPTIONS /v1/messages HTTP/1.1", HOST, origin], 204),
    ] {
        let answer = server.ask(lines, "");
        assert_eq!(answer.status, status, "{lines:?}");
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed, Some("https://app.example"), "{lines:?}");
        let exposed = answer.header("access-control-expose-headers").expect("exposed headers");
        for name in ["ETag", "Location", "Retry-After", "X-Request-Id", "Idempotent-Replayed"] {
            assert!(exposed.contains(name), "{name}");
        }
    }
    let preflight = server.ask(&["OPTIONS /v1/tokens HTTP/1.1", HOST, origin], "");
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, HEAD, POST"));
    let private = "access-control-allow-private-network";
    assert_eq!(preflight.header(private), None);
    let asks = "Access-Control-Request-Private-Network: true";
    let asked = server.ask(&["OPTIONS /v1/tokens HTTP/1.1", HOST, origin, asks], "");
    assert_eq!(asked.header(private), Some("true"));
    let headers = preflight.header("access-control-allow-headers").expect("allowed headers");
    for name in REQUEST_HEADERS {
        assert!(headers.contains(name), "{name}");
    }
    assert_eq!(server.ask(&["OPTIONS /none HTTP/1.1", HOST, origin], "").status, 404);
    let other = ["OPTIONS /v1/tokens HTTP/1.1", HOST, "Origin: https://other.example"];
    assert_eq!(server.ask(&other, "").status, 403);
    let plain = server.ask(&["GET /v1/threads HTTP/1.1", HOST, AGENT], "");
    assert_eq!(plain.header("access-control-allow-origin"), None);
}
