//! The answers of operations (bindings.md §2, §3; artifacts.md §3.2, §4) and of the other paths
//! them, as types.

use super::output_value::OutputValue::{
    self, AnyObject, Count, Either, Named, Object, Text, Time, Truth, Within, Words,
};
use super::output_value::{OutputMember, OutputObject, always, list, maybe, sometimes};
use crate::act::{Kind, ParentRule};
use crate::claim::{ClaimStatus, EvidenceKind};
use crate::identity::{AuthorKind, Right};
use crate::operation::{OutputType, WordSet};
use crate::refusal::Reason;
use crate::state::{Origin, State};

fn state() -> OutputValue {
    Words(State::ALL.map(State::as_str).into())
}

fn author_kind() -> OutputValue {
    Words(AuthorKind::ALL.map(AuthorKind::as_str).into())
}

fn origin() -> OutputValue {
    Words(Origin::ALL.map(Origin::as_str).into())
}

fn due() -> OutputValue {
    Either(Box::new(Words(vec!["anyone"])), Box::new(Named(OutputObject::Participant)))
}

/// An object of strings.
pub(super) fn texts<const N: usize>(names: [&'static str; N]) -> OutputValue {
    Object(names.map(|name| always(name, Text)).into())
}

/// A list of `of`, as all lists are.
pub(super) fn page(of: OutputValue) -> OutputValue {
    Object(vec![always("items", list(of)), always("cursor", Text), always("more", Truth)])
}

impl OutputType {
    /// The type of the answer.
    pub(super) fn of(self) -> OutputValue {
        let message = always("message", Named(OutputObject::Message));
        let thread = always("thread", Named(OutputObject::Thread));
        match self {
            Self::Manifest => manifest(),
            Self::Posted => Object(vec![message, thread]),
            Self::Threads => page(Named(OutputObject::Thread)),
            Self::Reading => reading(),
            Self::Events => page(Named(OutputObject::Event)),
            Self::Marked => {
                Object(vec![thread, always("event", maybe(Named(OutputObject::Event)))])
            }
            Self::Inbox => page(Object(vec![thread, message])),
            Self::ClaimChanged => Object(vec![always("claim", Named(OutputObject::Claim))]),
            Self::Claim => Named(OutputObject::Claim),
            Self::Claims => page(Named(OutputObject::Claim)),
            Self::Published => {
                Object(vec![always("artifact_id", Text), always("unresolved", list(Text))])
            }
            Self::Artifact => Named(OutputObject::Artifact),
            Self::Artifacts => page(Named(OutputObject::Artifact)),
            Self::Report => Named(OutputObject::Report),
        }
    }
}

impl OutputObject {
    /// The type behind the name.
    pub(super) fn of(self) -> OutputValue {
        Object(match self {
            Self::Participant => {
                vec![always("identity", Text), always("extension", maybe(Text))]
            }
            Self::Awaiting => {
                vec![always("message", Text), always("due", due()), always("since", Time)]
            }
            Self::Message => message(),
            Self::ShownMessage => {
                let replies = sometimes("replies", list(Within(Self::ShownMessage)));
                message().into_iter().chain([replies]).collect()
            }
            Self::Thread => thread(),
            Self::Event => event(),
            Self::Evidence => vec![
                always("kind", Words(EvidenceKind::ALL.map(EvidenceKind::as_str).into())),
                always("ref", Text),
                always("note", maybe(Text)),
            ],
            Self::Claim => claim(),
            Self::Artifact => vec![
                always("protocol_version", Text),
                always("artifact_id", Text),
                always("artifact_type", Words(WordSet::ArtifactType.list())),
                always("payload", AnyObject),
                always("references", list(AnyObject)),
                sometimes("extensions", AnyObject),
            ],
            Self::Report => report(),
            Self::Token => token(),
            Self::Problem => problem(),
        })
    }
}

type OutputMembers = Vec<OutputMember>;

fn message() -> OutputMembers {
    let retracted = Object(vec![
        always("by", Named(OutputObject::Participant)),
        always("at", Time),
        always("message", Text),
    ]);
    let provenance = Object(vec![always("model", maybe(Text)), always("client", maybe(Text))]);
    vec![
        always("id", Text),
        always("thread", Text),
        always("parent", maybe(Text)),
        always("kind", Words(Kind::ALL.map(Kind::as_str).into())),
        always("from", Named(OutputObject::Participant)),
        always("author_kind", author_kind()),
        always("label", maybe(Text)),
        always("body", Text),
        always("provenance", maybe(provenance)),
        always("created_at", Time),
        always("awaiting", maybe(Named(OutputObject::Awaiting))),
        always("retracted", maybe(retracted)),
    ]
}

fn thread() -> OutputMembers {
    vec![
        always("id", Text),
        always("number", Count),
        always("created_at", Time),
        always("updated_at", Time),
        always("creator", Named(OutputObject::Participant)),
        always("author_kind", author_kind()),
        always("subject", Text),
        always("state", state()),
        always("state_origin", origin()),
        always("state_confirmed_at", maybe(Time)),
        always("state_label", maybe(Text)),
        always("locked", Truth),
        always("awaiting", maybe(Named(OutputObject::Awaiting))),
        always("turn", maybe(due())),
        always("message_count", Count),
        always("claim_count", Count),
        always("cursor", Text),
    ]
}

fn reading() -> OutputValue {
    let messages = always("messages", list(Named(OutputObject::ShownMessage)));
    let more = sometimes("more", Truth);
    Object(thread().into_iter().chain([messages, more]).collect())
}

fn event() -> OutputMembers {
    vec![
        always("id", Text),
        always("thread", Text),
        always("from", maybe(state())),
        always("to", state()),
        always("origin", origin()),
        always("confirmed", Truth),
        always("label", maybe(Text)),
        always("by", Named(OutputObject::Participant)),
        always("at", Time),
        always("message", maybe(Text)),
        always("reason", maybe(Text)),
    ]
}

fn claim() -> OutputMembers {
    let proof = || {
        vec![
            always("by", Named(OutputObject::Participant)),
            always("at", Time),
            always("evidence", list(Named(OutputObject::Evidence))),
        ]
    };
    let attestation = proof().into_iter().chain([always("seal", Truth)]).collect();
    vec![
        always("id", Text),
        always("thread", Text),
        always("statement", Text),
        always("author", Named(OutputObject::Participant)),
        always("author_kind", author_kind()),
        always("created_at", Time),
        always("status", Words(ClaimStatus::ALL.map(ClaimStatus::as_str).into())),
        always("expired", Truth),
        always("valid_until", maybe(Time)),
        always("evidence", list(Named(OutputObject::Evidence))),
        always("attestations", list(Object(attestation))),
        always("refutation", maybe(Object(proof()))),
        always("supersedes", list(Text)),
        always("superseded_by", maybe(Text)),
    ]
}

fn report() -> OutputMembers {
    let noted = texts(["class", "artifact_id", "detail"]);
    let failure = texts(["class", "artifact_id", "pointer", "detail"]);
    let objection = Object(vec![
        always("artifact_id", Text),
        always("blocking", Truth),
        always("disposition", maybe(Text)),
    ]);
    vec![
        always("ok", Truth),
        always("targets", list(Text)),
        always("strict", Truth),
        always("artifact_count", Count),
        always("depth", Count),
        always("failures", list(failure)),
        sometimes("failure_count", Count),
        always("objections", list(objection)),
        always("later_objections", list(noted.clone())),
        always("warnings", list(noted)),
    ]
}

fn token() -> OutputMembers {
    vec![
        always("id", Text),
        always("identity", Text),
        always("author_kind", author_kind()),
        always("rights", list(Words(Right::ALL.map(Right::as_str).into()))),
        always("label", maybe(Text)),
        always("created_at", Time),
        always("expires_at", maybe(Time)),
        always("revoked_at", maybe(Time)),
    ]
}

fn problem() -> OutputMembers {
    let reasons = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    vec![
        always("type", Text),
        always("title", Text),
        always("status", Count),
        always("detail", Text),
        always("reason", Words(reasons)),
        sometimes("field", Text),
        sometimes("right", Words(Right::ALL.map(Right::as_str).into())),
        sometimes("thread", Text),
        sometimes("state", state()),
        sometimes("attempted", state()),
        sometimes("retry_after_ms", Count),
        sometimes("class", Text),
        sometimes("pointer", Text),
        sometimes("report", Named(OutputObject::Report)),
        sometimes("failure_artifact", Text),
    ]
}

/// The manifest: the members that programs read.
fn manifest() -> OutputValue {
    let act = vec![
        always("kind", Text),
        always("purpose", Text),
        always("parent", Words(ParentRule::ALL.map(ParentRule::as_str).into())),
        always("expects_reply", Truth),
        always("mark", maybe(state())),
    ];
    let kind = always("kind", Words(vec!["line", "side"]));
    let shown_state = vec![always("state", state()), kind, always("next", list(state()))];
    let reason = vec![always("reason", Text), always("status", Count), always("meaning", Text)];
    let operations = always("operations", list(Text));
    let profile = vec![always("name", Text), always("version", Text), operations];
    Object(vec![
        always("parley", Words(vec!["1"])),
        always("implementation", texts(["name", "version"])),
        always("realm", Text),
        always("instance", Text),
        always("era", Count),
        always("unicode", Text),
        always("transports", AnyObject),
        always("languages", list(Text)),
        always("part", Words(WordSet::ManifestPart.list())),
        sometimes("envelope", AnyObject),
        sometimes("acts", list(Object(act))),
        sometimes("states", list(Object(shown_state))),
        sometimes("authority", list(AnyObject)),
        sometimes("rights", list(AnyObject)),
        sometimes("limits", AnyObject),
        sometimes("reasons", list(Object(reason))),
        sometimes("profiles", list(Object(profile))),
        sometimes("evidence_kinds", list(Text)),
    ])
}
