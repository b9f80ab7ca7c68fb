//! The answers of operations (bindings.md §2, §3; artifacts.md §3.2, §4) and of what stands beside
//! them, as types.

use super::output_value::{OutputObject, OutputValue, always, list, maybe, sometimes};
use crate::act::{Kind, ParentRule};
use crate::claim::{ClaimStatus, EvidenceKind};
use crate::identity::{AuthorKind, Right};
use crate::operation::{OutputType, WordSet};
use crate::refusal::Reason;
use crate::state::{Origin, State};

fn state() -> OutputValue {
    OutputValue::Words(State::ALL.map(State::as_str).into())
}

fn author_kind() -> OutputValue {
    OutputValue::Words(AuthorKind::ALL.map(AuthorKind::as_str).into())
}

fn origin() -> OutputValue {
    OutputValue::Words(Origin::ALL.map(Origin::as_str).into())
}

fn due() -> OutputValue {
    OutputValue::Either(
        Box::new(OutputValue::Words(vec!["anyone"])),
        Box::new(OutputValue::Named(OutputObject::Participant)),
    )
}

/// A list of `of`, as all lists are.
pub(super) fn page(of: OutputValue) -> OutputValue {
    OutputValue::Object(vec![
        always("items", list(of)),
        always("cursor", OutputValue::Text),
        always("more", OutputValue::Truth),
    ])
}

impl OutputType {
    /// The type of the answer.
    pub(super) fn of(self) -> OutputValue {
        match self {
            Self::Manifest => manifest(),
            Self::Posted => OutputValue::Object(vec![
                always("message", OutputValue::Named(OutputObject::Message)),
                always("thread", OutputValue::Named(OutputObject::Thread)),
            ]),
            Self::Threads => page(OutputValue::Named(OutputObject::Thread)),
            Self::Reading => reading(),
            Self::Events => page(OutputValue::Named(OutputObject::Event)),
            Self::Marked => OutputValue::Object(vec![
                always("thread", OutputValue::Named(OutputObject::Thread)),
                always("event", maybe(OutputValue::Named(OutputObject::Event))),
            ]),
            Self::Inbox => page(OutputValue::Object(vec![
                always("thread", OutputValue::Named(OutputObject::Thread)),
                always("message", OutputValue::Named(OutputObject::Message)),
            ])),
            Self::ClaimChanged => {
                OutputValue::Object(vec![always("claim", OutputValue::Named(OutputObject::Claim))])
            }
            Self::Claim => OutputValue::Named(OutputObject::Claim),
            Self::Claims => page(OutputValue::Named(OutputObject::Claim)),
            Self::Published => OutputValue::Object(vec![
                always("artifact_id", OutputValue::Text),
                always("unresolved", list(OutputValue::Text)),
            ]),
            Self::Artifact => OutputValue::Named(OutputObject::Artifact),
            Self::Artifacts => page(OutputValue::Named(OutputObject::Artifact)),
            Self::Report => OutputValue::Named(OutputObject::Report),
        }
    }
}

impl OutputObject {
    /// The type behind the name.
    pub(super) fn of(self) -> OutputValue {
        OutputValue::Object(match self {
            Self::Participant => {
                vec![
                    always("identity", OutputValue::Text),
                    always("extension", maybe(OutputValue::Text)),
                ]
            }
            Self::Awaiting => vec![
                always("message", OutputValue::Text),
                always("due", due()),
                always("since", OutputValue::Time),
            ],
            Self::Message => message(),
            Self::ShownMessage => {
                let replies = sometimes("replies", list(OutputValue::Within(Self::ShownMessage)));
                message().into_iter().chain([replies]).collect()
            }
            Self::Thread => thread(),
            Self::Event => event(),
            Self::Evidence => vec![
                always(
                    "kind",
                    OutputValue::Words(EvidenceKind::ALL.map(EvidenceKind::as_str).into()),
                ),
                always("ref", OutputValue::Text),
                always("note", maybe(OutputValue::Text)),
            ],
            Self::Claim => claim(),
            Self::Artifact => vec![
                always("protocol_version", OutputValue::Text),
                always("artifact_id", OutputValue::Text),
                always("artifact_type", OutputValue::Words(WordSet::ArtifactType.list())),
                always("payload", OutputValue::AnyObject),
                always("references", list(OutputValue::AnyObject)),
                sometimes("extensions", OutputValue::AnyObject),
            ],
            Self::Report => report(),
            Self::Token => token(),
            Self::Problem => problem(),
        })
    }
}

type OutputMembers = Vec<super::output_value::OutputMember>;

fn message() -> OutputMembers {
    let retracted = OutputValue::Object(vec![
        always("by", OutputValue::Named(OutputObject::Participant)),
        always("at", OutputValue::Time),
        always("message", OutputValue::Text),
    ]);
    let provenance = OutputValue::Object(vec![
        always("model", maybe(OutputValue::Text)),
        always("client", maybe(OutputValue::Text)),
    ]);
    vec![
        always("id", OutputValue::Text),
        always("thread", OutputValue::Text),
        always("parent", maybe(OutputValue::Text)),
        always("kind", OutputValue::Words(Kind::ALL.map(Kind::as_str).into())),
        always("from", OutputValue::Named(OutputObject::Participant)),
        always("author_kind", author_kind()),
        always("label", maybe(OutputValue::Text)),
        always("body", OutputValue::Text),
        always("provenance", maybe(provenance)),
        always("created_at", OutputValue::Time),
        always("awaiting", maybe(OutputValue::Named(OutputObject::Awaiting))),
        always("retracted", maybe(retracted)),
    ]
}

fn thread() -> OutputMembers {
    vec![
        always("id", OutputValue::Text),
        always("number", OutputValue::Count),
        always("created_at", OutputValue::Time),
        always("updated_at", OutputValue::Time),
        always("creator", OutputValue::Named(OutputObject::Participant)),
        always("author_kind", author_kind()),
        always("subject", OutputValue::Text),
        always("state", state()),
        always("state_origin", origin()),
        always("state_confirmed_at", maybe(OutputValue::Time)),
        always("state_label", maybe(OutputValue::Text)),
        always("locked", OutputValue::Truth),
        always("awaiting", maybe(OutputValue::Named(OutputObject::Awaiting))),
        always("turn", maybe(due())),
        always("message_count", OutputValue::Count),
        always("claim_count", OutputValue::Count),
        always("cursor", OutputValue::Text),
    ]
}

fn reading() -> OutputValue {
    let messages = always("messages", list(OutputValue::Named(OutputObject::ShownMessage)));
    let more = sometimes("more", OutputValue::Truth);
    OutputValue::Object(thread().into_iter().chain([messages, more]).collect())
}

fn event() -> OutputMembers {
    vec![
        always("id", OutputValue::Text),
        always("thread", OutputValue::Text),
        always("from", maybe(state())),
        always("to", state()),
        always("origin", origin()),
        always("confirmed", OutputValue::Truth),
        always("label", maybe(OutputValue::Text)),
        always("by", OutputValue::Named(OutputObject::Participant)),
        always("at", OutputValue::Time),
        always("message", maybe(OutputValue::Text)),
        always("reason", maybe(OutputValue::Text)),
    ]
}

fn claim() -> OutputMembers {
    let proof = || {
        vec![
            always("by", OutputValue::Named(OutputObject::Participant)),
            always("at", OutputValue::Time),
            always("evidence", list(OutputValue::Named(OutputObject::Evidence))),
        ]
    };
    let attestation = proof().into_iter().chain([always("seal", OutputValue::Truth)]).collect();
    vec![
        always("id", OutputValue::Text),
        always("thread", OutputValue::Text),
        always("statement", OutputValue::Text),
        always("author", OutputValue::Named(OutputObject::Participant)),
        always("author_kind", author_kind()),
        always("created_at", OutputValue::Time),
        always("status", OutputValue::Words(ClaimStatus::ALL.map(ClaimStatus::as_str).into())),
        always("expired", OutputValue::Truth),
        always("valid_until", maybe(OutputValue::Time)),
        always("evidence", list(OutputValue::Named(OutputObject::Evidence))),
        always("attestations", list(OutputValue::Object(attestation))),
        always("refutation", maybe(OutputValue::Object(proof()))),
        always("supersedes", list(OutputValue::Text)),
        always("superseded_by", maybe(OutputValue::Text)),
    ]
}

fn report() -> OutputMembers {
    let noted = || {
        OutputValue::Object(vec![
            always("class", OutputValue::Text),
            always("artifact_id", OutputValue::Text),
            always("detail", OutputValue::Text),
        ])
    };
    let failure = OutputValue::Object(vec![
        always("class", OutputValue::Text),
        always("artifact_id", OutputValue::Text),
        always("pointer", OutputValue::Text),
        always("detail", OutputValue::Text),
    ]);
    let objection = OutputValue::Object(vec![
        always("artifact_id", OutputValue::Text),
        always("blocking", OutputValue::Truth),
        always("disposition", maybe(OutputValue::Text)),
    ]);
    vec![
        always("ok", OutputValue::Truth),
        always("targets", list(OutputValue::Text)),
        always("strict", OutputValue::Truth),
        always("artifact_count", OutputValue::Count),
        always("depth", OutputValue::Count),
        always("failures", list(failure)),
        always("objections", list(objection)),
        always("later_objections", list(noted())),
        always("warnings", list(noted())),
    ]
}

fn token() -> OutputMembers {
    vec![
        always("id", OutputValue::Text),
        always("identity", OutputValue::Text),
        always("author_kind", author_kind()),
        always("rights", list(OutputValue::Words(Right::ALL.map(Right::as_str).into()))),
        always("label", maybe(OutputValue::Text)),
        always("created_at", OutputValue::Time),
        always("expires_at", maybe(OutputValue::Time)),
        always("revoked_at", maybe(OutputValue::Time)),
    ]
}

fn problem() -> OutputMembers {
    let reasons = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    vec![
        always("type", OutputValue::Text),
        always("title", OutputValue::Text),
        always("status", OutputValue::Count),
        always("detail", OutputValue::Text),
        always("reason", OutputValue::Words(reasons)),
        sometimes("field", OutputValue::Text),
        sometimes("right", OutputValue::Words(Right::ALL.map(Right::as_str).into())),
        sometimes("thread", OutputValue::Text),
        sometimes("state", state()),
        sometimes("attempted", state()),
        sometimes("retry_after_ms", OutputValue::Count),
        sometimes("class", OutputValue::Text),
        sometimes("pointer", OutputValue::Text),
        sometimes("report", OutputValue::Named(OutputObject::Report)),
        sometimes("failure_artifact", OutputValue::Text),
    ]
}

/// The manifest, as far as programs look into it.
fn manifest() -> OutputValue {
    let row = |members: OutputMembers| list(OutputValue::Object(members));
    OutputValue::Object(vec![
        always("parley", OutputValue::Words(vec!["1"])),
        always(
            "implementation",
            OutputValue::Object(vec![
                always("name", OutputValue::Text),
                always("version", OutputValue::Text),
            ]),
        ),
        always("realm", OutputValue::Text),
        always("instance", OutputValue::Text),
        always("era", OutputValue::Count),
        always("unicode", OutputValue::Text),
        always("transports", OutputValue::AnyObject),
        always("envelope", OutputValue::AnyObject),
        always(
            "acts",
            row(vec![
                always("kind", OutputValue::Text),
                always("purpose", OutputValue::Text),
                always(
                    "parent",
                    OutputValue::Words(ParentRule::ALL.map(ParentRule::as_str).into()),
                ),
                always("expects_reply", OutputValue::Truth),
                always("mark", maybe(state())),
            ]),
        ),
        always(
            "states",
            row(vec![
                always("state", state()),
                always("kind", OutputValue::Words(vec!["line", "side"])),
                always("next", list(state())),
            ]),
        ),
        always("authority", list(OutputValue::AnyObject)),
        always("rights", list(OutputValue::AnyObject)),
        always("limits", OutputValue::AnyObject),
        always(
            "reasons",
            row(vec![
                always("reason", OutputValue::Text),
                always("status", OutputValue::Count),
                always("meaning", OutputValue::Text),
            ]),
        ),
        always(
            "profiles",
            row(vec![
                always("name", OutputValue::Text),
                always("version", OutputValue::Text),
                always("operations", list(OutputValue::Text)),
            ]),
        ),
        always("evidence_kinds", list(OutputValue::Text)),
        always("languages", list(OutputValue::Text)),
    ])
}
