//! Performs the operations of artifacts.md §4 on the append-only history of artifacts, each named
//! by its digest. A decision whose closure does not verify is refused.

use std::sync::Arc;

use parley_protocol::arguments::{content_digest_of_artifact, key_digest};
use parley_protocol::artifact::closure::{ArtifactStore, Candidate, VerifyOptions, verify};
use parley_protocol::artifact::{
    ArtifactType, CLOSURE_ARTIFACTS_REMOTE_MAX, ClosureReport, Identifier, TerminationState, Valid,
    canonicalize, identity, validate,
};
use parley_protocol::command::ArtifactQuery;
use parley_protocol::entry::{Entry, KeyUse, Published, StoredOutcome};
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::wire::{self, JsonBuffer};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::answer::Answer;
use super::read::list_answer;
use super::{Forum, blocking};
use crate::journal::view::View;
use crate::storage::error::StoreError;

/// References of a stored `FAILURE` to the artifacts at fault.
const NAMED_MAX: usize = 255;

impl Forum {
    pub(super) async fn publish(
        &self,
        principal: &Principal,
        bytes: Box<[u8]>,
        key: Option<&str>,
    ) -> Result<Answer> {
        let valid = validate(&bytes).map_err(|violations| invalid(&violations))?;
        let permit = self.admit_write(principal).await?;
        let used = key.map(|key| KeyUse {
            key: key_digest(&principal.identity, key),
            content: content_digest_of_artifact(valid.id.digest()),
        });
        let forum = self.clone();
        let first = async move {
            let answer = forum.publish_once(&valid, used, permit).await?;
            let known =
                (answer.status == 200).then(|| StoredOutcome::Published(answer.body[..].into()));
            Ok((answer, known))
        };
        match used {
            Some(used) => self.once(used, None, first).await,
            None => self.detached(async { first.await.map(|(answer, _)| answer) }).await,
        }
    }

    async fn publish_once(
        &self,
        valid: &Valid,
        key: Option<KeyUse>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Answer> {
        // Concurrent calls with the same artifact publish it once.
        let mut digest = [0; 16];
        digest.copy_from_slice(&valid.id.digest()[..16]);
        let _publishing = self.inner.in_flight_artifacts.acquire(digest).await;
        // A closure is verified with no other artifact on its way to the store: each objection that
        // is stored before must be in it.
        let gate = Arc::clone(&self.inner.closure_gate);
        let (_alone, _beside) = if is_gated(valid) {
            (Some(gate.write_owned().await), None)
        } else {
            (None, Some(gate.read_owned().await))
        };
        let view = self.view();
        let mut references: Vec<[u8; 32]> = Vec::new();
        for reference in &valid.content.references {
            if !references.contains(reference.artifact_id.digest()) {
                references.push(*reference.artifact_id.digest());
            }
        }
        let answer = published_answer(valid.id, &view.unresolved(&references)?);
        if view.artifact_entry(valid.id.digest())?.is_some() {
            return Ok(Answer::ok(answer));
        }
        let bytes = valid.canonical.bytes();
        if is_gated(valid) {
            let report = verify_candidate(view.clone(), valid.id, bytes.clone()).await?;
            if !report.ok {
                return Err(self.refuse_closure(&view, valid.id, &report).await?);
            }
        }
        let key = key.map(|key| (key, answer.clone().into_boxed_slice()));
        let artifact = self.published(valid, bytes, references, key);
        self.store(Entry::Artifact(Box::new(artifact)), Some(permit)).await?;
        Ok(Answer::ok(answer).with_status(201))
    }

    fn published(
        &self,
        valid: &Valid,
        bytes: Vec<u8>,
        references: Vec<[u8; 32]>,
        key: Option<(KeyUse, Box<[u8]>)>,
    ) -> Published {
        let kind = valid.content.artifact_type.map_or("", ArtifactType::as_str);
        Published {
            id: *valid.id.digest(),
            at: self.now(),
            bytes: bytes.into(),
            references,
            kind: kind.into(),
            thread: thread_of(valid),
            key,
        }
    }

    /// 409 `closure_refused`, and stores a `FAILURE` with the reasons: the same ones, the same
    /// artifact.
    async fn refuse_closure(
        &self,
        view: &View,
        subject: Identifier,
        report: &ClosureReport,
    ) -> Result<Refusal> {
        let failure = failure_of(view, subject, report)?;
        let id = failure.id;
        if view.artifact_entry(id.digest())?.is_none() {
            let references =
                failure.content.references.iter().map(|one| *one.artifact_id.digest()).collect();
            let bytes = failure.canonical.bytes();
            let artifact = self.published(&failure, bytes, references, None);
            self.store(Entry::Artifact(Box::new(artifact)), None).await?;
        }
        Ok(Refusal::closure_refused(report.excerpt(), id.to_string()))
    }

    pub(super) fn read_artifact(view: &View, id: &[u8; 32]) -> Result<Answer> {
        let found = view.artifact(id)?.ok_or_else(Refusal::artifact_not_found)?;
        Ok(Answer::ok(found.published().bytes.to_vec()))
    }

    pub(super) async fn verify_closure(view: &View, id: [u8; 32], strict: bool) -> Result<Answer> {
        view.artifact_entry(&id)?.ok_or_else(Refusal::artifact_not_found)?;
        let (store, id) = (PublishedArtifacts(view.clone()), Identifier::from_digest(id));
        let options = VerifyOptions { strict, artifacts_max: CLOSURE_ARTIFACTS_REMOTE_MAX };
        let report = blocking(move || verify(&store, &[id], options)).await?;
        Ok(Answer::ok(serde_json::to_vec(&report).map_err(|_| Refusal::internal())?))
    }

    pub(super) fn list_artifacts(&self, view: &View, query: &ArtifactQuery) -> Result<Answer> {
        let kind = format!("artifacts {:?} {:?} {:?}", query.kind, query.references, query.thread);
        let after = self.list_start(&kind, &query.page)?;
        let scan = view.artifacts(query, after, self.page(&query.page))?;
        let end = self.list_cursor(&kind, scan.next);
        Ok(list_answer(&scan.items, &end, scan.more, |out, found| {
            out.extend_from_slice(&found.published().bytes);
        }))
    }
}

/// The published artifacts of one view, as a closure reads them.
struct PublishedArtifacts(View);

impl ArtifactStore for PublishedArtifacts {
    type Error = StoreError;

    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.artifact(id.digest())?.map(|found| found.published().bytes.to_vec()))
    }

    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>, StoreError> {
        // One more than a closure may hold, so that too many show.
        let (found, _) = self.0.objections_to(id.digest(), CLOSURE_ARTIFACTS_REMOTE_MAX + 1)?;
        Ok(found.into_iter().map(Identifier::from_digest).collect())
    }

    fn order(&self, id: &Identifier) -> Result<Option<u64>, StoreError> {
        self.0.artifact_entry(id.digest())
    }
}

/// Verifies the strict closure of an artifact that is not stored yet.
async fn verify_candidate(view: View, id: Identifier, bytes: Vec<u8>) -> Result<ClosureReport> {
    let options = VerifyOptions { strict: true, artifacts_max: CLOSURE_ARTIFACTS_REMOTE_MAX };
    let store = PublishedArtifacts(view);
    blocking(move || verify(&Candidate { store: &store, id, bytes: &bytes }, &[id], options)).await
}

/// Whether publishing it needs a closure that verifies: a final decision, or a termination that
/// speaks of the objections.
fn is_gated(valid: &Valid) -> bool {
    let decides = valid.content.decision.as_ref().is_some_and(|decision| decision.is_final);
    let terminates = matches!(
        valid.content.state,
        Some(
            TerminationState::Completed | TerminationState::Deadlock | TerminationState::Exhausted
        )
    );
    decides || terminates
}

/// `extensions["parley/1"].thread`, if it is a well-formed identifier.
fn thread_of(valid: &Valid) -> Option<ThreadId> {
    let extensions = valid.canonical.body().get("extensions")?.as_object()?;
    let parley = extensions.get("parley/1")?.as_object()?;
    ThreadId::parse(parley.get("thread")?.as_str()?)
}

fn published_answer(id: Identifier, unresolved: &[[u8; 32]]) -> Vec<u8> {
    let mut out = JsonBuffer::new();
    let unresolved = unresolved.iter().map(|id| Identifier::from_digest(*id));
    wire::artifact_published(&mut out, id, unresolved);
    out
}

/// The `FAILURE` of a refused closure.
fn failure_of(view: &View, subject: Identifier, report: &ClosureReport) -> Result<Valid> {
    let mut classes: Vec<&str> = report.failures.iter().map(|one| one.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    let retryable = classes == ["reference_unavailable"];
    let mut named: Vec<Identifier> = Vec::new();
    for failure in &report.failures {
        if view.artifact_entry(failure.artifact_id.digest())?.is_some() {
            named.push(failure.artifact_id);
        }
    }
    named.sort_unstable();
    named.dedup();
    named.truncate(NAMED_MAX);
    let references: Vec<_> = named
        .iter()
        .map(|id| json!({ "artifact_id": id.to_string(), "relation": "considers" }))
        .collect();
    let mut body = json!({
        "protocol_version": "0.1",
        "artifact_type": "FAILURE",
        "payload": {
            "code": "closure_refused",
            "description": classes.join(","),
            "retryable": retryable,
            "subject": subject.to_string(),
        },
        "references": references,
    });
    let unnamed = canonicalize(body.to_string().as_bytes()).map_err(|_| Refusal::internal())?;
    body["artifact_id"] = identity::compute(&unnamed).to_string().into();
    validate(body.to_string().as_bytes()).map_err(|_| Refusal::internal())
}

fn invalid(violations: &[parley_protocol::artifact::Violation]) -> Refusal {
    violations.first().map_or_else(Refusal::internal, |first| {
        Refusal::artifact_invalid(first.class.as_str(), &first.pointer, first.detail)
    })
}
