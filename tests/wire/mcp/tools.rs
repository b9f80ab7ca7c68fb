//! Tools (mcp.md §4).

use parley_kit::BlockingServer;
use parley_kit::http::{AGENT, HOST};
use serde_json::{Value, json};

use super::ask::{Client, LISTS, bearer, post, request, text_said};
use super::schema::{Revision, faults};

/// Members that no `outputSchema` declares at its root: those of a problem object, and `from`.
const HIDDEN: [&str; 16] = [
    "type",
    "title",
    "status",
    "detail",
    "reason",
    "field",
    "right",
    "thread",
    "state",
    "attempted",
    "retry_after_ms",
    "class",
    "pointer",
    "report",
    "failure_artifact",
    "from",
];

/// Every place in a schema where another one stands.
fn within<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    found.push(schema);
    for member in schema["properties"].as_object().into_iter().flat_map(serde_json::Map::values) {
        within(member, found);
    }
    if let Some(items) = schema.get("items") {
        within(items, found);
    }
}

/// Goal: the tools are those of the active profiles, on one page, the same for everyone, with
/// schemas that every client takes. Method: the list, in all revisions and with profiles off.
#[test]
fn listed() {
    let server = BlockingServer::start(&[]);
    let mut lists = Vec::new();
    for revision in Revision::ALL {
        for token in ["", &server.agent, &server.admin] {
            let client = Client { server: &server, token, revision };
            let list = client.result("tools/list", &json!({}));
            assert!(list.get("nextCursor").is_none());
            lists.push(list["tools"].clone());
        }
    }
    assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "the same for everyone");
    let tools = lists[0].as_array().expect("tools");
    assert_eq!(tools.len(), 19);
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let description = tool["description"].as_str().expect("a description");
        assert!(description.chars().count() < 1_000, "{name}");
        let reads = tool["annotations"]["readOnlyHint"] == true;
        assert_eq!(tool["inputSchema"]["properties"].get("idempotency_key").is_none(), reads);
        assert_eq!(tool["annotations"]["idempotentHint"], reads, "{name}");
        for hint in ["destructiveHint", "openWorldHint"] {
            assert_eq!(tool["annotations"][hint], false, "{name}");
        }
        let mut schemas = Vec::new();
        for side in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[side]["type"], "object", "{name}");
            within(&tool[side], &mut schemas);
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        // A refusal fits too: clients validate it.
        let declared = tool["outputSchema"]["properties"].as_object().expect("properties");
        for hidden in HIDDEN {
            assert!(!declared.contains_key(hidden), "{name}: {hidden}");
        }
        assert!(tool["outputSchema"].get("required").is_none(), "{name}");
        for schema in schemas {
            assert!(schema["type"].is_string(), "{name}: {schema}");
            assert!(schema["type"] != "array" || schema.get("items").is_some(), "{name}");
            for keyword in ["$ref", "oneOf", "anyOf", "allOf", "format"] {
                assert!(schema.get(keyword).is_none(), "{name}: {schema}");
            }
        }
    }
    let core = BlockingServer::start(&[("profiles", "feed")]);
    let client = Client::legacy(&core, &core.agent);
    let list = client.result("tools/list", &json!({}));
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(9));
    client.fails("tools/call", &json!({ "name": "list_claims" }), 200, -32_602);
}

/// Goal: the four lists have one page and take no cursor. Method: one given, in both eras.
#[test]
fn cursors() {
    let server = BlockingServer::start(&[]);
    for client in [Client::legacy(&server, ""), Client::modern(&server, "")] {
        for method in LISTS {
            client.fails(method, &json!({ "cursor": "x" }), 200, -32_602);
            client.result(method, &json!({ "cursor": null }));
        }
    }
}

/// Goal: arguments that are absent, null or missing are `{}`; parameters of the wrong shape are
/// -32602. Method: a row a request, in both eras.
#[test]
fn shapes_of_params() {
    let server = BlockingServer::start(&[]);
    for client in [Client::legacy(&server, &server.agent), Client::modern(&server, &server.agent)] {
        for params in [
            json!({ "name": "list_threads" }),
            json!({ "name": "list_threads", "arguments": null }),
            json!({ "name": "list_threads", "arguments": {} }),
            json!({ "name": "list_threads", "arguments": { "state": null } }),
            json!({ "name": "list_threads", "arguments": {}, "task": { "ttl": 1 } }),
        ] {
            assert_eq!(client.result("tools/call", &params)["isError"], false, "{params}");
        }
        for params in [
            json!({ "name": "nonsense" }),
            json!({ "name": "" }),
            json!({ "name": "list_threads", "arguments": [] }),
            json!({ "name": "list_threads", "arguments": "{}" }),
        ] {
            client.fails("tools/call", &params, 200, -32_602);
        }
    }
    for params in [json!({}), json!({ "name": 7 })] {
        Client::legacy(&server, &server.agent).fails("tools/call", &params, 200, -32_602);
    }
}

/// Goal: faults of the arguments' own text are refusals of the tool, whatever stands around them.
/// Method: raw bodies.
#[test]
fn raw_arguments() {
    let server = BlockingServer::start(&[]);
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let key = "{\"thread\":1,\"idempotency_key\":\"\"}";
    let agent = bearer(&server.agent);
    let call = |name: &str, arguments: &str| {
        let params = format!("{{\"name\":\"{name}\",\"arguments\":{arguments}}}");
        let head = "\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"";
        let body = format!("{{{head},\"params\":{params}}}");
        post(&server, &[&agent], &body).json()["result"].clone()
    };
    for (name, arguments, reason, field) in [
        ("post_message", "{\"kind\":\"ask\",\"kind\":\"ask\"}", "invalid_body", "kind"),
        ("post_message", "{\"kind\":\"ask\",\"body\":\"\\ud800\"}", "invalid_body", "body"),
        ("post_message", "{\"kind\":\"ask\",\"body\":1.5}", "invalid_body", "body"),
        ("list_threads", "{\"limit\":1,\"limit\":1}", "invalid_parameter", "limit"),
        ("list_threads", "{\"limit\":1.5}", "invalid_parameter", "limit"),
        ("list_threads", "{\"limit\":15e-1}", "invalid_parameter", "limit"),
        ("read_inbox", "{\"wait_seconds\":26}", "invalid_parameter", "wait_seconds"),
        ("read_thread", "{}", "invalid_parameter", "thread"),
        ("list_threads", "{\"nonsense\":null}", "invalid_parameter", "nonsense"),
        ("mark_thread", key, "invalid_parameter", "idempotency_key"),
        ("publish_artifact", "{\"artifact\":{\"a\":1.5}}", "artifact_invalid", ""),
        ("publish_artifact", "{\"artifact\":7}", "artifact_invalid", ""),
        ("publish_artifact", "{}", "invalid_body", "artifact"),
    ] {
        let result = call(name, arguments);
        let said = text_said(&result);
        let fault = (said["reason"].as_str(), said["field"].as_str().unwrap_or_default());
        assert_eq!(result["isError"], true, "{arguments}");
        assert_eq!(fault, (Some(reason), field), "{arguments}");
    }
    let said = text_said(&call("post_message", &format!("{{\"body\":{deep}}}")));
    assert_eq!(said["reason"], "invalid_body");
}

/// Goal: once the tool is known, what refuses the call is a result: a right, the size. Method: a
/// token that only reads; arguments and artifacts around the limit.
#[test]
fn refusals_are_results() {
    let server = BlockingServer::start(&[("limits.request_bytes_max", "2000")]);
    let reader = server.make_token(&json!({ "handle": "reader", "rights": ["read"] }));
    let client = Client::legacy(&server, &reader);
    let (refused, said) = client.call("post_message", &json!({ "nonsense": 1 }));
    let fault = (&said["reason"], &said["right"]);
    assert_eq!((refused, fault), (true, (&json!("token_right_missing"), &json!("write"))));
    let agent = Client::legacy(&server, &server.agent);
    let long = json!({ "kind": "ask", "body": "x".repeat(2_000) });
    assert_eq!(agent.call("post_message", &long).1["reason"], "request_too_large");
    let beyond = json!({ "kind": "ask", "body": "x".repeat(18_500) });
    let beyond = json!({ "name": "post_message", "arguments": beyond });
    let beyond = request("tools/call", &beyond);
    assert_eq!(post(&server, &[&bearer(&server.agent)], &beyond).status, 413);
    // An artifact may have as many bytes as over HTTP, whatever stands around it.
    for (length, reason) in [(2_000, "artifact_invalid"), (2_001, "request_too_large")] {
        let empty = "{\"artifact_id\":\"\"}".len();
        let artifact = json!({ "artifact_id": "x".repeat(length - empty) });
        let said = agent.call("publish_artifact", &json!({ "artifact": artifact })).1;
        assert_eq!(said["reason"], reason, "{length}");
    }
}

/// Goal: what tools answer fits the schemas that they publish. Method: a call of each reader and
/// writer that needs no preparation but one thread.
#[test]
fn answers_fit() {
    let server = BlockingServer::start(&[]);
    let client = Client::legacy(&server, &server.agent);
    let list = client.result("tools/list", &json!({}));
    let tools = list["tools"].as_array().expect("tools");
    let url = json!([{ "kind": "url", "ref": "https://example.org/" }]);
    for (name, arguments) in [
        ("post_message", json!({ "kind": "ask", "body": "Well?" })),
        ("get_manifest", json!({ "lang": "fr" })),
        ("list_threads", json!({})),
        ("read_thread", json!({ "thread": 1 })),
        ("read_thread", json!({ "thread": "th_1", "format": "flat" })),
        ("read_events", json!({ "thread": "1" })),
        ("read_inbox", json!({})),
        ("assert_claim", json!({ "thread": 1, "statement": "So it is.", "evidence": url })),
        ("refute_claim", json!({ "claim": 1, "evidence": url })),
        ("read_claim", json!({ "claim": "cl_1" })),
        ("list_claims", json!({ "thread": 1 })),
        ("export_thread", json!({ "thread": 1 })),
        ("list_artifacts", json!({})),
        ("mark_thread", json!({ "thread": 1, "state": "answered" })),
        ("mark_thread", json!({ "thread": 1, "state": "answered" })),
        ("mark_thread", json!({ "thread": 1, "state": "closed", "reason": "Done." })),
        ("reopen_thread", json!({ "thread": 1 })),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        let wrong = faults(&Value::Null, &tool["inputSchema"], &arguments, "");
        let integers =
            wrong.iter().all(|fault| fault.starts_with("/thread") || fault.starts_with("/claim"));
        assert!(integers, "{name}: {wrong:?}");
        let said = client.good(name, &arguments);
        let wrong = faults(&Value::Null, &tool["outputSchema"], &said, "");
        assert!(wrong.is_empty(), "{name} {said}: {wrong:?}");
    }
}

/// Goal: a key does a write once, over whatever way it comes. Method: over MCP, over MCP again,
/// over HTTP.
#[test]
fn keys() {
    let server = BlockingServer::start(&[]);
    let client = Client::modern(&server, &server.agent);
    let arguments = json!({ "kind": "ask", "body": "Once?", "idempotency_key": "k-1" });
    let first = client.good("post_message", &arguments);
    assert_eq!(client.good("post_message", &arguments), first);
    let lines = ["POST /v1/messages HTTP/1.1", HOST, AGENT, "Idempotency-Key: k-1"];
    let again = server.ask(&lines, "{\"kind\":\"ask\",\"body\":\"Once?\"}");
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(again.json(), first);
    let other = json!({ "kind": "ask", "body": "Other?", "idempotency_key": "k-1" });
    assert_eq!(client.call("post_message", &other).1["reason"], "idempotency_conflict");
    // A remembered refusal is one again.
    let lost = json!({ "kind": "answer", "thread": 99, "body": "x", "idempotency_key": "k-2" });
    for _ in 0..2 {
        let (refused, said) = client.call("post_message", &lost);
        assert_eq!((refused, &said["reason"]), (true, &json!("thread_not_found")));
    }
}

/// Goal: the pages of tools and the manifest fit into a model's context, and are those asked for
/// where something is asked for. Method: more of everything than a page has.
#[test]
fn small_by_default() {
    let rate = [("limits.writes_per_minute", "0"), ("limits.consecutive_max", "100")];
    let server = BlockingServer::start(&rate);
    let (ada, bob) = (
        Client::legacy(&server, &server.agent),
        server.make_token(&json!({
            "handle": "bob", "rights": ["read", "write"],
        })),
    );
    let bob = Client::legacy(&server, &bob);
    for number in 0..32 {
        ada.good("post_message", &json!({ "kind": "ask", "body": format!("Well, {number}?") }));
        ada.good("post_message", &json!({ "kind": "inform", "thread": 1, "body": "So." }));
        ada.good("assert_claim", &json!({ "thread": 1, "statement": "So it is." }));
    }
    for (name, arguments, items, count) in [
        ("read_inbox", json!({}), "items", 15),
        ("read_inbox", json!({ "limit": 16 }), "items", 16),
        ("list_threads", json!({}), "items", 20),
        ("list_claims", json!({ "thread": 1 }), "items", 20),
        ("export_thread", json!({ "thread": 1 }), "items", 20),
        ("read_thread", json!({ "thread": 1, "format": "flat" }), "messages", 30),
        ("read_thread", json!({ "thread": 1, "format": "flat", "limit": "31" }), "messages", 31),
    ] {
        let said = bob.good(name, &arguments);
        assert_eq!(said[items].as_array().map(Vec::len), Some(count), "{name} {arguments}");
        assert_eq!(said["more"], true, "{name}");
    }
    let manifest = bob.good("get_manifest", &json!({}));
    assert_eq!(manifest["part"], "speaking");
    assert!(manifest.to_string().chars().count() < 10_000 && manifest["reasons"].is_null());
    let http = server.ask(&["GET /v1/manifest HTTP/1.1", HOST], "").json();
    assert_eq!(bob.good("get_manifest", &json!({ "part": "all" })), http);
}
