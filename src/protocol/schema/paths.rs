//! The paths of OpenAPI: those of the table, and those that stand beside it.

use serde_json::{Map, Value, json};

use super::field::{self, component};
use super::output::{page, texts};
use super::output_value::OutputValue::{self, AnyObject, Named, Object, Text, Time};
use super::output_value::{OutputObject, always};
use super::{strings, with};
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
    let operations = profiles.operations().map(|operation| of_table(operation, limits));
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
fn of_table(operation: Operation, limits: &Limits) -> PathEntry {
    let spec = operation.spec();
    let fields = spec.fields.iter().filter(|field| field.place != FieldPlace::Body);
    let mut parameters: Vec<_> = fields.map(|given| field::parameter(given, limits)).collect();
    if operation.writes() {
        parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    }
    let way_in = (spec.route.method.as_str(), spec.route.path, operation.as_str());
    let mut item = PathItem::new(way_in, spec.title, spec.description, spec.rights)
        .with("parameters", parameters);
    if operation.has_body() {
        item = item.with("requestBody", request_body(operation, limits));
    }
    let mut success = json(&spec.output.of());
    let mut more = None;
    match spec.output {
        OutputType::Posted => {
            success["headers"] = json!({ "Location": { "schema": string() } });
        }
        OutputType::Published => more = Some((200, success.clone())),
        OutputType::Artifacts if operation == Operation::ExportThread => {
            success["content"]["application/jsonl"] = json!({ "schema": string() });
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
    let responses = [(spec.route.success, success)].into_iter().chain(more);
    let conflict = (spec.route.method == HttpMethod::Post).then_some(409);
    item.answers(responses, conflict)
}

fn request_body(operation: Operation, limits: &Limits) -> Value {
    if operation == Operation::PublishArtifact {
        return json!({
            "required": true,
            "content": {
                "application/json": { "schema": component("Artifact") },
                "application/octet-stream": { "schema": string() },
            },
        });
    }
    let schema = field::body(operation, limits);
    // A body of no bytes is `{}`.
    let mut fields = operation.spec().fields.iter();
    let required = fields.any(|field| field.required && field.place == FieldPlace::Body);
    json!({ "required": required, "content": { "application/json": { "schema": schema } } })
}

/// One method of one path, being put together.
struct PathItem {
    path: &'static str,
    method: &'static str,
    members: Map<String, Value>,
}

impl PathItem {
    fn new(
        (method, path, id): (&'static str, &'static str, &str),
        title: &str,
        description: &str,
        rights: &[Right],
    ) -> Self {
        let rights: Vec<_> = rights.iter().map(|right| right.as_str()).collect();
        let security = if rights.is_empty() { json!([]) } else { json!([{ "token": [] }]) };
        let item = Self { path, method, members: Map::new() };
        item.with("operationId", id)
            .with("summary", title)
            .with("description", description)
            .with("security", security)
            .with("x-rights", rights)
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Ends it with its answers: the given ones, and every refusal that may come.
    fn answers(
        self,
        given: impl IntoIterator<Item = (u16, Value)>,
        conflict: Option<u16>,
    ) -> PathEntry {
        let refusals = ANY.into_iter().chain(conflict).map(|status| {
            (status, json!({ "$ref": format!("#/components/responses/Refused{status}") }))
        });
        let all = refusals.chain(given).map(|(status, answer)| (status.to_string(), answer));
        let Self { path, method, members } = self.with("responses", super::members(all));
        (path, method, Value::Object(members))
    }
}

/// An answer of one media type.
fn answer(description: &str, media_type: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { media_type: { "schema": schema } } })
}

/// A successful answer in JSON.
fn json(of: &OutputValue) -> Value {
    answer("Done.", "application/json", of.full())
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn parameter(name: &str, schema: Value, description: &str) -> Value {
    json!({ "name": name, "in": "query", "required": false, "description": description,
            "schema": schema })
}

/// The management of tokens (bindings.md §3).
fn tokens(limits: &Limits) -> [PathEntry; 3] {
    let admin = &[Right::Admin];
    let made = Object(vec![always("token", Named(OutputObject::Token)), always("secret", Text)]);
    let body = json!({ "application/json": { "schema": component("NewToken") } });
    let create = PathItem::new(
        ("POST", "/v1/tokens", "create_token"),
        "Create a token",
        "Makes a token for a model (`handle` and `rights`) or a human (`human`). The secret is \
         shown this once.",
        admin,
    )
    .with("requestBody", json!({ "required": true, "content": body }))
    .answers([(201, json(&made))], Some(409));
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": limits.page_max });
    let list = PathItem::new(
        ("GET", "/v1/tokens", "list_tokens"),
        "List tokens",
        "All tokens ever made, by creation; never a secret.",
        admin,
    )
    .with(
        "parameters",
        vec![
            parameter("cursor", strings::cursor(), "Where to go on."),
            parameter("limit", limit, "How many items at most."),
        ],
    )
    .answers([(200, json(&page(Named(OutputObject::Token))))], None);
    let id = json!({ "name": "id", "in": "path", "required": true,
                     "description": "The token, as `tok_3`.", "schema": strings::id("tok_") });
    let revoke = PathItem::new(
        ("DELETE", "/v1/tokens/{id}", "revoke_token"),
        "Revoke a token",
        "In force at once, open feeds of the token included.",
        admin,
    )
    .with("parameters", vec![id])
    .answers([(204, json!({ "description": "Revoked." }))], Some(409));
    [create, list, revoke]
}

/// A copy of everything (operations.md §1).
fn backup() -> PathEntry {
    let copy = answer("The copy.", "application/octet-stream", string());
    let cursor = json!({
        "description": "The copy's cursor: what was given up to it is good after a restore.",
        "schema": string(),
    });
    PathItem::new(
        ("GET", "/v1/backup", "backup"),
        "Take a backup",
        "A consistent copy of everything, hashed tokens too, while the forum goes on; `parley \
         restore` makes a data folder of it. One at a time: else 503 `overloaded`. Whole only if \
         it does not break off.",
        &[Right::Admin],
    )
    .answers([(200, with(copy, "headers", json!({ "X-Parley-Cursor": cursor })))], None)
}

/// The feed and its tickets (bindings.md §6).
fn feed() -> [PathEntry; 2] {
    let read = &[Right::Read];
    let scope = json!({ "type": "string", "enum": Scope::ALL.map(Scope::as_str) });
    let stream = answer("Frames as server-sent events.", "text/event-stream", string());
    let listen = PathItem::new(
        ("GET", "/v1/feed", "feed"),
        "Listen to the feed",
        "Upgrades to WebSocket (subprotocol `parley.v1`), or with `Accept: text/event-stream` \
         streams server-sent events; else 406.",
        read,
    )
    .with(
        "parameters",
        vec![
            parameter("scope", scope, "`inbox` if left out."),
            parameter("extension", strings::handle(), "The sub-agent that listens."),
            parameter(
                "threads",
                strings::threads(),
                "A comma list of threads, with `scope=threads`.",
            ),
            parameter("anyone", json!({ "type": "boolean" }), "Whether questions to anyone count."),
            parameter("since", strings::cursor(), "The last cursor that was handled."),
        ],
    )
    .answers([(101, json!({ "description": "Frames over WebSocket." })), (200, stream)], None);
    let given = Object(vec![always("ticket", Text), always("expires_at", Time)]);
    let ticket = PathItem::new(
        ("POST", "/v1/feed/tickets", "create_feed_ticket"),
        "Get a ticket for the feed",
        numbered!(
            "For browsers: given as the subprotocol `ticket.<ticket>` within " {TICKET_SECONDS}
            " seconds, once."
        ),
        read,
    )
    .answers([(201, json(&given))], None);
    [listen, ticket]
}

/// Probes, metrics and this document (operations.md §1, §4).
fn server() -> [PathEntry; 4] {
    let alive = json(&texts(["status"]));
    let metrics = answer("The metrics.", "text/plain", string());
    let unchanged = json!({ "description": "Not changed." });
    let plain = |path, id, title, description, rights: &[Right], success| {
        let item = PathItem::new(("GET", path, id), title, description, rights);
        item.answers([(200, success)], None)
    };
    let live = "Ask whether the process lives";
    let ready = "Ask whether the server is ready";
    let takes = "200 when it serves and its store takes writes.";
    let own = PathItem::new(
        ("GET", "/openapi.json", "openapi"),
        "Read this document",
        "OpenAPI 3.1.",
        &[],
    );
    [
        plain(
            "/metrics",
            "metrics",
            "Read the metrics",
            "Prometheus text.",
            &[Right::Admin],
            metrics,
        ),
        plain("/healthz", "healthz", live, "200 while it does.", &[], alive.clone()),
        plain("/readyz", "readyz", ready, takes, &[], alive),
        own.answers([(200, json(&AnyObject)), (304, unchanged)], None),
    ]
}
