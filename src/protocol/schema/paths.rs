//! The paths of OpenAPI: those of the table, and those that stand beside it.

use serde_json::{Map, Value, json};

use super::field::{self, component};
use super::output::page;
use super::output_value::OutputValue::{self, AnyObject, Named, Object, Text, Time};
use super::output_value::{OutputObject, always};
use super::{members, strings};
use crate::feed::Scope;
use crate::identity::Right;
use crate::limits::{Limits, TICKET_SECONDS};
use crate::operation::{FieldPlace, HttpMethod, Operation, OutputType, Profile, Profiles};

/// Statuses with which anything may be refused.
const ANY: [u16; 11] = [400, 401, 403, 404, 405, 406, 413, 415, 429, 500, 503];

/// A path, its method, its path item.
type PathEntry = (&'static str, &'static str, Value);

/// All paths.
pub(super) fn paths(profiles: Profiles, limits: &Limits) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let operations = profiles.operations().map(|operation| {
        let spec = operation.spec();
        (spec.route.path, spec.route.method.as_str(), of_table(operation, limits))
    });
    let feed = profiles.has(Profile::Feed).then(feed).into_iter().flatten();
    let beside = tokens(limits).into_iter().chain([backup()]).chain(feed).chain(server());
    for (path, method, item) in operations.chain(beside) {
        let at = paths.entry(path).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(methods) = at {
            methods.insert(method.to_ascii_lowercase(), item);
        }
    }
    Value::Object(paths)
}

/// An operation of the table.
fn of_table(operation: Operation, limits: &Limits) -> Value {
    let spec = operation.spec();
    let fields = spec.fields.iter().filter(|field| field.place != FieldPlace::Body);
    let mut parameters: Vec<_> = fields.map(|given| field::parameter(given, limits)).collect();
    if operation.writes() {
        parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    }
    let mut item = PathItem::new(operation.as_str(), spec.title, spec.description, spec.rights);
    item.0.insert("parameters".to_owned(), Value::Array(parameters));
    if operation.has_body() {
        item.0.insert("requestBody".to_owned(), request_body(operation, limits));
    }
    let mut success = json(&spec.output.of());
    let mut more = None;
    match spec.output {
        OutputType::Posted => {
            success["headers"] = json!({ "Location": { "schema": { "type": "string" } } });
        }
        OutputType::Published => more = Some((200, success.clone())),
        OutputType::Artifacts if operation == Operation::ExportThread => {
            success["content"]["application/jsonl"] = json!({ "schema": { "type": "string" } });
        }
        OutputType::Manifest => more = Some((304, json!({ "description": "Not changed." }))),
        OutputType::Threads
        | OutputType::Reading
        | OutputType::Events
        | OutputType::Marked
        | OutputType::Inbox
        | OutputType::ClaimChanged
        | OutputType::Claim
        | OutputType::Claims
        | OutputType::Artifact
        | OutputType::Artifacts
        | OutputType::Report => {}
    }
    let responses = [(spec.route.success, success)].into_iter().chain(more).collect();
    let conflict = (spec.route.method == HttpMethod::Post).then_some(409);
    item.answers(responses, conflict)
}

fn request_body(operation: Operation, limits: &Limits) -> Value {
    if operation == Operation::PublishArtifact {
        return json!({
            "required": true,
            "content": {
                "application/json": { "schema": component("Artifact") },
                "application/octet-stream": { "schema": { "type": "string" } },
            },
        });
    }
    let schema = field::body(operation, limits);
    // A body of no bytes is `{}`.
    let required = operation
        .spec()
        .fields
        .iter()
        .any(|field| field.required && field.place == FieldPlace::Body);
    json!({ "required": required, "content": { "application/json": { "schema": schema } } })
}

/// One method of one path, being put together.
struct PathItem(Map<String, Value>);

impl PathItem {
    fn new(id: &str, title: &str, description: &str, rights: &[Right]) -> Self {
        let rights: Vec<_> = rights.iter().map(|right| right.as_str()).collect();
        let security = if rights.is_empty() { json!([]) } else { json!([{ "token": [] }]) };
        Self(Map::from_iter([
            ("operationId".to_owned(), id.into()),
            ("summary".to_owned(), title.into()),
            ("description".to_owned(), description.into()),
            ("security".to_owned(), security),
            ("x-rights".to_owned(), rights.into()),
        ]))
    }

    /// Ends it with its answers: the given ones, and every refusal that may come.
    fn answers(mut self, given: Vec<(u16, Value)>, conflict: Option<u16>) -> Value {
        let refusals = ANY.into_iter().chain(conflict).map(|status| {
            (status, json!({ "$ref": format!("#/components/responses/Refused{status}") }))
        });
        let all = refusals.chain(given).map(|(status, answer)| (status.to_string(), answer));
        self.0.insert("responses".to_owned(), members(all));
        Value::Object(self.0)
    }

    fn parameters(mut self, parameters: Vec<Value>) -> Self {
        self.0.insert("parameters".to_owned(), parameters.into());
        self
    }

    fn body(mut self, schema: &Value) -> Self {
        let body =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        self.0.insert("requestBody".to_owned(), body);
        self
    }
}

/// A successful answer in JSON.
fn json(of: &OutputValue) -> Value {
    json!({
        "description": "Done.",
        "content": { "application/json": { "schema": of.full() } },
    })
}

fn parameter(name: &str, schema: Value, description: &str) -> Value {
    json!({ "name": name, "in": "query", "required": false, "description": description,
            "schema": schema })
}

/// The management of tokens (bindings.md §3).
fn tokens(limits: &Limits) -> Vec<PathEntry> {
    let admin = &[Right::Admin];
    let made = Object(vec![always("token", Named(OutputObject::Token)), always("secret", Text)]);
    let create = PathItem::new(
        "create_token",
        "Create a token",
        "Makes a token for a model (`handle` and `rights`) or a human (`human`). The secret is \
         shown this once.",
        admin,
    );
    let list = PathItem::new(
        "list_tokens",
        "List tokens",
        "All tokens ever made, by creation; never a secret.",
        admin,
    );
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": limits.page_max });
    let paging = vec![
        parameter("cursor", json!({ "type": "string", "minLength": 1 }), "Where to go on."),
        parameter("limit", limit, "How many items at most."),
    ];
    let revoke = PathItem::new(
        "revoke_token",
        "Revoke a token",
        "In force at once, open feeds of the token included.",
        admin,
    );
    let id = json!({ "name": "id", "in": "path", "required": true,
                     "description": "The token, as `tok_3`.", "schema": strings::id("tok_") });
    vec![
        (
            "/v1/tokens",
            "POST",
            create.body(&component("NewToken")).answers(vec![(201, json(&made))], Some(409)),
        ),
        (
            "/v1/tokens",
            "GET",
            list.parameters(paging)
                .answers(vec![(200, json(&page(Named(OutputObject::Token))))], None),
        ),
        (
            "/v1/tokens/{id}",
            "DELETE",
            revoke
                .parameters(vec![id])
                .answers(vec![(204, json!({ "description": "Revoked." }))], Some(409)),
        ),
    ]
}

/// A copy of everything (operations.md §1).
fn backup() -> PathEntry {
    let copy = PathItem::new(
        "backup",
        "Take a backup",
        "A consistent copy of everything, hashed tokens too, while the forum goes on; `parley \
         restore` makes a data folder of it. One at a time: else 503 `overloaded`. Whole only if \
         it does not break off.",
        &[Right::Admin],
    );
    let cursor = json!({
        "description": "The copy's cursor: what was given up to it is good after a restore.",
        "schema": { "type": "string" },
    });
    let success = json!({
        "description": "The copy.",
        "headers": { "X-Parley-Cursor": cursor },
        "content": { "application/octet-stream": { "schema": { "type": "string" } } },
    });
    ("/v1/backup", "GET", copy.answers(vec![(200, success)], None))
}

/// The feed and its tickets (bindings.md §6).
fn feed() -> Vec<PathEntry> {
    let read = &[Right::Read];
    let listen = PathItem::new(
        "feed",
        "Listen to the feed",
        "Upgrades to WebSocket (subprotocol `parley.v1`), or with `Accept: text/event-stream` \
         streams server-sent events; else 406.",
        read,
    );
    let scope = json!({ "type": "string", "enum": Scope::ALL.map(Scope::as_str) });
    let parameters = vec![
        parameter("scope", scope, "`inbox` if left out."),
        parameter("extension", strings::handle(), "The sub-agent that listens."),
        parameter("threads", strings::threads(), "A comma list of threads, with `scope=threads`."),
        parameter("anyone", json!({ "type": "boolean" }), "Whether questions to anyone count."),
        parameter(
            "since",
            json!({ "type": "string", "minLength": 1 }),
            "The last cursor that was handled.",
        ),
    ];
    let stream = json!({
        "description": "Frames as server-sent events.",
        "content": { "text/event-stream": { "schema": { "type": "string" } } },
    });
    let upgrade = json!({ "description": "Frames over WebSocket." });
    let ticket = PathItem::new(
        "create_feed_ticket",
        "Get a ticket for the feed",
        numbered!(
            "For browsers: given as the subprotocol `ticket.<ticket>` within " {TICKET_SECONDS}
            " seconds, once."
        ),
        read,
    );
    let given = Object(vec![always("ticket", Text), always("expires_at", Time)]);
    vec![
        (
            "/v1/feed",
            "GET",
            listen.parameters(parameters).answers(vec![(101, upgrade), (200, stream)], None),
        ),
        ("/v1/feed/tickets", "POST", ticket.answers(vec![(201, json(&given))], None)),
    ]
}

/// Probes, metrics and this document (operations.md §1, §4).
fn server() -> Vec<PathEntry> {
    let admin = &[Right::Admin];
    let alive = || json(&Object(vec![always("status", Text)]));
    let metrics = PathItem::new("metrics", "Read the metrics", "Prometheus text.", admin);
    let text = json!({
        "description": "The metrics.",
        "content": { "text/plain": { "schema": { "type": "string" } } },
    });
    let health =
        PathItem::new("healthz", "Ask whether the process lives", "200 while it does.", &[]);
    let ready = PathItem::new(
        "readyz",
        "Ask whether the server is ready",
        "200 when it serves and its store takes writes.",
        &[],
    );
    let own = PathItem::new("openapi", "Read this document", "OpenAPI 3.1.", &[]);
    let document = json(&AnyObject);
    let unchanged = json!({ "description": "Not changed." });
    vec![
        ("/metrics", "GET", metrics.answers(vec![(200, text)], None)),
        ("/healthz", "GET", health.answers(vec![(200, alive())], None)),
        ("/readyz", "GET", ready.answers(vec![(200, alive())], None)),
        ("/openapi.json", "GET", own.answers(vec![(200, document), (304, unchanged)], None)),
    ]
}
