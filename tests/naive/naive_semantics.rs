//! A second implementation of what an artifact must say, written along `artifacts.md` §2 and over
//! plain JSON values.

use parley_protocol::text::is_visible;
use serde_json::{Map, Value};

/// Class and pointer of everything that is wrong, in the order of the page.
pub type Violations = Vec<(&'static str, String)>;

const TYPES: [&str; 7] =
    ["CLAIM", "EVIDENCE", "OBJECTION", "REVISION", "DECISION", "FAILURE", "TERMINATION"];
const RELATIONS: [&str; 6] =
    ["supports", "objects-to", "revises", "supersedes", "considers", "decides"];

/// Examines an artifact that is canonical; gives what is wrong, and the classes of warnings.
pub fn examine(artifact: &Value) -> (Violations, Vec<&'static str>) {
    let mut found = Found { artifact, violations: Vec::new() };
    match &artifact["protocol_version"] {
        Value::String(version) if version == "0.1" => {}
        Value::String(_) => {
            return (vec![("unsupported_version", "/protocol_version".to_owned())], Vec::new());
        }
        _ => found.wrong("/protocol_version"),
    }
    let artifact_type = artifact["artifact_type"].as_str().filter(|word| TYPES.contains(word));
    found.unless(artifact_type.is_some(), "/artifact_type");
    found.unless(artifact["payload"].is_object(), "/payload");
    let none = Vec::new();
    let references = artifact["references"].as_array();
    found.unless(references.is_some(), "/references");
    let references = references.unwrap_or(&none);
    if references.len() > 256 {
        found.violations.push(("limit_exceeded", "/references".to_owned()));
    }
    match artifact.get("extensions") {
        None => {}
        Some(Value::Object(extensions)) => {
            for key in extensions.keys().filter(|key| !key.contains('/') && !key.contains('.')) {
                found.wrong(&format!("/extensions/{}", key.replace('~', "~0")));
            }
        }
        Some(_) => found.wrong("/extensions"),
    }
    for (at, reference) in references.iter().enumerate() {
        let Some(reference) = reference.as_object() else {
            found.wrong(&format!("/references/{at}"));
            continue;
        };
        let named = has_identifier(reference, "artifact_id");
        found.unless(named, &format!("/references/{at}/artifact_id"));
        let is_relation = |word: &Value| word.as_str().is_some_and(|it| RELATIONS.contains(&it));
        let good = reference.get("relation").is_none_or(is_relation);
        found.unless(good, &format!("/references/{at}/relation"));
    }
    let mut warnings = Vec::new();
    if let (Some(word), true) = (artifact_type, artifact["payload"].is_object()) {
        found.payload(word);
        warnings = ungrounded(word, &artifact["payload"]);
    }
    (found.violations, warnings)
}

/// The warning of evidence that names no source.
fn ungrounded(artifact_type: &str, payload: &Value) -> Vec<&'static str> {
    let observed = ["TRACE_VERIFIED_OBSERVATION", "EXTERNAL_EVIDENCE"];
    let is_observed =
        payload["provenance_class"].as_str().is_some_and(|word| observed.contains(&word));
    let has_source = match &payload["source"] {
        Value::Null => false,
        Value::String(text) => is_visible(text),
        _ => true,
    };
    let is_ungrounded = artifact_type == "EVIDENCE" && is_observed && !has_source;
    is_ungrounded.then_some("ungrounded_provenance").into_iter().collect()
}

/// Whether the text is `sha256:` and 64 lowercase hex digits.
pub fn is_identifier(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64 && digits.chars().all(|it| "0123456789abcdef".contains(it))
}

fn has_identifier(object: &Map<String, Value>, name: &str) -> bool {
    object.get(name).and_then(Value::as_str).is_some_and(is_identifier)
}

struct Found<'a> {
    artifact: &'a Value,
    violations: Violations,
}

impl Found<'_> {
    fn wrong(&mut self, pointer: &str) {
        self.violations.push(("semantic_violation", pointer.to_owned()));
    }

    fn unless(&mut self, good: bool, pointer: &str) {
        if !good {
            self.wrong(pointer);
        }
    }

    fn member(&self, name: &str) -> &Value {
        &self.artifact["payload"][name]
    }

    fn visible(&mut self, name: &str) {
        let good = self.member(name).as_str().is_some_and(is_visible);
        self.unless(good, &format!("/payload/{name}"));
    }

    fn one_of(&mut self, name: &str, words: &[&str]) {
        let good = self.member(name).as_str().is_some_and(|word| words.contains(&word));
        self.unless(good, &format!("/payload/{name}"));
    }

    fn truth(&mut self, name: &str) {
        self.unless(self.member(name).is_boolean(), &format!("/payload/{name}"));
    }

    fn related(&mut self, relations: &[&str]) {
        let Some(references) = self.artifact["references"].as_array() else { return };
        let mut words = references.iter().filter_map(|it| it["relation"].as_str());
        self.unless(words.any(|word| relations.contains(&word)), "/references");
    }

    fn payload(&mut self, artifact_type: &str) {
        match artifact_type {
            "CLAIM" => self.visible("statement"),
            "EVIDENCE" => {
                self.visible("content");
                let words = [
                    "TRACE_VERIFIED_OBSERVATION",
                    "EXTERNAL_EVIDENCE",
                    "MODEL_GENERATED_ANALYSIS",
                    "HYPOTHESIS",
                ];
                self.one_of("provenance_class", &words);
                self.related(&["supports"]);
            }
            "OBJECTION" => {
                self.visible("statement");
                self.truth("blocking");
                self.related(&["objects-to"]);
            }
            "REVISION" => {
                self.visible("statement");
                self.related(&["revises", "supersedes"]);
            }
            "DECISION" => self.decision(),
            "FAILURE" => {
                self.visible("code");
                self.visible("description");
                self.truth("retryable");
            }
            _ => {
                let states = ["completed", "suspended", "cancelled", "deadlock", "exhausted"];
                self.one_of("state", &states);
                let is_bare = self.artifact["references"].as_array().is_some_and(Vec::is_empty);
                self.unless(!(self.member("state") == "completed" && is_bare), "/references");
            }
        }
    }

    fn decision(&mut self) {
        self.visible("outcome");
        self.one_of("status", &["provisional", "final"]);
        for name in ["objection_dispositions", "unresolved_issues"] {
            self.unless(self.member(name).is_array(), &format!("/payload/{name}"));
        }
        let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for (at, item) in items(self.member("objection_dispositions")).iter().enumerate() {
            let pointer = format!("/payload/objection_dispositions/{at}");
            let Some(item) = item.as_object() else {
                self.wrong(&pointer);
                continue;
            };
            let other = item.get("artifact_id").is_none() && item.get("objection").is_some();
            let name = if other { "objection" } else { "artifact_id" };
            self.unless(has_identifier(item, name), &format!("{pointer}/{name}"));
            let word = item.get("disposition").and_then(Value::as_str);
            self.unless(word.is_some_and(is_visible), &format!("{pointer}/disposition"));
        }
        for (at, item) in items(self.member("unresolved_issues")).iter().enumerate() {
            let pointer = format!("/payload/unresolved_issues/{at}");
            match item {
                Value::String(text) => self.unless(is_visible(text), &pointer),
                Value::Object(item) => {
                    let good = has_identifier(item, "artifact_id");
                    self.unless(good, &format!("{pointer}/artifact_id"));
                }
                _ => self.wrong(&pointer),
            }
        }
    }
}
