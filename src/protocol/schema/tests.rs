use serde_json::{Value, json};

use super::*;
use crate::limits::Limits;
use crate::manifest::{ManifestFacts, manifest};
use crate::operation::{Operation, OutputType, Profiles};
use crate::refusal::{Reason, Refusal};

/// What is wrong with `value` by `schema`, of the keywords that these schemas use; `root` holds
/// what references point at.
fn fault(value: &Value, schema: &Value, root: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect(reference);
        return fault(value, target, root);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = any.iter().any(|schema| fault(value, schema, root).is_none());
        return (!fits).then(|| format!("{value} fits none of {schema}"));
    }
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        other => panic!("no type, or an unknown one: {other:?}"),
    };
    if !fits || schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{value} does not fit {schema}"));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    if let Some(name) = required.filter_map(Value::as_str).find(|name| value.get(name).is_none()) {
        return Some(format!("{name} is missing in {value}"));
    }
    let members = value.as_object().into_iter().flatten();
    let members =
        members.filter_map(|(name, value)| Some((value, schema["properties"].get(name)?)));
    let items = value.as_array().into_iter().flatten().map(|item| (item, &schema["items"]));
    members.chain(items).find_map(|(value, schema)| fault(value, schema, root))
}

fn document() -> Value {
    let limits = Limits::default();
    openapi(&OpenApiFacts { version: "0", profiles: Profiles::ALL, limits: &limits })
}

fn participant() -> Value {
    json!({ "identity": "local:ada", "extension": null })
}

fn thread() -> Value {
    json!({
        "id": "th_1", "number": 1, "created_at": "t", "updated_at": "t",
        "creator": participant(), "author_kind": "llm", "subject": "s", "state": "open",
        "state_origin": "llm", "state_confirmed_at": null, "state_label": null, "locked": false,
        "awaiting": { "message": "msg_1", "due": participant(), "since": "t" },
        "turn": "anyone", "message_count": 1, "claim_count": 0, "cursor": "c",
    })
}

fn message() -> Value {
    json!({
        "id": "msg_1", "thread": "th_1", "parent": null, "kind": "ask", "from": participant(),
        "author_kind": "human", "label": null, "body": "b",
        "provenance": { "model": "m", "client": null }, "created_at": "t", "awaiting": null,
        "retracted": { "by": participant(), "at": "t", "message": "msg_2" },
    })
}

fn event() -> Value {
    json!({
        "id": "ev_1", "thread": "th_1", "from": null, "to": "open", "origin": "user",
        "confirmed": true, "label": null, "by": participant(), "at": "t", "message": null,
        "reason": null,
    })
}

fn claim() -> Value {
    let evidence = json!([{ "kind": "log", "ref": "r", "note": null }]);
    json!({
        "id": "cl_1", "thread": "th_1", "statement": "s", "author": participant(),
        "author_kind": "llm", "created_at": "t", "status": "refuted", "expired": false,
        "valid_until": null, "evidence": evidence,
        "attestations": [{ "by": participant(), "at": "t", "evidence": evidence, "seal": true }],
        "refutation": { "by": participant(), "at": "t", "evidence": evidence },
        "supersedes": ["cl_2"], "superseded_by": null,
    })
}

fn artifact() -> Value {
    json!({
        "protocol_version": "0.1", "artifact_id": "i", "artifact_type": "CLAIM",
        "payload": { "statement": "s" }, "references": [],
    })
}

fn page(item: Value) -> Value {
    json!({ "items": [item], "cursor": "c", "more": false })
}

/// An answer of every operation.
fn sample(output: OutputType) -> Value {
    match output {
        OutputType::Manifest => {
            let facts = ManifestFacts {
                version: "0",
                realm: "local",
                instance: "i",
                era: 1,
                profiles: Profiles::ALL,
                limits: &Limits::default(),
            };
            let bytes =
                manifest(&facts, crate::command::Language::En, crate::command::ManifestPart::All);
            serde_json::from_slice(&bytes).expect("JSON")
        }
        OutputType::Posted => json!({ "message": message(), "thread": thread() }),
        OutputType::Threads => page(thread()),
        OutputType::Reading => {
            let reply = with(message(), "replies", json!([]));
            with(thread(), "messages", json!([with(message(), "replies", json!([reply]))]))
        }
        OutputType::Events => page(event()),
        OutputType::Marked => json!({ "thread": thread(), "event": null }),
        OutputType::Inbox => page(json!({ "thread": thread(), "message": message() })),
        OutputType::ClaimChanged => json!({ "claim": claim() }),
        OutputType::Claim => claim(),
        OutputType::Claims => page(claim()),
        OutputType::Published => json!({ "artifact_id": "i", "unresolved": ["j"] }),
        OutputType::Artifact => artifact(),
        OutputType::Artifacts => page(artifact()),
        OutputType::Report => json!({
            "ok": false, "targets": ["i"], "strict": true, "artifact_count": 1, "depth": 0,
            "failures": [{ "class": "c", "artifact_id": "i", "pointer": "", "detail": "d" }],
            "failure_count": 1,
            "objections": [{ "artifact_id": "i", "blocking": true, "disposition": null }],
            "later_objections": [], "warnings": [],
        }),
    }
}

/// Goal: what is answered fits what is declared, for tools and in OpenAPI, and a member that is
/// declared must be there. Method: a sample of every answer against both schemas; then each of its
/// members is taken away.
#[test]
fn answers_fit() {
    let document = document();
    for operation in Operation::ALL {
        let (row, answer) = (operation.spec(), sample(operation.spec().output));
        let portable = output_schema(operation);
        let full = row.output.of().full();
        for (schema, root) in [(&portable, &Value::Null), (&full, &document)] {
            assert_eq!(fault(&answer, schema, root), None, "{}", operation.as_str());
            for name in schema["required"].as_array().into_iter().flatten() {
                let mut less = answer.clone();
                less.as_object_mut().expect("object").remove(name.as_str().expect("name"));
                assert!(fault(&less, schema, root).is_some(), "{} {name}", operation.as_str());
            }
        }
    }
    let mut refusal = Refusal::body("from/extension".to_owned(), "d");
    refusal.retry_after_ms = Some(1);
    for reason in Reason::ALL {
        refusal.reason = *reason;
        let problem = serde_json::to_value(&refusal).expect("JSON");
        let schema = json!({ "$ref": "#/components/schemas/Problem" });
        assert_eq!(fault(&problem, &schema, &document), None);
    }
}

/// Goal: schemas of tools are such as every client takes (mcp.md §4). Method: every node of every
/// schema is checked.
#[test]
fn tools_are_portable() {
    let limits = Limits::default();
    for operation in Operation::ALL {
        let name = operation.as_str();
        let shown = tool(operation, &limits);
        let (input, output) = (&shown["inputSchema"], &shown["outputSchema"]);
        for schema in [input, output] {
            assert_eq!(schema["type"], "object", "{name}");
            portable(schema, name);
        }
        assert_eq!(input["additionalProperties"], false, "{name}");
        let declared = input["properties"].as_object().expect(name);
        assert_eq!(declared.contains_key("idempotency_key"), operation.writes(), "{name}");
        assert!(declared.values().all(|schema| schema["description"].is_string()), "{name}");
        let hints = &shown["annotations"];
        assert_eq!(hints["readOnlyHint"], !operation.writes(), "{name}");
        assert_eq!(hints["idempotentHint"], !operation.writes(), "{name}");
        assert_eq!(
            (&hints["destructiveHint"], &hints["openWorldHint"]),
            (&json!(false), &json!(false))
        );
    }
}

/// One schema and all within it.
fn portable(schema: &Value, name: &str) {
    let node = schema.as_object().expect(name);
    assert!(node["type"].is_string(), "{name}: one type: {schema}");
    for banned in ["oneOf", "anyOf", "allOf", "not", "$ref", "$defs", "format", "const"] {
        assert!(!node.contains_key(banned), "{name}: {banned} in {schema}");
    }
    if node["type"] == "array" {
        portable(node.get("items").expect(name), name);
    }
    let properties = node.get("properties").and_then(Value::as_object);
    for required in node.get("required").and_then(Value::as_array).into_iter().flatten() {
        let known =
            properties.is_some_and(|known| known.contains_key(required.as_str().expect(name)));
        assert!(known, "{name}: {required} is required and not declared");
    }
    for property in properties.into_iter().flat_map(|properties| properties.values()) {
        portable(property, name);
    }
}

/// Goal: the OpenAPI document is whole: every operation is there, every reference leads somewhere,
/// every reason stands at its status. Method: the document is walked.
#[test]
fn openapi_is_whole() {
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    let ids = paths.values().flat_map(|item| item.as_object().expect("item").values());
    let ids: Vec<_> = ids.map(|item| item["operationId"].as_str().expect("id")).collect();
    for operation in Operation::ALL {
        assert!(ids.contains(&operation.as_str()), "{}", operation.as_str());
    }
    let beside = ["create_token", "revoke_token", "feed", "create_feed_ticket", "healthz"];
    assert!(beside.iter().all(|id| ids.contains(id)));
    let mut references = Vec::new();
    walk(&document, &mut references);
    assert!(references.len() > 100);
    for reference in references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    for reason in Reason::ALL {
        let response = &document["components"]["responses"][format!("Refused{}", reason.status())];
        assert!(
            response["description"].as_str().is_some_and(|text| text.contains(reason.as_str()))
        );
    }
    let core = openapi(&OpenApiFacts {
        version: "0",
        profiles: Profiles::CORE,
        limits: &Limits::default(),
    });
    assert!(
        core["paths"].get("/v1/feed").is_none() && core["paths"].get("/v1/artifacts").is_none()
    );
}

fn walk<'v>(value: &'v Value, references: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|value| walk(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| walk(value, references)),
        _ => {}
    }
}
