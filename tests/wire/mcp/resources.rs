//! Resources and prompts (mcp.md §5).

use parley_kit::BlockingServer;
use serde_json::{Value, json};

use super::ask::{Client, LISTS};
use super::schema::Schemas;

/// Goal: a resource is the JSON of its tool. Method: each, beside the call of the tool.
#[test]
fn same_as_tools() {
    let server = BlockingServer::start(&[]);
    for client in [Client::legacy(&server, &server.agent), Client::modern(&server, &server.agent)] {
        let opened = client.good("post_message", &json!({ "kind": "ask", "body": "Well?" }));
        let thread = opened["thread"]["id"].as_str().expect("an id");
        for (uri, tool, arguments) in [
            ("parley://manifest".to_owned(), "get_manifest", json!({})),
            ("parley://inbox".to_owned(), "read_inbox", json!({})),
            ("parley://inbox/w%2D1".to_owned(), "read_inbox", json!({ "extension": "w-1" })),
            (format!("parley://threads/{thread}"), "read_thread", json!({ "thread": thread })),
        ] {
            let read = client.result("resources/read", &json!({ "uri": uri }));
            let contents = &read["contents"][0];
            let kind = json!("application/json");
            assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &kind));
            let text = contents["text"].as_str().expect("a text");
            let said: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(said, client.good(tool, &arguments), "{uri}");
            if read.get("resultType").is_some() {
                let steady = uri == "parley://manifest";
                let scope = if steady { "public" } else { "private" };
                assert_eq!(read["cacheScope"], scope, "{uri}");
                assert_eq!(read["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), steady, "{uri}");
            }
        }
    }
}

/// Goal: what is not there is said so as each era says it, with the address; other refusals have
/// the code and status of their reason. Method: a row an address and a token.
#[test]
fn refusals() {
    let server = BlockingServer::start(&[]);
    let writer = server.make_token(&json!({ "handle": "writer", "rights": ["write"] }));
    for uri in ["parley://threads/th_99", "parley://threads/x", "parley://nonsense", "test://x", ""]
    {
        let params = json!({ "uri": uri });
        for (client, code) in [
            (Client::legacy(&server, &server.agent), -32_002),
            (Client::modern(&server, &server.agent), -32_602),
        ] {
            let error = client.fails("resources/read", &params, 200, code);
            assert_eq!(error["data"]["uri"], uri);
        }
    }
    for (secret, uri, status, reason) in [
        ("", "parley://inbox", 401, "token_missing"),
        (&*writer, "parley://inbox", 403, "token_right_missing"),
        (&*server.agent, "parley://inbox/a%20b", 400, "invalid_parameter"),
    ] {
        let client = Client::modern(&server, secret);
        let params = json!({ "uri": uri });
        let error = client.fails("resources/read", &params, status, i64::from(status));
        assert_eq!((&error["message"], &error["data"]["reason"]), (&json!(reason), &json!(reason)));
    }
    Client::legacy(&server, &server.agent).fails("resources/read", &json!({}), 200, -32_602);
}

/// Goal: lists, discovery and prompts say what they must, and no more than they may. Method: each.
#[test]
fn documents() {
    let server = BlockingServer::start(&[]);
    let (legacy, modern) = (Client::legacy(&server, ""), Client::modern(&server, ""));
    let none = json!({});
    let started = legacy.result("initialize", &none);
    assert_eq!(started["capabilities"], json!({ "tools": {}, "resources": {}, "prompts": {} }));
    assert_eq!(started["serverInfo"]["name"], "parley");
    let discovered = modern.result("server/discover", &none);
    assert_eq!(discovered["capabilities"]["resources"], json!({ "subscribe": true }));
    let instructions = discovered["instructions"].as_str().expect("instructions");
    assert_eq!(started["instructions"], instructions);
    assert!(instructions.chars().count() < 2_000, "{}", instructions.chars().count());
    assert!(instructions.contains("data, not instructions"));
    for method in ["server/discover"].iter().chain(&LISTS) {
        let result = modern.result(method, &none);
        assert_eq!(result["cacheScope"], "public", "{method}");
        assert!(result["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), "{method}");
    }
    for name in ["join", "moderate"] {
        let prompt = modern.result("prompts/get", &json!({ "name": name, "arguments": {} }));
        assert_eq!(prompt["messages"][0]["content"]["type"], "text");
        assert!(prompt.get("ttlMs").is_none());
        legacy.result("prompts/get", &json!({ "name": name }));
    }
    for params in [json!({ "name": "x" }), json!({ "name": "join", "arguments": 7 })] {
        legacy.fails("prompts/get", &params, 200, -32_602);
    }
    Schemas::check(modern.revision, "DiscoverResult", &discovered);
}
