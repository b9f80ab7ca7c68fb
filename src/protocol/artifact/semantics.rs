//! The semantics of artifacts (`artifacts.md` §2).

use std::borrow::Cow;

use serde::Serialize;

use super::content::{DecisionContent, Disposition, ProvenanceClass, Status, TerminationState};
use super::{
    ArtifactFault, ArtifactReference, ArtifactType, Canonical, Content, Identifier, REFERENCES_MAX,
    Relation, ViolationClass,
};
use crate::json::{JsonObject, JsonValue, token};
use crate::text::is_visible;

/// The one version there is.
pub const PROTOCOL_VERSION: &str = "0.1";

/// A missing or wrong member of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// `semantic_violation`, `unsupported_version`, `limit_exceeded`, or a class of §1.
    #[serde(skip)]
    pub class: ViolationClass,
    /// An RFC 6901 JSON Pointer to the missing or wrong member.
    pub pointer: String,
    /// A sentence for people.
    pub detail: Cow<'static, str>,
}

impl From<ArtifactFault> for Violation {
    fn from(ArtifactFault { class, pointer, detail }: ArtifactFault) -> Self {
        Self { class, pointer, detail }
    }
}

/// The findings of an examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// The content, as far as it is well formed.
    pub content: Content,
    /// Every violation, in the order of `artifacts.md` §2; none if the artifact is valid.
    pub violations: Vec<Violation>,
    /// Warnings, which do not make it invalid.
    pub warnings: Vec<ViolationClass>,
}

/// Examines an artifact whose identifier has been verified.
///
/// A string in `protocol_version` other than `0.1` is the only violation then: the rules of
/// other versions are unknown. Over [`REFERENCES_MAX`] references are `limit_exceeded`.
pub fn examine(canonical: &Canonical) -> Examination {
    let mut examiner = Examiner {
        body: canonical.body(),
        content: Content::default(),
        violations: Vec::new(),
        warnings: Vec::new(),
    };
    examiner.artifact();
    let Examiner { content, violations, warnings, .. } = examiner;
    Examination { content, violations, warnings }
}

/// The string, if it shows something.
fn visible_text(value: &JsonValue) -> Option<&str> {
    value.as_str().filter(|text| is_visible(text))
}

/// The pointer to a member of the object at `pointer`.
fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", token(name))
}

struct Examiner<'a> {
    body: &'a JsonObject,
    content: Content,
    violations: Vec<Violation>,
    warnings: Vec<ViolationClass>,
}

impl<'a> Examiner<'a> {
    fn violation(&mut self, pointer: impl Into<String>, detail: &'static str) {
        let class = ViolationClass::SemanticViolation;
        let (pointer, detail) = (pointer.into(), detail.into());
        self.violations.push(Violation { class, pointer, detail });
    }

    fn artifact(&mut self) {
        let is_supported = self.version();
        let artifact_type = self.body.get("artifact_type").and_then(JsonValue::as_str);
        self.content.artifact_type = artifact_type.and_then(ArtifactType::parse);
        if is_supported && self.content.artifact_type.is_none() {
            self.violation("/artifact_type", "The type is missing or none of the seven.");
        }
        let payload = self.body.get("payload").and_then(JsonValue::as_object);
        if payload.is_none() {
            self.violation("/payload", "The payload is missing or no object.");
        }
        let references = self.body.get("references").and_then(JsonValue::as_array);
        match references {
            Some(items) if items.len() > REFERENCES_MAX => self.violations.push(Violation {
                class: ViolationClass::LimitExceeded,
                pointer: "/references".to_owned(),
                detail: numbered!("There are over " {REFERENCES_MAX} " references.").into(),
            }),
            Some(_) => {}
            None => self.violation("/references", "The references are missing or no array."),
        }
        self.extensions();
        self.references(references.unwrap_or_default());
        if let (Some(artifact_type), Some(payload)) = (self.content.artifact_type, payload) {
            self.payload(artifact_type, payload, references);
        }
        if !is_supported {
            self.violations.truncate(1);
            self.warnings.clear();
        }
    }

    /// Whether the version is one whose rules are known.
    fn version(&mut self) -> bool {
        match self.body.get("protocol_version") {
            Some(JsonValue::String(version)) if version == PROTOCOL_VERSION => true,
            Some(JsonValue::String(_)) => {
                self.violations.push(Violation {
                    class: ViolationClass::UnsupportedVersion,
                    pointer: "/protocol_version".to_owned(),
                    detail: "The version is not 0.1, and no rule makes another compatible.".into(),
                });
                false
            }
            _ => {
                self.violation("/protocol_version", "The version is missing or no string.");
                true
            }
        }
    }

    fn extensions(&mut self) {
        match self.body.get("extensions") {
            None => {}
            Some(JsonValue::Object(extensions)) => {
                for (key, _) in extensions.iter().filter(|(key, _)| !key.contains(['/', '.'])) {
                    let detail = "The key of an extension has no namespace.";
                    self.violation(join("/extensions", key), detail);
                }
            }
            Some(_) => self.violation("/extensions", "The extensions are no object."),
        }
    }

    fn references(&mut self, items: &'a [JsonValue]) {
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("/references/{index}");
            let Some(object) = item.as_object() else {
                self.violation(pointer, "A reference is no object.");
                continue;
            };
            let artifact_id = self.identifier(object, &pointer, "artifact_id");
            let relation = object.get("relation");
            let known = relation.and_then(JsonValue::as_str).and_then(Relation::parse);
            if relation.is_some() && known.is_none() {
                self.violation(join(&pointer, "relation"), "The relation is none of the six.");
            }
            if let Some(artifact_id) = artifact_id {
                self.content.references.push(ArtifactReference { artifact_id, relation: known });
            }
        }
    }

    /// The value that `read` finds in a member, which must hold one.
    fn member<T>(
        &mut self,
        (object, pointer, name): (&'a JsonObject, &str, &str),
        read: impl FnOnce(&'a JsonValue) -> Option<T>,
        detail: &'static str,
    ) -> Option<T> {
        let value = object.get(name).and_then(read);
        if value.is_none() {
            self.violation(join(pointer, name), detail);
        }
        value
    }

    /// The identifier in a member that must hold one.
    fn identifier(&mut self, object: &'a JsonObject, at: &str, name: &str) -> Option<Identifier> {
        let read = |value: &JsonValue| value.as_str()?.parse().ok();
        self.member((object, at, name), read, "An identifier is missing or malformed.")
    }

    /// The text in a member of the payload that must be a string with something visible.
    fn visible(&mut self, payload: &'a JsonObject, name: &str) {
        let detail = "A text is missing, no string, or shows nothing.";
        self.member((payload, "/payload", name), visible_text, detail);
    }

    fn boolean(&mut self, payload: &'a JsonObject, name: &str) -> bool {
        let detail = "A truth value is missing or is none.";
        self.member((payload, "/payload", name), JsonValue::as_bool, detail).unwrap_or_default()
    }

    /// The value of a member of the payload that must be one of a few words.
    fn word<T>(
        &mut self,
        payload: &'a JsonObject,
        name: &str,
        parse: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let detail = "A word is missing or none of those defined.";
        self.member((payload, "/payload", name), |value| parse(value.as_str()?), detail)
    }

    fn array(&mut self, payload: &'a JsonObject, name: &str) -> &'a [JsonValue] {
        let detail = "An array is missing or is none.";
        self.member((payload, "/payload", name), JsonValue::as_array, detail).unwrap_or_default()
    }

    fn payload(
        &mut self,
        artifact_type: ArtifactType,
        payload: &'a JsonObject,
        references: Option<&'a [JsonValue]>,
    ) {
        match artifact_type {
            ArtifactType::Claim => self.visible(payload, "statement"),
            ArtifactType::Evidence => {
                self.visible(payload, "content");
                self.provenance(payload);
                self.relation(references, &[Relation::Supports]);
            }
            ArtifactType::Objection => {
                self.visible(payload, "statement");
                self.content.blocking = self.boolean(payload, "blocking");
                self.relation(references, &[Relation::ObjectsTo]);
            }
            ArtifactType::Revision => {
                self.visible(payload, "statement");
                self.relation(references, &[Relation::Revises, Relation::Supersedes]);
            }
            ArtifactType::Decision => self.decision(payload),
            ArtifactType::Failure => {
                self.visible(payload, "code");
                self.visible(payload, "description");
                self.boolean(payload, "retryable");
            }
            ArtifactType::Termination => {
                let state = self.word(payload, "state", TerminationState::parse);
                self.content.state = state;
                let is_bare = references.is_some_and(<[JsonValue]>::is_empty);
                if state == Some(TerminationState::Completed) && is_bare {
                    self.violation("/references", "A completed termination refers to nothing.");
                }
            }
        }
    }

    fn provenance(&mut self, payload: &'a JsonObject) {
        let class = self.word(payload, "provenance_class", ProvenanceClass::parse);
        let is_observed = matches!(
            class,
            Some(ProvenanceClass::TraceVerifiedObservation | ProvenanceClass::ExternalEvidence)
        );
        let is_grounded = match payload.get("source") {
            None | Some(JsonValue::Null) => false,
            Some(JsonValue::String(source)) => is_visible(source),
            Some(_) => true,
        };
        if is_observed && !is_grounded {
            self.warnings.push(ViolationClass::UngroundedProvenance);
        }
    }

    /// At least one reference must have one of these relations. References that are no array
    /// have been listed, and one place is listed once.
    fn relation(&mut self, references: Option<&'a [JsonValue]>, admitted: &[Relation]) {
        let Some(items) = references else { return };
        let is_admitted = |item: &JsonValue| {
            let relation = item.as_object().and_then(|object| object.get("relation"));
            let relation = relation.and_then(JsonValue::as_str).and_then(Relation::parse);
            relation.is_some_and(|relation| admitted.contains(&relation))
        };
        if !items.iter().any(is_admitted) {
            self.violation("/references", "No reference has the relation that the type asks for.");
        }
    }

    fn decision(&mut self, payload: &'a JsonObject) {
        self.visible(payload, "outcome");
        let status = self.word(payload, "status", Status::parse);
        let dispositions = self.array(payload, "objection_dispositions");
        let issues = self.array(payload, "unresolved_issues");
        let mut decision = DecisionContent {
            is_final: status == Some(Status::Final),
            ..DecisionContent::default()
        };
        for (index, item) in dispositions.iter().enumerate() {
            let pointer = format!("/payload/objection_dispositions/{index}");
            decision.dispositions.extend(self.disposition(item, &pointer));
        }
        for (index, item) in issues.iter().enumerate() {
            let pointer = format!("/payload/unresolved_issues/{index}");
            decision.unresolved.extend(self.issue(item, &pointer));
        }
        self.content.decision = Some(decision);
    }

    fn disposition(&mut self, item: &'a JsonValue, pointer: &str) -> Option<Disposition> {
        let Some(object) = item.as_object() else {
            self.violation(pointer, "An objection disposition is no object.");
            return None;
        };
        // Where both names stand, `artifact_id` counts, as everywhere else.
        let has_other = object.get("artifact_id").is_none() && object.get("objection").is_some();
        let name = if has_other { "objection" } else { "artifact_id" };
        let objection = self.identifier(object, pointer, name);
        let detail = "A disposition is missing, no string, or shows nothing.";
        let word = self.member((object, pointer, "disposition"), visible_text, detail);
        Some(Disposition { objection: objection?, word: word?.to_owned() })
    }

    /// The objection that an unresolved issue names, if it names one.
    fn issue(&mut self, item: &'a JsonValue, pointer: &str) -> Option<Identifier> {
        match item {
            JsonValue::String(text) => {
                if !is_visible(text) {
                    self.violation(pointer, "An unresolved issue shows nothing.");
                }
                text.parse().ok()
            }
            JsonValue::Object(object) => self.identifier(object, pointer, "artifact_id"),
            _ => {
                self.violation(pointer, "An unresolved issue is no string and no object.");
                None
            }
        }
    }
}
