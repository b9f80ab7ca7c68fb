//! The same operation over HTTP and over MCP gives equal results and equal refusals (mcp.md §6):
//! one script, played over either way on a server of its own, step by step.

use std::collections::{BTreeMap, BTreeSet};

use parley_kit::BlockingServer;
use parley_protocol::limits::Limits;
use parley_protocol::operation::{FieldPlace, Operation, Profiles};
use parley_protocol::refusal::Reason;
use parley_protocol::schema::{OpenApiFacts, openapi};
use serde_json::{Map, Value, json};

use super::ask::{Client, text_said};
use super::schema::Revision;
use super::script::{SETTINGS, Step, script};

/// Reasons that the script does not give over both ways, and why.
const ASIDE: [(Reason, &str); 11] = [
    (Reason::OriginForbidden, "judged before the way in; held by statuses::order"),
    (Reason::Overloaded, "the forum gives it to either way; held by tests of the router"),
    (Reason::NotFound, "an unknown path is HTTP's; over MCP an unknown method or tool has a code"),
    (Reason::MethodNotAllowed, "a method of HTTP; held by statuses::methods"),
    (Reason::NotAcceptable, "over MCP any `Accept` gets JSON"),
    (Reason::UnsupportedMediaType, "a header of HTTP; held by statuses::order"),
    (Reason::HandleConflict, "tokens are no tools"),
    (Reason::LastAdmin, "tokens are no tools"),
    (Reason::Internal, "no input causes it"),
    (Reason::StorageUnavailable, "the forum gives it to either way; held by tests of the journal"),
    (Reason::ShuttingDown, "the forum gives it to either way; held by tests of the gateway"),
];

/// What was answered, in the form of HTTP: whether it refuses, and the body.
type Said = (bool, Value);

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-~:".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Plays a step over HTTP: each field in its place.
fn over_http(server: &BlockingServer, token: &str, step: &Step) -> Said {
    let operation = Operation::parse(step.operation).expect("an operation");
    let row = operation.spec();
    let (mut path, mut query, mut body) = (row.route.path.to_owned(), Vec::new(), Map::new());
    let mut key = None;
    for (name, value) in step.arguments.as_object().expect("an object") {
        match operation.field(name).map(|field| field.place) {
            _ if name == "idempotency_key" => key = Some(text_of(value)),
            Some(FieldPlace::Path(_)) => {
                path = path.replace(&format!("{{{name}}}"), &encoded(&text_of(value)));
            }
            Some(FieldPlace::Body) => drop(body.insert(name.clone(), value.clone())),
            None if operation.has_body() => drop(body.insert(name.clone(), value.clone())),
            // Null is how a query does not name something.
            Some(FieldPlace::Query) if value.is_null() => {}
            Some(FieldPlace::Query) | None => {
                query.push(format!("{name}={}", encoded(&text_of(value))));
            }
        }
    }
    // What is left out has other defaults over MCP.
    let is_out = |name: &str| step.arguments.get(name).is_none_or(Value::is_null);
    let pages = operation != Operation::ReadThread || step.arguments["format"] == "flat";
    if let Some(page) = operation.page_over_mcp().filter(|_| pages && is_out("limit")) {
        query.push(format!("limit={page}"));
    }
    if operation == Operation::GetManifest && is_out("part") {
        query.push("part=speaking".to_owned());
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let mut lines =
        vec![format!("{} {path} HTTP/1.1", row.route.method.as_str()), "Host: {own}".into()];
    if !token.is_empty() {
        lines.push(format!("Authorization: Bearer {token}"));
    }
    lines.extend(key.map(|key| format!("Idempotency-Key: {key}")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let body = match (operation, operation.has_body()) {
        (Operation::PublishArtifact, _) => body["artifact"].to_string(),
        (_, true) => Value::Object(body).to_string(),
        (_, false) => String::new(),
    };
    let answer = server.ask(&lines, &body);
    (answer.status >= 400, answer.json())
}

/// Plays a step over MCP; errors of HTTP's own come as JSON-RPC errors that hold the problem.
fn over_mcp(server: &BlockingServer, token: &str, step: &Step, revision: Revision) -> Said {
    let client = Client { server, token, revision };
    let params = json!({ "name": step.operation, "arguments": step.arguments });
    let answer = client.post("tools/call", &params);
    let message = answer.json();
    if let Some(error) = message.get("error") {
        assert_eq!(error["code"], answer.status, "{message}");
        return (true, error["data"].clone());
    }
    let result = &message["result"];
    (result["isError"] == true, text_said(result))
}

/// The same with what differs between any two servers made alike: times, tags of cursors, the
/// identifier of the instance, milliseconds to wait.
fn alike(value: &mut Value) {
    match value {
        Value::String(text) => {
            let bytes = text.as_bytes();
            let is_time = bytes.len() == 24 && bytes[10] == b'T' && bytes[23] == b'Z';
            if is_time {
                *text = "time".into();
            } else if let [position, _, tag] = text.split('.').collect::<Vec<_>>()[..]
                && tag.len() == 16
            {
                *text = position.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(alike),
        Value::Object(members) => {
            for name in ["instance", "era", "retry_after_ms", "cursor", "artifact_id"] {
                let dots = |text: &str| text.split('.').count() == 3;
                if let Some(member) = members.get_mut(name)
                    && !(name == "cursor" && member.as_str().is_some_and(dots))
                {
                    *member = "differs".into();
                }
            }
            members.values_mut().for_each(alike);
        }
        _ => {}
    }
}

/// The members of `value` that `schema` does not declare where it declares any; `root` holds the
/// targets of references.
fn undeclared(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect(reference);
        return undeclared(root, target, value, place);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let each = any.iter().map(|schema| undeclared(root, schema, value, place));
        return each.min_by_key(Vec::len).unwrap_or_default();
    }
    match value {
        Value::Array(items) => {
            let of = |item| undeclared(root, &schema["items"], item, place);
            items.iter().flat_map(of).collect()
        }
        Value::Object(members) => {
            let known = schema["properties"].as_object().into_iter();
            let of = |(name, member): (&String, &Value)| {
                let place = format!("{place}/{name}");
                match known.clone().find_map(|known| known.get(name)) {
                    Some(schema) => undeclared(root, schema, member, &place),
                    None if known.len() == 0 => Vec::new(),
                    None => vec![place],
                }
            };
            members.iter().flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

/// The members of the answer `said` to `operation` that `document`, OpenAPI's, does not declare. Of
/// the manifest only the members that programs read are declared.
fn undeclared_in(document: &Value, operation: Operation, said: &Value) -> Vec<String> {
    if operation == Operation::GetManifest {
        return Vec::new();
    }
    let route = operation.spec().route;
    let method = route.method.as_str().to_ascii_lowercase();
    let answers = &document["paths"][route.path][method]["responses"];
    let schema = &answers[&route.success.to_string()]["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{}", operation.as_str());
    undeclared(document, schema, said, "")
}

/// A server and the tokens of those that the script names.
fn start() -> (BlockingServer, BTreeMap<&'static str, String>) {
    let server = BlockingServer::start(SETTINGS);
    let mut tokens = BTreeMap::from([("nobody", String::new()), ("wrong", "x".to_owned())]);
    for (name, fields) in [
        ("ada", json!({ "handle": "ada", "rights": ["read", "write"] })),
        ("bob", json!({ "handle": "bob", "rights": ["read", "write"] })),
        ("cyd", json!({ "handle": "cyd", "rights": ["read", "write"] })),
        ("reader", json!({ "handle": "reader", "rights": ["read"] })),
        ("writer", json!({ "handle": "writer", "rights": ["write"] })),
        ("mod", json!({ "handle": "mod", "rights": ["read", "write", "lock"], "label": "Mo" })),
        ("vera", json!({ "handle": "vera", "rights": ["read", "write", "verify"] })),
        ("hasty", json!({ "handle": "hasty", "rights": ["read", "write"] })),
    ] {
        tokens.insert(name, server.make_token(&fields));
    }
    (server, tokens)
}

/// Goal: every operation, and every reason that both ways can give, is equal over both, and each
/// member of an answer is declared. Method: the script on three servers, over HTTP and over MCP in
/// either era; what differs by nature is made alike first. Each list has an item once.
#[test]
fn ways_in_are_equal() {
    let (http, http_tokens) = start();
    let mcp = [Revision::November2025, Revision::July2026].map(|revision| (start(), revision));
    let limits = Limits::default();
    let document =
        openapi(&OpenApiFacts { version: "0", profiles: Profiles::ALL, limits: &limits });
    let (mut operations, mut reasons) = (BTreeSet::new(), BTreeSet::new());
    for (number, step) in script().iter().enumerate() {
        let mut said = over_http(&http, &http_tokens[step.who], step);
        alike(&mut said.1);
        let reason = said.1["reason"].as_str().unwrap_or("ok");
        let what = format!("step {number}: {step:?}");
        assert_eq!(reason, step.outcome, "{what}: {}", said.1);
        reasons.insert(reason.to_owned());
        if reason == "ok" {
            if said.1["items"].as_array().is_none_or(|items| !items.is_empty()) {
                operations.insert(step.operation);
            }
            let operation = Operation::parse(step.operation).expect("an operation");
            assert_eq!(undeclared_in(&document, operation, &said.1), [""; 0], "{what}");
        }
        for ((server, tokens), revision) in &mcp {
            let mut other = over_mcp(server, &tokens[step.who], step, *revision);
            alike(&mut other.1);
            if step.arguments.get("idempotency_key").is_some_and(|key| key == "") {
                // A header over HTTP, an argument here.
                said.1["field"] = other.1["field"].clone();
            }
            assert_eq!(other, said, "{what}, {revision:?}");
        }
    }
    for operation in Operation::ALL {
        let name = operation.as_str();
        assert!(operations.contains(name), "{name} never has an answer or an item");
    }
    for reason in Reason::ALL {
        let aside = ASIDE.iter().any(|(known, why)| known == reason && !why.is_empty());
        assert_ne!(reasons.contains(reason.as_str()), aside, "{}", reason.as_str());
    }
}
