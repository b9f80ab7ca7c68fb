//! The arguments of `publish_artifact`. An artifact is judged by its own text, faults included, so
//! only its range is found here.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{KEY_ARGUMENT, NO_OBJECT, at_fault, fault_detail, key_argument, unknown};
use crate::command::Call;
use crate::json::{JsonFaultKind, parse_keeping_surrogates};
use crate::operation::{FieldPlace, Operation};
use crate::refusal::{Refusal, Result};

const OPERATION: Operation = Operation::PublishArtifact;
const ARTIFACT: &str = "artifact";

/// The members of an object, each with its text.
struct ArtifactMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for ArtifactMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArtifactMembersVisitor;
        impl<'de> Visitor<'de> for ArtifactMembersVisitor {
            type Value = ArtifactMembers<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(ArtifactMembers(members))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(ArtifactMembers(Vec::new()))
            }
        }
        deserializer.deserialize_any(ArtifactMembersVisitor)
    }
}

pub(super) fn read(arguments: &[u8]) -> Result<(Call, Option<Box<str>>)> {
    let arguments = if arguments.is_empty() { b"{}" } else { arguments };
    let Ok(ArtifactMembers(members)) = serde_json::from_slice(arguments) else {
        return Err(Refusal::body(None, NO_OBJECT));
    };
    let (mut artifact, mut key) = (None, None);
    for (name, raw) in &members {
        let text = raw.get().as_bytes();
        match name.as_str() {
            ARTIFACT => put(&mut artifact, FieldPlace::Body, ARTIFACT, text)?,
            KEY_ARGUMENT => put(&mut key, FieldPlace::Query, KEY_ARGUMENT, text)?,
            other => return Err(unknown(OPERATION, FieldPlace::Body, other)),
        }
    }
    let key = match key {
        None => None,
        Some(text) => {
            let value = parse_keeping_surrogates(text, 1).map_err(|fault| {
                at_fault(
                    FieldPlace::Query,
                    Some(KEY_ARGUMENT.to_owned()),
                    fault_detail(fault.kind).into(),
                )
            })?;
            key_argument(OPERATION, &value)?
        }
    };
    match artifact.filter(|text| *text != b"null") {
        Some(text) => Ok((Call::PublishArtifact(text.into()), key)),
        None => {
            let detail = "`artifact` is required: the artifact itself, an object.";
            Err(Refusal::body(ARTIFACT.to_owned(), detail))
        }
    }
}

/// Takes the text of a member that may be there once.
fn put<'a>(
    slot: &mut Option<&'a [u8]>,
    place: FieldPlace,
    name: &str,
    text: &'a [u8],
) -> Result<()> {
    match slot.replace(text) {
        None => Ok(()),
        Some(_) => {
            let detail = fault_detail(JsonFaultKind::Duplicate);
            Err(at_fault(place, Some(name.to_owned()), detail.into()))
        }
    }
}
