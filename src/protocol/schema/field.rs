//! The fields of operations as OpenAPI describes them: everything that HTTP takes.

use serde_json::{Value, json};

use super::strings;
use super::{closed, with};
use crate::act::{Kind, ParentRule};
use crate::claim::EvidenceKind;
use crate::limits::{
    BODY_MAX, COMMIT_MAX, COMMIT_MIN, HEX_256, HEX_512, Limits, NOTE_MAX, PROVENANCE_MAX, REF_MAX,
    SUPERSEDES_MAX,
};
use crate::operation::{FieldPlace, FieldSpec, FieldType, Operation};

/// A parameter of a path or a query.
pub(super) fn parameter(field: &FieldSpec, limits: &Limits) -> Value {
    let schema = match field.field_type {
        FieldType::Thread => strings::id("th_"),
        FieldType::Message => strings::id("msg_"),
        FieldType::Claim => strings::id("cl_"),
        other => value(other, limits),
    };
    json!({
        "name": field.name,
        "in": if field.is_in_path() { "path" } else { "query" },
        "required": field.required,
        "description": field.doc,
        "schema": schema,
    })
}

/// A member of a body.
fn member(field: &FieldSpec, limits: &Limits) -> Value {
    let schema = value(field.field_type, limits);
    // Null is absent, so whatever may be absent may be null.
    let schema = if field.required { schema } else { nullable(schema) };
    with(schema, "description", field.doc)
}

/// `schema` or null.
pub(super) fn nullable(schema: Value) -> Value {
    if schema == json!({}) {
        return schema;
    }
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// A whole body but an artifact.
pub(super) fn body(operation: Operation, limits: &Limits) -> Value {
    if operation == Operation::PostMessage {
        return envelope(limits);
    }
    let fields = operation.spec().fields.iter().filter(|field| field.place == FieldPlace::Body);
    let required: Vec<_> =
        fields.clone().filter(|field| field.required).map(|field| field.name).collect();
    let properties = fields.map(|field| {
        let schema = member(field, limits);
        let proves = field.required && field.field_type == FieldType::Evidence;
        (field.name, if proves { with(schema, "contains", proving()) } else { schema })
    });
    closed(properties, &required)
}

/// A piece of evidence that may stand alone as proof.
fn proving() -> Value {
    let kinds = EvidenceKind::ALL.into_iter().filter(|kind| kind.proves());
    let kinds: Vec<_> = kinds.map(EvidenceKind::as_str).collect();
    json!({ "type": "object", "properties": { "kind": { "enum": kinds } }, "required": ["kind"] })
}

/// The envelope, in the three forms that its members have to each other: an opening, what is said
/// in a thread, and a retraction.
fn envelope(limits: &Limits) -> Value {
    let fields = Operation::PostMessage.spec().fields;
    let form = |kinds: Vec<&str>, absent: &[&str], required: &[&str]| {
        let properties = fields.iter().map(|field| {
            let schema = match field.name {
                "kind" => json!({ "type": "string", "enum": kinds, "description": field.doc }),
                name if absent.contains(&name) => json!({ "type": "null" }),
                name if required.contains(&name) => {
                    with(value(field.field_type, limits), "description", field.doc)
                }
                _ => member(field, limits),
            };
            (field.name, schema)
        });
        closed(properties, required)
    };
    let words = |fits: fn(Kind) -> bool| {
        let kinds = Kind::ALL.into_iter().filter(|kind| fits(*kind));
        kinds.map(Kind::as_str).collect()
    };
    let spoken = |kind: Kind| kind.spec().parent != ParentRule::Required;
    let retraction = |kind: Kind| kind.spec().parent == ParentRule::Required;
    json!({ "oneOf": [
        form(words(Kind::opens), &["thread", "parent"], &["kind", "body"]),
        form(words(spoken), &[], &["kind", "body", "thread"]),
        form(words(retraction), &[], &["kind", "body", "thread", "parent"]),
    ] })
}

fn value(field_type: FieldType, limits: &Limits) -> Value {
    match field_type {
        FieldType::Thread => component("ThreadId"),
        FieldType::Message => component("MessageId"),
        FieldType::Claim => component("ClaimId"),
        FieldType::ArtifactId => strings::artifact_id(),
        // The pattern of what must be visible is long: it stands in one place.
        FieldType::Text { min: 1, max: BODY_MAX } => component("Text"),
        FieldType::Text { min, max } => strings::text(min, max),
        FieldType::Extension => strings::handle(),
        FieldType::Identity => strings::identity(),
        FieldType::Bool => json!({ "type": "boolean" }),
        FieldType::Integer { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max.value(limits) })
        }
        FieldType::Word(words) => json!({ "type": "string", "enum": words.list() }),
        FieldType::Cursor => strings::cursor(),
        FieldType::Evidence => json!({
            "type": "array",
            "maxItems": limits.evidence_max,
            "items": component("EvidenceGiven"),
        }),
        FieldType::Claims => json!({
            "type": "array",
            "maxItems": SUPERSEDES_MAX,
            "uniqueItems": true,
            "items": component("ClaimId"),
        }),
        FieldType::From => component("From"),
        FieldType::Provenance => component("Provenance"),
        FieldType::Future => strings::time(),
        FieldType::Artifact => component("Artifact"),
        FieldType::Ignored => json!({}),
    }
}

/// A reference to one of the components.
pub(super) fn component(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The components that fields refer to.
pub(super) fn components() -> Vec<(&'static str, Value)> {
    let id = |prefix| {
        json!({ "oneOf": [
            strings::id(prefix),
            { "type": "integer", "minimum": 1, "maximum": crate::ids::ID_END - 1 },
        ] })
    };
    let note = || nullable(strings::text(0, PROVENANCE_MAX));
    let from = [("extension", nullable(strings::handle())), ("identity", json!({}))];
    vec![
        ("ThreadId", id("th_")),
        ("MessageId", id("msg_")),
        ("ClaimId", id("cl_")),
        ("Text", strings::text(1, BODY_MAX)),
        ("From", closed(from, &[])),
        ("Provenance", closed([("model", note()), ("client", note())], &[])),
        ("EvidenceGiven", evidence()),
    ]
}

/// Evidence as clients send it: the form of `ref` depends on the kind.
fn evidence() -> Value {
    let of = |kinds: &[EvidenceKind], reference: Value| {
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let properties = [
            ("kind", json!({ "type": "string", "enum": kinds })),
            ("ref", reference),
            ("note", nullable(strings::text(0, NOTE_MAX))),
        ];
        closed(properties, &["kind", "ref"])
    };
    let digests = format!("^((sha256|blake3):[0-9a-f]{{{HEX_256}}}|sha512:[0-9a-f]{{{HEX_512}}})$");
    let commit = format!("^[0-9a-f]{{{COMMIT_MIN},{COMMIT_MAX}}}$");
    let url = "^[Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9.-]+(:[0-9]+)?([/?#][!-~]*)?$";
    let free =
        [EvidenceKind::Log, EvidenceKind::Reproducer, EvidenceKind::Note, EvidenceKind::Other];
    json!({ "oneOf": [
        of(&[EvidenceKind::Url], strings::reference(url)),
        of(&[EvidenceKind::Hash], strings::reference(&digests)),
        of(&[EvidenceKind::Artifact], strings::artifact_id()),
        of(&[EvidenceKind::Commit], strings::reference(&commit)),
        of(&free, strings::text(1, REF_MAX)),
    ] })
}
