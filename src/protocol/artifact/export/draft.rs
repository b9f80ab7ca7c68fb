//! One artifact in the making.

use std::fmt::Display;

use sha2::{Digest, Sha256};

use super::super::canonical::of_object;
use super::super::semantics::PROTOCOL_VERSION;
use super::super::{ArtifactType, Identifier, Relation};
use super::Exported;
use crate::entry::{Act, Message};
use crate::identity::Participant;
use crate::ids::{ClaimId, EventId, MessageId, ThreadId};
use crate::json::{JsonMember, JsonObject, JsonValue};
use crate::time::Millis;

/// The source of an artifact: `extensions["parley/1"]`.
#[derive(Clone, Copy)]
pub(super) struct DraftSource<'a> {
    pub thread: ThreadId,
    pub message: Option<MessageId>,
    pub claim: Option<ClaimId>,
    pub event: Option<EventId>,
    pub act: &'a str,
    pub by: &'a Participant,
    pub at: Millis,
}

impl<'a> DraftSource<'a> {
    /// Of a message.
    pub fn message(act: &'a Act, message: &Message) -> Self {
        Self { message: Some(message.id), ..Self::of(act, message.kind.as_str()) }
    }

    /// Of an operation on a claim.
    pub fn claim(act: &'a Act, claim: ClaimId, word: &'a str) -> Self {
        Self { claim: Some(claim), ..Self::of(act, word) }
    }

    fn of(act: &'a Act, word: &'a str) -> Self {
        let Act { thread, at, by, .. } = act;
        Self { thread: *thread, message: None, claim: None, event: None, act: word, by, at: *at }
    }

    fn value(&self) -> JsonValue {
        let extension = self.by.extension.as_deref().map_or(JsonValue::Null, text);
        named([
            ("thread", shown(self.thread)),
            ("message", self.message.map_or(JsonValue::Null, shown)),
            ("claim", self.claim.map_or(JsonValue::Null, shown)),
            ("event", self.event.map_or(JsonValue::Null, shown)),
            ("act", text(self.act)),
            (
                "participant",
                named([("identity", text(&self.by.identity)), ("extension", extension)]),
            ),
            ("time", shown(self.at)),
        ])
    }
}

/// An artifact without its payload.
pub(super) struct ArtifactDraft<'s> {
    artifact_type: ArtifactType,
    source: &'s DraftSource<'s>,
    references: Vec<(Identifier, Relation)>,
}

impl<'s> ArtifactDraft<'s> {
    pub fn new(artifact_type: ArtifactType, source: &'s DraftSource<'s>) -> Self {
        Self { artifact_type, source, references: Vec::new() }
    }

    /// Adds a reference to `id`, if there is one, once.
    pub fn refer(&mut self, to: Option<Identifier>, relation: Relation) {
        let reference = to.map(|to| (to, relation));
        self.references.extend(reference.filter(|one| !self.references.contains(one)));
    }

    /// The artifact with this payload.
    pub fn finish<'n>(self, payload: impl IntoIterator<Item = (&'n str, JsonValue)>) -> Exported {
        let references = self.references.iter().map(|(id, relation)| {
            named([("artifact_id", shown(id)), ("relation", text(relation.as_str()))])
        });
        let body = object([
            ("artifact_type", text(self.artifact_type.as_str())),
            ("extensions", named([("parley/1", self.source.value())])),
            ("payload", named(payload)),
            ("protocol_version", text(PROTOCOL_VERSION)),
            ("references", JsonValue::Array(references.collect())),
        ]);
        let canonical = of_object(body).expect("its names differ and no number stands in it");
        let unnamed = canonical.bytes();
        let id = Identifier::from_digest(Sha256::digest(&unnamed).into());
        // Of all members `artifact_id` sorts first.
        let mut bytes = Vec::with_capacity(unnamed.len() + 88);
        bytes.extend_from_slice(b"{\"artifact_id\":\"");
        bytes.extend_from_slice(id.to_string().as_bytes());
        bytes.extend_from_slice(b"\",");
        bytes.extend_from_slice(&unnamed[1..]);
        Exported { id, bytes }
    }
}

/// A string.
pub(super) fn text(text: &str) -> JsonValue {
    JsonValue::String(text.to_owned())
}

/// An object of members whose names differ.
pub(super) fn named<'n>(members: impl IntoIterator<Item = (&'n str, JsonValue)>) -> JsonValue {
    JsonValue::Object(object(members))
}

/// A value as its text.
pub(super) fn shown(value: impl Display) -> JsonValue {
    JsonValue::String(value.to_string())
}

fn object<'n>(members: impl IntoIterator<Item = (&'n str, JsonValue)>) -> JsonObject {
    let members = members.into_iter();
    let members =
        members.map(|(name, value)| JsonMember { name: name.to_owned(), value, span: 0..0 });
    JsonObject::from_members(members.collect())
}
