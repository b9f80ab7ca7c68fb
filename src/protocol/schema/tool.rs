//! MCP tools (mcp.md §4): schemas that every client takes.

use serde_json::{Value, json};

use super::{closed, members, with};
use crate::arguments::KEY_ARGUMENT;
use crate::claim::EvidenceKind;
use crate::limits::{
    EXTENSION_MAX, KEY_MAX, Limits, NOTE_MAX, PROVENANCE_MAX, REF_MAX, SUPERSEDES_MAX,
};
use crate::operation::{FieldSpec, FieldType, Operation};

/// The tool of an operation: name, title, description, schemas, annotations.
pub fn tool(operation: Operation, limits: &Limits) -> Value {
    let spec = operation.spec();
    json!({
        "name": operation.as_str(),
        "title": spec.title,
        "description": spec.description,
        "inputSchema": input_schema(operation, limits),
        "outputSchema": output_schema(operation),
        "annotations": annotations(operation),
    })
}

/// The hints of a tool: readers change nothing and may be repeated; writers add.
pub fn annotations(operation: Operation) -> Value {
    let reads = !operation.writes();
    json!({
        "title": operation.spec().title,
        "readOnlyHint": reads,
        "destructiveHint": false,
        "idempotentHint": reads,
        "openWorldHint": false,
    })
}

/// The schema of a tool's arguments: an object of known properties, each of one type.
pub fn input_schema(operation: Operation, limits: &Limits) -> Value {
    let fields =
        operation.spec().fields.iter().filter(|field| field.field_type != FieldType::Ignored);
    let required: Vec<_> =
        fields.clone().filter(|field| field.required).map(|field| field.name).collect();
    let fields = fields.map(|field| (field.name, property(field, limits)));
    let key = operation.writes().then(|| {
        let key = json!({
            "type": "string",
            "minLength": 1,
            "maxLength": KEY_MAX,
            "description": numbered!(
                "A fresh key for each action, 1 to " {KEY_MAX} " visible ASCII characters: a \
                 repeat with the same key and the same arguments does nothing twice."
            ),
        });
        (KEY_ARGUMENT, key)
    });
    closed(fields.chain(key), &required)
}

/// The members of a problem object, and `from`: clients validate refusals against a tool's
/// `outputSchema` and hide those that do not fit (mcp.md §4).
const UNDECLARED: [&str; 15] = [
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
];

/// The schema of a tool's result, which a refusal fits too. Members that can be null or have two
/// types are not declared, nor are, at the root, those of [`UNDECLARED`] and `from`.
pub fn output_schema(operation: Operation) -> Value {
    let whole = operation.spec().output.of().portable();
    let declared = whole.as_ref().and_then(|schema| schema["properties"].as_object());
    let declared = declared.into_iter().flatten();
    let declared = declared.filter(|(name, _)| *name != "from" && !UNDECLARED.contains(&&***name));
    let properties = declared.map(|(name, schema)| (name.clone(), schema.clone()));
    json!({ "type": "object", "properties": members(properties) })
}

fn property(field: &FieldSpec, limits: &Limits) -> Value {
    let schema = match field.field_type {
        FieldType::Thread
        | FieldType::Message
        | FieldType::Claim
        | FieldType::ArtifactId
        | FieldType::Identity
        | FieldType::Cursor
        | FieldType::Future => json!({ "type": "string" }),
        FieldType::Text { min, max } => text(min, max),
        FieldType::Extension => text(1, EXTENSION_MAX),
        FieldType::Bool => json!({ "type": "boolean" }),
        FieldType::Integer { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max.value(limits) })
        }
        FieldType::Word(words) => json!({ "type": "string", "enum": words.list() }),
        FieldType::Evidence => evidence(field.required, limits),
        FieldType::Claims => json!({
            "type": "array",
            "maxItems": SUPERSEDES_MAX,
            "items": { "type": "string" },
        }),
        FieldType::From => closed([("extension", text(1, EXTENSION_MAX))], &[]),
        FieldType::Provenance => {
            closed([("model", text(0, PROVENANCE_MAX)), ("client", text(0, PROVENANCE_MAX))], &[])
        }
        FieldType::Artifact | FieldType::Ignored => json!({ "type": "object" }),
    };
    with(schema, "description", field.doc)
}

/// Pieces of evidence; where they are required there is at least one.
fn evidence(required: bool, limits: &Limits) -> Value {
    let kinds = EvidenceKind::ALL.map(EvidenceKind::as_str);
    let piece = closed(
        [
            ("kind", json!({ "type": "string", "enum": kinds })),
            ("ref", text(1, REF_MAX)),
            ("note", text(0, NOTE_MAX)),
        ],
        &["kind", "ref"],
    );
    json!({
        "type": "array",
        "minItems": usize::from(required),
        "maxItems": limits.evidence_max,
        "items": piece,
    })
}

fn text(min: usize, max: usize) -> Value {
    json!({ "type": "string", "minLength": min, "maxLength": max })
}
