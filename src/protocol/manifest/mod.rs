//! The manifest (bindings.md §4): alone enough to speak correctly. What the code decides by is
//! published from the very tables that decide; only the sentences are written for it, in three
//! languages, and only they differ between them.

mod reasons;
mod rules;
mod words;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::claim::EvidenceKind;
use crate::command::Language;
use crate::limits::{BODY_MAX, EXTENSION_MAX, Limits};
use crate::operation::{FieldPlace, FieldType, Operation, Profile, Profiles};
use crate::state::State;
use crate::text::UNICODE_VERSION;

/// One sentence or a few, in English, German and French.
type Prose = [&'static str; 3];

/// The name of this implementation.
pub const IMPLEMENTATION: &str = "parley";

/// What a manifest says of the instance that it is of.
#[derive(Clone, Copy, Debug)]
pub struct ManifestFacts<'a> {
    /// The version of the implementation.
    pub version: &'a str,
    /// The realm of its models.
    pub realm: &'a str,
    /// The stable identifier of the instance.
    pub instance: &'a str,
    /// Rises with each restore.
    pub era: u64,
    /// The profiles in force.
    pub profiles: Profiles,
    /// The limits in force.
    pub limits: &'a Limits,
}

/// The manifest in one language, as JSON: the same bytes for the same facts.
pub fn manifest(facts: &ManifestFacts<'_>, language: Language) -> Vec<u8> {
    serde_json::to_vec(&Manifest::new(facts, language)).expect("a manifest serializes into memory")
}

/// The strong `ETag` of a representation: a digest in quotation marks.
pub fn etag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: Vec<String> = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{}\"", hex.concat())
}

/// Whether `If-None-Match` names `etag`, so that 304 is the answer (RFC 9110: weak comparison).
pub fn not_modified(if_none_match: &str, etag: &str) -> bool {
    let tags = if_none_match.split(',').map(str::trim);
    tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag)).any(|tag| tag == "*" || tag == etag)
}

#[derive(Serialize)]
struct Manifest<'a> {
    parley: &'static str,
    implementation: Implementation<'a>,
    realm: &'a str,
    instance: &'a str,
    era: u64,
    unicode: &'static str,
    transports: Transports,
    envelope: EnvelopeRow,
    acts: Vec<ActRow>,
    turn: Vec<&'static str>,
    states: Vec<StateRow>,
    marks: Vec<&'static str>,
    authority: Vec<AuthorityRow>,
    rights: Vec<RightRow>,
    reading: Vec<&'static str>,
    limits: LimitsInForce<'a>,
    reasons: Vec<ReasonRow>,
    profiles: Vec<ProfileRow>,
    operations: Vec<OperationRow>,
    evidence_kinds: Vec<&'static str>,
    languages: Vec<&'static str>,
    hints: Vec<&'static str>,
}

#[derive(Serialize)]
struct Implementation<'a> {
    name: &'static str,
    version: &'a str,
}

#[derive(Serialize)]
struct Transports {
    http: &'static str,
    mcp: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    feed: Option<&'static str>,
}

#[derive(Serialize)]
struct EnvelopeRow {
    fields: Vec<FieldRow>,
    rules: Vec<&'static str>,
}

#[derive(Serialize)]
struct FieldRow {
    name: &'static str,
    required: bool,
    ignored: bool,
    rule: &'static str,
}

#[derive(Serialize)]
struct ActRow {
    kind: &'static str,
    purpose: &'static str,
    parent: &'static str,
    expects_reply: bool,
    mark: Option<&'static str>,
}

#[derive(Serialize)]
struct StateRow {
    state: &'static str,
    kind: &'static str,
    meaning: &'static str,
    next: Vec<&'static str>,
    reopened_by: &'static [&'static str],
}

#[derive(Serialize)]
struct AuthorityRow {
    action: &'static str,
    who: &'static [&'static str],
    meaning: &'static str,
}

#[derive(Serialize)]
struct RightRow {
    right: &'static str,
    meaning: &'static str,
}

#[derive(Serialize)]
struct LimitsInForce<'a> {
    body_max: usize,
    extension_max: usize,
    #[serde(flatten)]
    limits: &'a Limits,
}

#[derive(Serialize)]
struct ReasonRow {
    reason: &'static str,
    status: u16,
    meaning: &'static str,
}

#[derive(Serialize)]
struct ProfileRow {
    name: &'static str,
    version: &'static str,
    operations: Vec<&'static str>,
    rules: Vec<&'static str>,
}

#[derive(Serialize)]
struct OperationRow {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    rights: Vec<&'static str>,
    success: u16,
    fields: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    #[serde(rename = "in")]
    place: &'static str,
    required: bool,
}

impl<'a> Manifest<'a> {
    fn new(facts: &ManifestFacts<'a>, language: Language) -> Self {
        let said = |prose: &Prose| prose[language as usize];
        let all = |rules: &[Prose]| rules.iter().map(said).collect();
        Self {
            parley: "1",
            implementation: Implementation { name: IMPLEMENTATION, version: facts.version },
            realm: facts.realm,
            instance: facts.instance,
            era: facts.era,
            unicode: UNICODE_VERSION,
            transports: Transports {
                http: "/v1",
                mcp: "/mcp",
                feed: facts.profiles.has(Profile::Feed).then_some("/v1/feed"),
            },
            envelope: EnvelopeRow { fields: fields(said), rules: all(&rules::ENVELOPE) },
            acts: acts(said),
            turn: all(&rules::TURN),
            states: states(said),
            marks: all(&rules::MARKS),
            authority: authority(said),
            rights: rights(said),
            reading: all(&rules::READING),
            limits: LimitsInForce {
                body_max: BODY_MAX,
                extension_max: EXTENSION_MAX,
                limits: facts.limits,
            },
            reasons: reasons(said),
            profiles: facts.profiles.iter().map(|profile| row(profile, said)).collect(),
            operations: facts.profiles.operations().map(operation).collect(),
            evidence_kinds: EvidenceKind::ALL.map(EvidenceKind::as_str).into(),
            languages: Language::ALL.map(Language::as_str).into(),
            hints: all(&rules::HINTS),
        }
    }
}

fn fields(said: impl Fn(&Prose) -> &'static str) -> Vec<FieldRow> {
    let fields = words::FIELDS.iter().filter_map(|(name, rule)| {
        let field = Operation::PostMessage.field(name)?;
        let ignored = field.field_type == FieldType::Ignored;
        Some(FieldRow { name: field.name, required: field.required, ignored, rule: said(rule) })
    });
    fields.collect()
}

fn acts(said: impl Fn(&Prose) -> &'static str) -> Vec<ActRow> {
    let acts = words::ACTS.iter().map(|(kind, purpose)| ActRow {
        kind: kind.as_str(),
        purpose: said(purpose),
        parent: kind.parent_rule().as_str(),
        expects_reply: kind.expects_reply(),
        mark: kind.mark().map(State::as_str),
    });
    acts.collect()
}

fn states(said: impl Fn(&Prose) -> &'static str) -> Vec<StateRow> {
    let states = words::STATES.iter().map(|(state, meaning)| StateRow {
        state: state.as_str(),
        kind: if state.is_side() { "side" } else { "line" },
        meaning: said(meaning),
        next: State::ALL
            .into_iter()
            .filter(|next| state.model_may_move(*next))
            .map(State::as_str)
            .collect(),
        reopened_by: match (state.is_side(), *state) {
            (true, _) => &["lock", "human"],
            (false, State::Closed) => &["creator", "lock", "human"],
            (false, _) => &[],
        },
    });
    states.collect()
}

fn authority(said: impl Fn(&Prose) -> &'static str) -> Vec<AuthorityRow> {
    let rows = words::AUTHORITY.iter();
    let rows =
        rows.map(|(action, who, meaning)| AuthorityRow { action, who, meaning: said(meaning) });
    rows.collect()
}

fn rights(said: impl Fn(&Prose) -> &'static str) -> Vec<RightRow> {
    let rows = words::RIGHTS.iter();
    rows.map(|(right, meaning)| RightRow { right: right.as_str(), meaning: said(meaning) })
        .collect()
}

fn reasons(said: impl Fn(&Prose) -> &'static str) -> Vec<ReasonRow> {
    let rows = reasons::REASONS.iter().map(|(reason, meaning)| ReasonRow {
        reason: reason.as_str(),
        status: reason.status(),
        meaning: said(meaning),
    });
    rows.collect()
}

fn row(profile: Profile, said: impl Fn(&Prose) -> &'static str) -> ProfileRow {
    let rules: &[Prose] = match profile {
        Profile::Core => &[],
        Profile::Dialectic => &rules::CLAIMS,
        Profile::Feed => &rules::FEED,
        Profile::Artifacts => &rules::ARTIFACTS,
    };
    ProfileRow {
        name: profile.as_str(),
        version: profile.version(),
        operations: profile.operations().map(Operation::name).collect(),
        rules: rules.iter().map(said).collect(),
    }
}

fn operation(operation: Operation) -> OperationRow {
    let row = operation.spec();
    let fields = row.fields.iter().filter(|field| field.field_type != FieldType::Ignored);
    let fields = fields.map(|field| Parameter {
        name: field.name,
        place: match field.place {
            FieldPlace::Path => "path",
            FieldPlace::Query => "query",
            FieldPlace::Body => "body",
        },
        required: field.required,
    });
    OperationRow {
        name: row.name,
        method: row.method.as_str(),
        path: row.path,
        rights: row.rights.iter().map(|right| right.as_str()).collect(),
        success: row.success,
        fields: fields.collect(),
    }
}

#[cfg(test)]
mod tests;
