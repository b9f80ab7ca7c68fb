//! What HTTP says around the messages (mcp.md §2): statuses, headers, order of checks.

use parley_kit::{Answer, BlockingServer};
use serde_json::{Value, json};

use super::ask::{Client, LISTS, bearer, bytes, post, request, with_meta};
use super::schema::{Revision, Schemas};
use crate::REQUEST_HEADERS;

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
const NOTE: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/// Holds that this is an error of HTTP's own: code and status of the reason, the problem as data.
fn problem(answer: &Answer, status: u16, reason: &str, what: &str) -> Value {
    let message = answer.json();
    let said = (answer.status, &message["error"]["code"], &message["error"]["message"]);
    assert_eq!(said, (status, &json!(status), &json!(reason)), "{what}: {message}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
    assert_eq!(message["error"]["data"]["reason"], reason, "{what}");
    Schemas::check_error(Revision::July2026, &message);
    message
}

/// Goal: only POST is there, at both paths, without a redirect. Method: each method.
#[test]
fn methods() {
    let server = BlockingServer::start(&[]);
    for path in ["/mcp", "/mcp/"] {
        let line = format!("POST {path} HTTP/1.1");
        let answer = server.ask(&[&line, "Host: {own}"], PING);
        assert_eq!((answer.status, &answer.json()["result"]), (200, &json!({})));
        for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
            let line = format!("{method} {path} HTTP/1.1");
            let answer = server.ask(&[&line, "Host: {own}"], "");
            let message = problem(&answer, 405, "method_not_allowed", method);
            assert!(message.get("id").is_none());
            assert_eq!(answer.header("allow"), Some("POST"));
        }
    }
    for path in ["/.well-known/oauth-protected-resource", "/register", "/mcp/x"] {
        let answer = server.ask(&[&format!("POST {path} HTTP/1.1"), "Host: {own}"], PING);
        answer.problem("not_found", path);
    }
}

/// Goal: the checks come in the order of the page. Method: requests with a fault of each check
/// and all that come after it.
#[test]
fn order() {
    let server = BlockingServer::start(&[("limits.request_bytes_max", "1000")]);
    let wrong = "Authorization: Bearer nobody";
    let long = "x".repeat(17_385);
    let far = ["POST /mcp HTTP/1.1", "Host: elsewhere.example", wrong];
    problem(&server.ask(&far, &long), 403, "origin_forbidden", "host");
    let origin = ["GET /mcp HTTP/1.1", "Host: {own}", "Origin: http://elsewhere.example", wrong];
    problem(&server.ask(&origin, ""), 403, "origin_forbidden", "origin");
    let get = ["GET /mcp HTTP/1.1", "Host: {own}", wrong];
    problem(&server.ask(&get, ""), 405, "method_not_allowed", "method");
    problem(&post(&server, &[wrong], &long), 413, "request_too_large", "size");
    let unknown = post(&server, &[wrong], "nonsense");
    problem(&unknown, 401, "token_unknown", "token");
    let challenge = unknown.header("www-authenticate").expect("a challenge");
    assert!(challenge.contains("invalid_token"), "{challenge}");
    problem(&post(&server, &[wrong], NOTE), 401, "token_unknown", "a notification");
    let plain = ["POST /mcp HTTP/1.1", "Host: {own}", "Content-Type: text/plain"];
    problem(&server.ask(&plain, "nonsense"), 415, "unsupported_media_type", "type");
    let list = request("tools/call", &json!({ "name": "list_threads" }));
    let modern = request("tools/call", &with_meta(&json!({ "name": "list_threads" })));
    for (version, body, code) in
        [("x", "nonsense", -32_700), ("x", &list, -32_600), ("2026-07-28", &modern, -32_020)]
    {
        let answer = post(&server, &[&format!("MCP-Protocol-Version: {version}")], body);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(code)));
    }
    let missing = post(&server, &[], &list);
    assert_eq!(problem(&missing, 401, "token_missing", "missing")["id"], 1);
    assert_eq!(missing.header("www-authenticate"), Some("Bearer"));
}

/// Goal: what is free without a token is, everything else is not, in both eras. Method: each
/// method without one.
#[test]
fn free() {
    let server = BlockingServer::start(&[]);
    let (none, some) = (json!({}), |member: &str, what: &str| json!({ member: what }));
    let legacy = Client::legacy(&server, "");
    let modern = Client::modern(&server, "");
    for client in [legacy, modern] {
        for method in LISTS {
            client.result(method, &none);
        }
        for (method, params) in [
            ("prompts/get", some("name", "join")),
            ("tools/call", some("name", "get_manifest")),
            ("resources/read", some("uri", "parley://manifest")),
        ] {
            client.result(method, &params);
        }
        for (method, params) in [
            ("tools/call", some("name", "list_threads")),
            ("tools/call", some("name", "nonsense")),
            ("resources/read", some("uri", "parley://inbox")),
            ("resources/read", some("uri", "parley://nonsense")),
        ] {
            client.fails(method, &params, 401, 401);
        }
    }
    let version = json!({ "protocolVersion": "2025-06-18" });
    assert_eq!(legacy.result("initialize", &version)["protocolVersion"], "2025-06-18");
    assert_eq!(legacy.result("ping", &none), none);
    modern.result("server/discover", &none);
    legacy.fails("logging/setLevel", &none, 401, 401);
    modern.fails("subscriptions/listen", &none, 401, 401);
    // An unknown method is unknown before a token is missed.
    legacy.fails("nonsense", &none, 200, -32_601);
    modern.fails("nonsense", &none, 404, -32_601);
    modern.fails("ping", &none, 404, -32_601);
    let agent = Client::legacy(&server, &server.agent);
    assert_eq!(agent.result("logging/setLevel", &json!({ "level": "debug" })), none);
}

/// Goal: notifications and responses get 202 and nothing, with or without a token. Method: some of
/// each, with headers of both eras.
#[test]
fn silent() {
    let server = BlockingServer::start(&[]);
    let agent = bearer(&server.agent);
    for headers in [vec![], vec![&*agent], vec!["MCP-Protocol-Version: 2026-07-28"]] {
        for body in [
            NOTE,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"x\"}}",
        ] {
            let answer = post(&server, &headers, body);
            assert_eq!((answer.status, answer.text()), (202, ""), "{headers:?} {body}");
        }
    }
}

/// Goal: whatever a client accepts gets JSON, but an event stream if it takes nothing else; errors
/// stay JSON, and no session is issued. Method: results and errors under several headers.
#[test]
fn accept() {
    let server = BlockingServer::start(&[]);
    for accept in ["*/*", "application/json", "application/json, text/event-stream", "text/html"] {
        let answer = post(&server, &[&format!("Accept: {accept}"), "Mcp-Session-Id: x"], PING);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}");
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    let accept = "Accept: text/event-stream";
    let answer = post(&server, &[accept, "Last-Event-ID: 7"], PING);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let data = answer.text().strip_prefix("event: message\ndata: ").expect("an event");
    let message: Value = serde_json::from_str(data.trim_end()).expect("JSON");
    assert_eq!((&message["id"], answer.text().ends_with("\n\n")), (&json!(1), true));
    let wrong = post(&server, &[accept], "nonsense");
    assert_eq!(wrong.header("content-type"), Some("application/json"));
    let unknown = request("nonsense", &json!({}));
    let unknown = post(&server, &[accept], &unknown);
    assert_eq!((unknown.status, unknown.header("content-type")), (200, Some("application/json")));
}

/// Goal: a batch is answered entry by entry, a missing token in it too. Method: one of everything.
#[test]
fn batches() {
    let server = BlockingServer::start(&[]);
    let call = request("tools/call", &json!({ "name": "list_threads" }));
    let start = request("initialize", &json!({}));
    let body = format!("[{PING},{NOTE},{call},7,{start}]");
    let answer = post(&server, &[], &body);
    assert_eq!(answer.status, 200);
    let answers = answer.json();
    let codes = answers.as_array().expect("a list").iter();
    let codes: Vec<_> = codes.map(|one| one["error"]["code"].as_i64().unwrap_or(0)).collect();
    assert_eq!(codes, [0, 401, -32_600, -32_600], "{answers}");
    Schemas::check(Revision::March2025, "JSONRPCBatchResponse", &json!([answers[0], answers[1]]));
    let silent = post(&server, &[], &format!("[{NOTE},{NOTE}]"));
    assert_eq!((silent.status, silent.text()), (202, ""));
    let agent = post(&server, &[&bearer(&server.agent)], &format!("[{call}]"));
    assert_eq!(agent.json()[0]["result"]["isError"], false);
    for headers in [vec!["MCP-Protocol-Version: 2025-06-18"], vec![]] {
        let body = if headers.is_empty() { "[]".to_owned() } else { format!("[{PING}]") };
        let whole = post(&server, &headers, &body);
        assert_eq!((whole.status, &whole.json()["error"]["code"]), (400, &json!(-32_600)));
    }
}

/// Goal: a modern request whose version is not served is told what is. Method: one.
#[test]
fn versions() {
    let server = BlockingServer::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2027-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = request("server/discover", &json!({ "_meta": meta }));
    let answer = post(&server, &["MCP-Protocol-Version: 2027-01-01"], &body);
    let message = answer.json();
    Schemas::check_error(Revision::July2026, &message);
    assert_eq!((answer.status, &message["error"]["code"]), (400, &json!(-32_022)));
    let discovered = Client::modern(&server, "").result("server/discover", &json!({}));
    let data = &message["error"]["data"];
    assert_eq!(data["supported"], discovered["supportedVersions"]);
    assert_eq!(data["requested"], "2027-01-01");
    assert_eq!(data["supported"][0], "2026-07-28");
}

/// Goal: browsers of allowed origins may call, with the protocol's headers. Method: a preflight and
/// a call.
#[test]
fn cross_origin() {
    let server = BlockingServer::start(&[("allowed_origins", "https://app.example")]);
    let origin = "Origin: https://app.example";
    let lines = ["OPTIONS /mcp HTTP/1.1", "Host: {own}", origin];
    let preflight = server.ask(&lines, "");
    let methods = preflight.header("access-control-allow-methods");
    assert_eq!((preflight.status, methods), (204, Some("POST")));
    let allowed = preflight.header("access-control-allow-headers").expect("headers");
    for name in REQUEST_HEADERS {
        assert!(allowed.contains(name), "{name}");
    }
    let answer = post(&server, &[origin], PING);
    let shared = answer.header("access-control-allow-origin");
    assert_eq!(shared, Some("https://app.example"));
}

/// Goal: a held inbox ends with its connection's token. Method: a call that waits, a token revoked
/// meanwhile.
#[test]
fn revoked_meanwhile() {
    let server = BlockingServer::start(&[]);
    let secret = server.make_token(&json!({ "handle": "brief", "rights": ["read"] }));
    let waits = json!({ "name": "read_inbox", "arguments": { "wait_seconds": 25 } });
    let mut peer = server.connect();
    peer.send(bytes(&server, &[&bearer(&secret)], &request("tools/call", &waits)));
    server.revoke_last_token();
    problem(&peer.answer(false), 401, "token_unknown", "revoked");
}
