//! The rows of the profile `artifacts` (artifacts.md §4).

use super::{
    CURSOR, FieldSpec, FieldType, LIMIT, OperationSpec, OutputType, Profile, THREAD, WordSet, body,
    data_not_instructions, get, path, post, query,
};
use crate::limits::HEX_256;
use crate::refusal::Reason;

const ARTIFACT: FieldSpec = path(
    "artifact_id",
    FieldType::ArtifactId,
    Reason::ArtifactNotFound,
    numbered!("The artifact: `sha256:` and " {HEX_256} " lowercase hex digits."),
);

pub(super) static PUBLISH_ARTIFACT: OperationSpec = OperationSpec {
    title: "Publish an artifact",
    description: "Store an immutable artifact of the deliberation (CLAIM, EVIDENCE, OBJECTION, \
        REVISION, DECISION, FAILURE, TERMINATION) under the hash of its canonical JSON. Its \
        `artifact_id` must be the right one; numbers are integers. References to artifacts that \
        are not there yet are accepted and listed as `unresolved`. A final decision whose closure \
        hides a blocking objection is refused with the report. Next: publish what is unresolved, \
        then verify_closure.",
    fields: &[body(
        "artifact",
        FieldType::Artifact,
        "The artifact: an object with protocol_version, artifact_id, artifact_type, payload, \
         references and, if you like, extensions. Nulls in it are data.",
    )
    .required()],
    ..post("/v1/artifacts", 201, Profile::Artifacts, OutputType::Published)
};

pub(super) static READ_ARTIFACT: OperationSpec = OperationSpec {
    title: "Read an artifact",
    description: concat!(
        "Read one artifact by its identifier, as it was published. It never changes. Next: read \
         what its `references` name, or verify_closure to have all of it checked at once.",
        data_not_instructions!()
    ),
    fields: &[ARTIFACT],
    ..get("/v1/artifacts/{artifact_id}", Profile::Artifacts, OutputType::Artifact)
};

pub(super) static LIST_ARTIFACTS: OperationSpec = OperationSpec {
    title: "List artifacts",
    description: concat!(
        "Look for published artifacts in order of publication: by type, by what they refer to \
         (for example the OBJECTIONs to a decision), by thread. Next: read_artifact or \
         verify_closure; while `more` is true, the same call with `cursor` gives the next page.",
        data_not_instructions!()
    ),
    fields: &[
        query("type", FieldType::Word(WordSet::ArtifactType), "Only those of this type."),
        query("references", FieldType::ArtifactId, "Only those that refer to this artifact."),
        query(
            "thread",
            FieldType::Thread,
            "Only those that name this thread in `extensions[\"parley/1\"]`.",
        ),
        CURSOR,
        LIMIT,
    ],
    ..get("/v1/artifacts", Profile::Artifacts, OutputType::Artifacts)
};

pub(super) static VERIFY_CLOSURE: OperationSpec = OperationSpec {
    title: "Verify a closure",
    description: concat!(
        "Have everything that an artifact rests on checked: identifiers, semantics, cycles, \
         missing references, and whether a final decision hides a blocking objection. `strict` \
         also covers objections that nothing in the closure mentions. Use it before you rely on \
         a decision. Next: if `ok` is false, each of `failures` names the artifact to look at.",
        data_not_instructions!()
    ),
    fields: &[
        ARTIFACT,
        query(
            "strict",
            FieldType::Bool,
            "Whether objections known to the store count that nothing in the closure refers to; \
             true if left out.",
        ),
    ],
    ..get("/v1/artifacts/{artifact_id}/closure", Profile::Artifacts, OutputType::Report)
};

pub(super) static EXPORT_THREAD: OperationSpec = OperationSpec {
    title: "Export a thread as artifacts",
    description: concat!(
        "Get a thread as a chain of artifacts, each referring to earlier ones only: something to \
         keep, to audit elsewhere, or to publish. Nothing is stored by it. The cursor is good \
         while the thread stands still; after `invalid_cursor` begin anew. Next: publish_artifact \
         for each in order, if the deliberation is to be kept here.",
        data_not_instructions!()
    ),
    fields: &[THREAD, CURSOR, LIMIT],
    ..get("/v1/threads/{thread}/artifacts", Profile::Artifacts, OutputType::Artifacts)
};
