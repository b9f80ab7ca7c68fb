//! The arguments of `publish_artifact`. An artifact is judged by its own text, faults included, so
//! only its range is found here.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::faults::ArgumentFaults;
use super::{KEY_ARGUMENT, NO_OBJECT, at_fault, fault_detail, key_argument, lenient, unknown};
use crate::command::Call;
use crate::json::{JsonFaultKind, parse_keeping_surrogates, token};
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
    let mut faults = ArgumentFaults::default();
    for (name, raw) in &members {
        let text = raw.get();
        match name.as_str() {
            ARTIFACT => put(&mut artifact, FieldPlace::Body, ARTIFACT, text)?,
            KEY_ARGUMENT => put(&mut key, FieldPlace::Query, KEY_ARGUMENT, text)?,
            other if lenient::IGNORED.contains(&other) => {}
            other => {
                let detail = unknown(OPERATION, FieldPlace::Body);
                faults.push(FieldPlace::Body, token(other), detail);
            }
        }
    }
    let key = key.map_or(Ok(None), |text| {
        let value = parse_keeping_surrogates(text.as_bytes(), 1);
        let value = value.map_err(|fault| Refusal::parameters(fault_detail(fault.kind)))?;
        key_argument(OPERATION, &value)
    });
    let key = key.unwrap_or_else(|refusal| {
        faults.push(FieldPlace::Query, KEY_ARGUMENT.to_owned(), refusal.detail);
        None
    });
    let artifact = artifact.filter(|text| *text != "null");
    if artifact.is_none() {
        let detail = "`artifact` is required: the artifact itself, an object.";
        faults.push(FieldPlace::Body, ARTIFACT.to_owned(), detail);
    }
    faults.refuse()?;
    let artifact = artifact.unwrap_or_default();
    let bytes = match lenient::text_of_object(artifact) {
        Some(text) => text.into_bytes().into_boxed_slice(),
        None => artifact.as_bytes().into(),
    };
    Ok((Call::PublishArtifact(bytes), key))
}

/// Takes the text of a member that may be there once.
fn put<'a>(slot: &mut Option<&'a str>, place: FieldPlace, name: &str, text: &'a str) -> Result<()> {
    match slot.replace(text) {
        None => Ok(()),
        Some(_) => {
            let detail = fault_detail(JsonFaultKind::Duplicate);
            Err(at_fault(place, Some(name.to_owned()), detail.into()))
        }
    }
}
