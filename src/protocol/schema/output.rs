//! The answers of operations (bindings.md §2, §3; artifacts.md §3.2, §4) and of what stands beside
//! them, as types.

use super::shape::{Named, Type, always, list, maybe, sometimes};
use crate::act::Kind;
use crate::claim::{EvidenceKind, Status};
use crate::operation::{Output, Words};
use crate::refusal::Reason;
use crate::state::{Origin, State};
use crate::who::{AuthorKind, Right};

fn state() -> Type {
    Type::Words(State::ALL.map(State::word).into())
}

fn author_kind() -> Type {
    Type::Words([AuthorKind::Human, AuthorKind::Llm].map(AuthorKind::word).into())
}

fn origin() -> Type {
    Type::Words([Origin::User, Origin::Llm].map(Origin::word).into())
}

fn due() -> Type {
    Type::Either(Box::new(Type::Words(vec!["anyone"])), Box::new(Type::Named(Named::Participant)))
}

/// A list of `of`, as all lists are.
pub(super) fn page(of: Type) -> Type {
    Type::Object(vec![
        always("items", list(of)),
        always("cursor", Type::Text),
        always("more", Type::Truth),
    ])
}

impl Output {
    /// The type of the answer.
    pub(super) fn of(self) -> Type {
        match self {
            Self::Manifest => manifest(),
            Self::Posted => Type::Object(vec![
                always("message", Type::Named(Named::Message)),
                always("thread", Type::Named(Named::Thread)),
            ]),
            Self::Threads => page(Type::Named(Named::Thread)),
            Self::Reading => reading(),
            Self::Events => page(Type::Named(Named::Event)),
            Self::Marked => Type::Object(vec![
                always("thread", Type::Named(Named::Thread)),
                always("event", maybe(Type::Named(Named::Event))),
            ]),
            Self::Inbox => page(Type::Object(vec![
                always("thread", Type::Named(Named::Thread)),
                always("message", Type::Named(Named::Message)),
            ])),
            Self::ClaimChanged => Type::Object(vec![always("claim", Type::Named(Named::Claim))]),
            Self::Claim => Type::Named(Named::Claim),
            Self::Claims => page(Type::Named(Named::Claim)),
            Self::Published => Type::Object(vec![
                always("artifact_id", Type::Text),
                always("unresolved", list(Type::Text)),
            ]),
            Self::Artifact => Type::Named(Named::Artifact),
            Self::Artifacts => page(Type::Named(Named::Artifact)),
            Self::Report => Type::Named(Named::Report),
        }
    }
}

impl Named {
    /// The type behind the name.
    pub(super) fn of(self) -> Type {
        Type::Object(match self {
            Self::Participant => {
                vec![always("identity", Type::Text), always("extension", maybe(Type::Text))]
            }
            Self::Awaiting => vec![
                always("message", Type::Text),
                always("due", due()),
                always("since", Type::Time),
            ],
            Self::Message => message(),
            Self::ShownMessage => {
                let replies = sometimes("replies", list(Type::Within(Self::ShownMessage)));
                message().into_iter().chain([replies]).collect()
            }
            Self::Thread => thread(),
            Self::Event => event(),
            Self::Evidence => vec![
                always("kind", Type::Words(EvidenceKind::ALL.map(EvidenceKind::word).into())),
                always("ref", Type::Text),
                always("note", maybe(Type::Text)),
            ],
            Self::Claim => claim(),
            Self::Artifact => vec![
                always("protocol_version", Type::Text),
                always("artifact_id", Type::Text),
                always("artifact_type", Type::Words(Words::ArtifactType.list())),
                always("payload", Type::AnyObject),
                always("references", list(Type::AnyObject)),
                sometimes("extensions", Type::AnyObject),
            ],
            Self::Report => report(),
            Self::Token => token(),
            Self::Problem => problem(),
        })
    }
}

type Members = Vec<super::shape::Member>;

fn message() -> Members {
    let retracted = Type::Object(vec![
        always("by", Type::Named(Named::Participant)),
        always("at", Type::Time),
        always("message", Type::Text),
    ]);
    let provenance =
        Type::Object(vec![always("model", maybe(Type::Text)), always("client", maybe(Type::Text))]);
    vec![
        always("id", Type::Text),
        always("thread", Type::Text),
        always("parent", maybe(Type::Text)),
        always("kind", Type::Words(Kind::ALL.map(Kind::word).into())),
        always("from", Type::Named(Named::Participant)),
        always("author_kind", author_kind()),
        always("label", maybe(Type::Text)),
        always("body", Type::Text),
        always("provenance", maybe(provenance)),
        always("created_at", Type::Time),
        always("awaiting", maybe(Type::Named(Named::Awaiting))),
        always("retracted", maybe(retracted)),
    ]
}

fn thread() -> Members {
    vec![
        always("id", Type::Text),
        always("number", Type::Count),
        always("created_at", Type::Time),
        always("updated_at", Type::Time),
        always("creator", Type::Named(Named::Participant)),
        always("author_kind", author_kind()),
        always("subject", Type::Text),
        always("state", state()),
        always("state_origin", origin()),
        always("state_confirmed_at", maybe(Type::Time)),
        always("state_label", maybe(Type::Text)),
        always("locked", Type::Truth),
        always("awaiting", maybe(Type::Named(Named::Awaiting))),
        always("turn", maybe(due())),
        always("message_count", Type::Count),
        always("claim_count", Type::Count),
        always("cursor", Type::Text),
    ]
}

fn reading() -> Type {
    let messages = always("messages", list(Type::Named(Named::ShownMessage)));
    let more = sometimes("more", Type::Truth);
    Type::Object(thread().into_iter().chain([messages, more]).collect())
}

fn event() -> Members {
    vec![
        always("id", Type::Text),
        always("thread", Type::Text),
        always("from", maybe(state())),
        always("to", state()),
        always("origin", origin()),
        always("confirmed", Type::Truth),
        always("label", maybe(Type::Text)),
        always("by", Type::Named(Named::Participant)),
        always("at", Type::Time),
        always("message", maybe(Type::Text)),
        always("reason", maybe(Type::Text)),
    ]
}

fn claim() -> Members {
    let proof = || {
        vec![
            always("by", Type::Named(Named::Participant)),
            always("at", Type::Time),
            always("evidence", list(Type::Named(Named::Evidence))),
        ]
    };
    let attestation = proof().into_iter().chain([always("seal", Type::Truth)]).collect();
    vec![
        always("id", Type::Text),
        always("thread", Type::Text),
        always("statement", Type::Text),
        always("author", Type::Named(Named::Participant)),
        always("author_kind", author_kind()),
        always("created_at", Type::Time),
        always("status", Type::Words(Status::ALL.map(Status::word).into())),
        always("expired", Type::Truth),
        always("valid_until", maybe(Type::Time)),
        always("evidence", list(Type::Named(Named::Evidence))),
        always("attestations", list(Type::Object(attestation))),
        always("refutation", maybe(Type::Object(proof()))),
        always("supersedes", list(Type::Text)),
        always("superseded_by", maybe(Type::Text)),
    ]
}

fn report() -> Members {
    let noted = || {
        Type::Object(vec![
            always("class", Type::Text),
            always("artifact_id", Type::Text),
            always("detail", Type::Text),
        ])
    };
    let failure = Type::Object(vec![
        always("class", Type::Text),
        always("artifact_id", Type::Text),
        always("pointer", Type::Text),
        always("detail", Type::Text),
    ]);
    let objection = Type::Object(vec![
        always("artifact_id", Type::Text),
        always("blocking", Type::Truth),
        always("disposition", maybe(Type::Text)),
    ]);
    vec![
        always("ok", Type::Truth),
        always("targets", list(Type::Text)),
        always("strict", Type::Truth),
        always("artifact_count", Type::Count),
        always("depth", Type::Count),
        always("failures", list(failure)),
        always("objections", list(objection)),
        always("later_objections", list(noted())),
        always("warnings", list(noted())),
    ]
}

fn token() -> Members {
    vec![
        always("id", Type::Text),
        always("identity", Type::Text),
        always("author_kind", author_kind()),
        always("rights", list(Type::Words(Right::ALL.map(Right::word).into()))),
        always("label", maybe(Type::Text)),
        always("created_at", Type::Time),
        always("expires_at", maybe(Type::Time)),
        always("revoked_at", maybe(Type::Time)),
    ]
}

fn problem() -> Members {
    let reasons = Reason::ALL.iter().map(|reason| reason.word()).collect();
    vec![
        always("type", Type::Text),
        always("title", Type::Text),
        always("status", Type::Count),
        always("detail", Type::Text),
        always("reason", Type::Words(reasons)),
        sometimes("field", Type::Text),
        sometimes("right", Type::Words(Right::ALL.map(Right::word).into())),
        sometimes("thread", Type::Text),
        sometimes("state", state()),
        sometimes("attempted", state()),
        sometimes("retry_after_ms", Type::Count),
        sometimes("class", Type::Text),
        sometimes("pointer", Type::Text),
        sometimes("report", Type::Named(Named::Report)),
        sometimes("failure_artifact", Type::Text),
    ]
}

/// The manifest, as far as programs look into it.
fn manifest() -> Type {
    let row = |members: Members| list(Type::Object(members));
    Type::Object(vec![
        always("parley", Type::Words(vec!["1"])),
        always(
            "implementation",
            Type::Object(vec![always("name", Type::Text), always("version", Type::Text)]),
        ),
        always("realm", Type::Text),
        always("instance", Type::Text),
        always("era", Type::Count),
        always("unicode", Type::Text),
        always("transports", Type::AnyObject),
        always("envelope", Type::AnyObject),
        always(
            "acts",
            row(vec![
                always("kind", Type::Text),
                always("purpose", Type::Text),
                always("parent", Type::Words(vec!["optional", "reply", "required"])),
                always("expects_reply", Type::Truth),
                always("mark", maybe(state())),
            ]),
        ),
        always(
            "states",
            row(vec![
                always("state", state()),
                always("kind", Type::Words(vec!["line", "side"])),
                always("next", list(state())),
            ]),
        ),
        always("authority", list(Type::AnyObject)),
        always("rights", list(Type::AnyObject)),
        always("limits", Type::AnyObject),
        always(
            "reasons",
            row(vec![
                always("reason", Type::Text),
                always("status", Type::Count),
                always("meaning", Type::Text),
            ]),
        ),
        always(
            "profiles",
            row(vec![
                always("name", Type::Text),
                always("version", Type::Text),
                always("operations", list(Type::Text)),
            ]),
        ),
        always("evidence_kinds", list(Type::Text)),
        always("languages", list(Type::Text)),
    ])
}
