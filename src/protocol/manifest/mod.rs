//! The manifest (bindings.md §4), which is enough to speak correctly. It publishes the tables by
//! which the code decides; the sentences stand in one file a language, and only they differ.

mod texts;

use serde::Serialize;
use sha2::{Digest, Sha256};

use self::texts::{ByWord, Texts};
use crate::act::ACTS;
use crate::claim::EvidenceKind;
use crate::command::{Language, ManifestPart};
use crate::identity::Right;
use crate::limits::{BODY_MAX, EXTENSION_MAX, Limits};
use crate::operation::{FieldPlace, FieldType, Operation, Profile, Profiles};
use crate::refusal::Reason;
use crate::state::State;
use crate::text::UNICODE_VERSION;

/// The authority for an action, and whose it is (parley.md §6).
const AUTHORITY: [(&str, &[&str]); 6] = [
    ("speak", &["write"]),
    ("direct", &["creator", "lock", "human"]),
    ("reopen_closed", &["creator", "lock", "human"]),
    ("reopen_side", &["lock", "human"]),
    ("set_any_state", &["human"]),
    ("confirm", &["lock", "human"]),
];

/// The name of this implementation.
pub const IMPLEMENTATION: &str = "parley";

/// The facts of an instance that its manifest publishes.
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

/// A part of the manifest in one language, as JSON: the same bytes for the same facts.
pub fn manifest(facts: &ManifestFacts<'_>, language: Language, part: ManifestPart) -> Vec<u8> {
    let manifest = Manifest::new(facts, language, part);
    serde_json::to_vec(&manifest).expect("a manifest serializes into memory")
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
    languages: Vec<&'static str>,
    part: &'static str,
    #[serde(flatten)]
    speaking: Option<Speaking<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<ReasonRow>>,
    #[serde(flatten)]
    profiles: Option<ProfilesInForce>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<Vec<OperationRow>>,
}

/// What a participant needs to speak correctly.
#[derive(Serialize)]
struct Speaking<'a> {
    envelope: EnvelopeRow,
    acts: Vec<ActRow>,
    turn: &'static [String],
    states: Vec<StateRow>,
    marks: &'static [String],
    authority: Vec<AuthorityRow>,
    rights: Vec<RightRow>,
    reading: &'static [String],
    limits: LimitsInForce<'a>,
    hints: &'static [String],
}

#[derive(Serialize)]
struct ProfilesInForce {
    profiles: Vec<ProfileRow>,
    evidence_kinds: Vec<&'static str>,
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
    rules: &'static [String],
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
    rules: &'static [String],
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
    fn new(facts: &ManifestFacts<'a>, language: Language, part: ManifestPart) -> Self {
        let texts = Texts::of(language);
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
            languages: Language::ALL.map(Language::as_str).into(),
            part: part.as_str(),
            speaking: part.has(ManifestPart::Speaking).then(|| Speaking::new(facts, texts)),
            reasons: part.has(ManifestPart::Reasons).then(|| reasons(&texts.reasons)),
            profiles: part.has(ManifestPart::Profiles).then(|| ProfilesInForce {
                profiles: facts.profiles.iter().map(|it| profile_row(it, texts)).collect(),
                evidence_kinds: EvidenceKind::ALL.map(EvidenceKind::as_str).into(),
            }),
            operations: part
                .has(ManifestPart::Operations)
                .then(|| facts.profiles.operations().map(operation).collect()),
        }
    }
}

impl<'a> Speaking<'a> {
    fn new(facts: &ManifestFacts<'a>, texts: &'static Texts) -> Self {
        Self {
            envelope: EnvelopeRow { fields: fields(&texts.fields), rules: &texts.envelope },
            acts: acts(&texts.acts),
            turn: &texts.turn,
            states: states(&texts.states),
            marks: &texts.marks,
            authority: authority(&texts.authority),
            rights: rights(&texts.rights),
            reading: &texts.reading,
            limits: LimitsInForce {
                body_max: BODY_MAX,
                extension_max: EXTENSION_MAX,
                limits: facts.limits,
            },
            hints: &texts.hints,
        }
    }
}

fn fields(texts: &'static ByWord) -> Vec<FieldRow> {
    let fields = Operation::PostMessage.spec().fields.iter();
    let fields = fields.map(|field| FieldRow {
        name: field.name,
        required: field.required,
        ignored: field.field_type == FieldType::Ignored,
        rule: &texts[field.name],
    });
    fields.collect()
}

fn acts(texts: &'static ByWord) -> Vec<ActRow> {
    let acts = ACTS.iter().map(|act| ActRow {
        kind: act.word,
        purpose: &texts[act.word],
        parent: act.parent.as_str(),
        expects_reply: act.kind.expects_reply(),
        mark: act.kind.mark().map(State::as_str),
    });
    acts.collect()
}

fn states(texts: &'static ByWord) -> Vec<StateRow> {
    let states = State::ALL.into_iter().map(|state| StateRow {
        state: state.as_str(),
        kind: if state.is_side() { "side" } else { "line" },
        meaning: &texts[state.as_str()],
        next: State::ALL
            .into_iter()
            .filter(|next| state.model_may_move(*next))
            .map(State::as_str)
            .collect(),
        reopened_by: match state {
            State::Open | State::Answered | State::Decided => &[],
            State::Closed => &["creator", "lock", "human"],
            State::Deferred | State::Obsolete | State::Rejected => &["lock", "human"],
        },
    });
    states.collect()
}

fn authority(texts: &'static ByWord) -> Vec<AuthorityRow> {
    let rows = AUTHORITY.into_iter();
    rows.map(|(action, who)| AuthorityRow { action, who, meaning: &texts[action] }).collect()
}

fn rights(texts: &'static ByWord) -> Vec<RightRow> {
    let rights = Right::ALL.map(Right::as_str).into_iter();
    rights.map(|right| RightRow { right, meaning: &texts[right] }).collect()
}

fn reasons(texts: &'static ByWord) -> Vec<ReasonRow> {
    let reasons = Reason::ALL.iter().map(|reason| ReasonRow {
        reason: reason.as_str(),
        status: reason.status(),
        meaning: &texts[reason.as_str()],
    });
    reasons.collect()
}

fn profile_row(profile: Profile, texts: &'static Texts) -> ProfileRow {
    let rules: &[String] = match profile {
        Profile::Core => &[],
        Profile::Dialectic => &texts.dialectic,
        Profile::Feed => &texts.feed,
        Profile::Artifacts => &texts.artifacts,
    };
    ProfileRow {
        name: profile.as_str(),
        version: profile.version(),
        operations: profile.operations().map(Operation::as_str).collect(),
        rules,
    }
}

fn operation(operation: Operation) -> OperationRow {
    let spec = operation.spec();
    let fields = spec.fields.iter().filter(|field| field.field_type != FieldType::Ignored);
    let fields = fields.map(|field| Parameter {
        name: field.name,
        place: match field.place {
            FieldPlace::Path(_) => "path",
            FieldPlace::Query => "query",
            FieldPlace::Body => "body",
        },
        required: field.required,
    });
    OperationRow {
        name: operation.as_str(),
        method: spec.route.method.as_str(),
        path: spec.route.path,
        rights: spec.rights.iter().map(|right| right.as_str()).collect(),
        success: spec.route.success,
        fields: fields.collect(),
    }
}

#[cfg(test)]
mod tests;
