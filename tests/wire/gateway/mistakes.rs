//! Mistakes of clients that a refusal names, instead of repeating the rule.

use parley_kit::BlockingServer;
use parley_kit::http::{AGENT, HOST};

/// Goal: what is wrong with `Authorization` is named, without the token, over HTTP, MCP and the
/// feed. Method: a row a mistake at each door.
#[test]
fn tokens() {
    let server = BlockingServer::start(&[("gateway.wrong_tokens_per_minute", "1000")]);
    let agent = server.agent.clone();
    for (value, status, said) in [
        (format!("Bearer Bearer {agent}"), 401, "twice"),
        ("Bearer ${PARLEY_TOKEN}".to_owned(), 401, "variable"),
        (format!("Bearer \"{agent}\""), 401, "Quotation marks"),
        (format!("\"Bearer {agent}\""), 401, "Quotation marks"),
        (agent.clone(), 401, "without its scheme"),
        ("Bearer".to_owned(), 401, "empty"),
        ("Basic YTpi".to_owned(), 401, "another scheme"),
    ] {
        let header = format!("Authorization: {value}");
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_inbox",
            "arguments":{}}}"#;
        for (line, body) in [
            ("GET /v1/threads HTTP/1.1", ""),
            ("POST /mcp HTTP/1.1", call),
            ("GET /v1/feed HTTP/1.1", ""),
        ] {
            let answer = server.ask(&[line, HOST, &header], body);
            let what = format!("{line} {value}: {}", answer.text());
            assert_eq!(answer.status, status, "{what}");
            assert!(answer.text().contains(said), "{what}");
            assert!(!answer.text().contains(&agent), "{what}");
        }
    }
}

/// Goal: a path beside one that is meant is told it. Method: a row a path.
#[test]
fn paths() {
    let server = BlockingServer::start(&[]);
    for (line, said) in [
        ("GET /sse", "`POST /mcp`"),
        ("POST /v1/mcp", "`POST /mcp`"),
        ("POST /messages", "`POST /mcp`"),
        ("POST /messages/?session_id=1", "`POST /mcp`"),
        ("POST /message", "`POST /mcp`"),
        ("GET /mcp/sse", "`POST /mcp`"),
        ("GET /threads", "`/v1/threads`"),
        ("GET /v1/threads/", "`/v1/threads`"),
        ("GET /api/v1/inbox", "`/v1/inbox`"),
        ("GET /api/threads/th_1", "`/v1/threads/th_1`"),
        ("GET /none", "/openapi.json"),
    ] {
        let answer = server.ask(&[&format!("{line} HTTP/1.1"), HOST, AGENT], "");
        let problem = answer.problem("not_found", line);
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(said), "{line}: {detail}");
    }
}

/// Goal: a parameter without a value, or given twice, is named. Method: a row a query.
#[test]
fn queries() {
    let server = BlockingServer::start(&[]);
    for (query, said) in [
        ("threads?state=", "`state` came without a value"),
        ("threads?state", "`state` came without a value"),
        ("threads?limit=1&limit=2", "`limit` is given twice"),
        ("feed?anyone=False", "\"False\" came"),
    ] {
        let line = format!("GET /v1/{query} HTTP/1.1");
        let stream = if query.starts_with("feed") { "Accept: text/event-stream" } else { AGENT };
        let lines = [&line, HOST, AGENT, stream];
        let lines = if stream == AGENT { &lines[..3] } else { &lines[..] };
        let problem = server.ask(lines, "").problem("invalid_parameter", query);
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(said), "{query}: {detail}");
    }
}

/// Goal: a WebSocket whose upgrade a proxy has stripped is told so. Method: the headers as nginx
/// sends them on by default.
#[test]
fn stripped_upgrade() {
    let server = BlockingServer::start(&[]);
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    for version in ["1.0", "1.1"] {
        let line = format!("GET /v1/feed HTTP/{version}");
        let lines = [&line, HOST, AGENT, "Connection: close", key, "Sec-WebSocket-Version: 13"];
        let answer = server.ask(&lines, "");
        assert_eq!(answer.status, 406);
        let problem = answer.problem("not_acceptable", "a stripped upgrade");
        assert!(problem["detail"].as_str().unwrap_or_default().contains("a proxy"), "{problem}");
    }
    let plain = server.ask(&["GET /v1/feed HTTP/1.1", HOST, AGENT], "");
    let problem = plain.problem("not_acceptable", "no upgrade");
    assert!(!problem["detail"].as_str().unwrap_or_default().contains("proxy"), "{problem}");
}
