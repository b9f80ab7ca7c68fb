//! Performs the operations of artifacts.md §4 on the append-only history of artifacts, each named
//! by its digest. A decision whose closure does not verify is refused.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use parley_protocol::arguments::{content_digest_of_artifact, key_digest};
use parley_protocol::artifact::closure::{ArtifactStore, Candidate, VerifyOptions, verify};
use parley_protocol::artifact::{
    ArtifactType, CLOSURE_ARTIFACTS_REMOTE_MAX, ClosureReport, Identifier, TerminationState, Valid,
    Violation, ViolationClass, canonicalize, identity, validate,
};
use parley_protocol::command::ArtifactQuery;
use parley_protocol::entry::{Entry, KeyUse, Published, StoredOutcome};
use parley_protocol::identity::Principal;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::wire::{self, JsonBuffer};
use serde_json::json;
use tokio::sync::OwnedRwLockWriteGuard;

use super::Forum;
use super::answer::Answer;
use super::read::SCAN_ROWS_MAX;
use crate::budget::Holder;
use crate::journal::view::{PlacedArtifact, ScanLimits, View};
use crate::work_pool::StopFlag;

/// Verifications of one artifact before it is refused because others keep changing its closure.
const VERIFICATIONS_MAX: usize = 3;
/// References of a stored `FAILURE` to the artifacts at fault.
const NAMED_MAX: usize = 255;

impl Forum {
    pub(super) async fn publish(
        &self,
        principal: &Principal,
        bytes: Box<[u8]>,
        key: Option<&str>,
    ) -> Result<Answer> {
        // Off the runtime: canonical form and digest of a large artifact take long.
        let validated = move |_: &Self| named(&bytes);
        let valid = self.aside(principal, validated).await?;
        self.count_write(principal)?;
        let used = key.map(|key| KeyUse {
            key: key_digest(&principal.identity, key),
            content: content_digest_of_artifact(valid.id.digest()),
        });
        let (forum, caller) = (self.clone(), principal.clone());
        let first = async move {
            let answer = forum.publish_once(&caller, Arc::new(valid), used).await?;
            let known =
                (answer.status == 200).then(|| StoredOutcome::Published(answer.body[..].into()));
            Ok((answer, known))
        };
        match used {
            Some(used) => self.once(principal, used, None, first).await,
            None => self.detached(async { first.await.map(|(answer, _)| answer) }).await,
        }
    }

    async fn publish_once(
        &self,
        principal: &Principal,
        valid: Arc<Valid>,
        key: Option<KeyUse>,
    ) -> Result<Answer> {
        // Concurrent calls with the same artifact publish it once.
        let mut digest = [0; 16];
        digest.copy_from_slice(&valid.id.digest()[..16]);
        let _publishing = self.inner.in_flight_artifacts.acquire(digest).await;
        let decided = if is_gated(&valid) {
            match self.verify_candidate(principal, &valid).await? {
                Verified::Known(answer) => return Ok(answer),
                Verified::Gate(gate) => Some(gate),
            }
        } else {
            None
        };
        let beside = match &decided {
            Some(_) => None,
            None => Some(Arc::clone(&self.inner.closure_gate).read_owned().await),
        };
        let permit = self.write_permit().await?;
        let candidate = Arc::clone(&valid);
        let references = references_of(&valid);
        let named = references.clone();
        let looked_up = move |forum: &Self| {
            let view = forum.view();
            let answer = published_answer(candidate.id, &view.unresolved(&named)?);
            Ok((answer, view.artifact_entry(candidate.id.digest())?.is_some()))
        };
        let (answer, is_known) = self.aside(principal, looked_up).await?;
        if is_known {
            return Ok(Answer::ok(answer));
        }
        let key = key.map(|key| (key, answer.clone().into_boxed_slice()));
        let artifact = self.published(&valid, valid.canonical.bytes(), references, key);
        self.store(Entry::Artifact(Box::new(artifact)), Some(permit)).await?;
        drop((decided, beside));
        Ok(Answer::ok(answer).with_status(201))
    }

    /// Verifies the strict closure of an artifact that is not stored yet, outside of the gate, and
    /// gives the gate, held, once no artifact that came meanwhile changes the report: each
    /// objection that is stored before the artifact must be in it.
    ///
    /// # Errors
    /// 409 `closure_refused`; 503 `overloaded` if too many are being verified, or if others keep
    /// changing the closure.
    async fn verify_candidate(
        &self,
        principal: &Principal,
        valid: &Arc<Valid>,
    ) -> Result<Verified> {
        let holder = Holder::Identity(Arc::clone(&principal.identity));
        let _deciding = self.inner.deciding.hold(&holder, 1)?;
        for _ in 0..VERIFICATIONS_MAX {
            let (forum, candidate) = (self.clone(), Arc::clone(valid));
            let verified = move || forum.verify_once(&candidate);
            let closure = match self.inner.long_reads.run(&principal.identity, verified).await? {
                VerifiedOnce::Known(answer) => return Ok(Verified::Known(answer)),
                VerifiedOnce::Refused(view, report) => {
                    return Err(self.refuse_closure(&view, valid.id, &report).await?);
                }
                VerifiedOnce::Good(closure) => closure,
            };
            let gate = Arc::clone(&self.inner.closure_gate).write_owned().await;
            let unchanged = move |forum: &Self| closure.is_unchanged(&forum.view());
            if self.aside(principal, unchanged).await? {
                return Ok(Verified::Gate(gate));
            }
        }
        Err(Refusal::overloaded())
    }

    fn verify_once(&self, valid: &Valid) -> Result<VerifiedOnce> {
        let view = self.view();
        if view.artifact_entry(valid.id.digest())?.is_some() {
            let answer = published_answer(valid.id, &view.unresolved(&references_of(valid))?);
            return Ok(VerifiedOnce::Known(Answer::ok(answer)));
        }
        let options = VerifyOptions { strict: true, artifacts_max: CLOSURE_ARTIFACTS_REMOTE_MAX };
        let store = self.stored_artifacts(&view);
        let bytes = valid.canonical.bytes();
        let candidate = Candidate { store: &store, id: valid.id, bytes: &bytes };
        let report = verify(&candidate, &[valid.id], options)?;
        if !report.ok {
            return Ok(VerifiedOnce::Refused(view, Box::new(report)));
        }
        let mut members = store.loaded.into_inner();
        members.insert(*valid.id.digest());
        Ok(VerifiedOnce::Good(VerifiedClosure { members, upto: view.last() }))
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

    pub(super) fn verify_closure(&self, view: &View, id: [u8; 32], strict: bool) -> Result<Answer> {
        view.artifact_entry(&id)?.ok_or_else(Refusal::artifact_not_found)?;
        let store = self.stored_artifacts(view);
        let options = VerifyOptions { strict, artifacts_max: CLOSURE_ARTIFACTS_REMOTE_MAX };
        let report = verify(&store, &[Identifier::from_digest(id)], options)?;
        Ok(Answer::ok(serde_json::to_vec(&report).map_err(|_| Refusal::internal())?))
    }

    pub(super) fn list_artifacts(&self, view: &View, query: &ArtifactQuery) -> Result<Answer> {
        let kind = format!("artifacts {:?} {:?} {:?}", query.kind, query.references, query.thread);
        let after = self.list_start(&kind, &query.page)?;
        self.list(
            |takes| view.artifacts(query, after, self.page(&query.page), takes),
            |out, found| out.extend_from_slice(&found.published().bytes),
            |scan| self.list_cursor(&kind, scan.next),
        )
    }

    /// The artifacts of `view`, until the server stops.
    fn stored_artifacts(&self, view: &View) -> PublishedArtifacts {
        let stop = self.inner.long_reads.stop_flag();
        PublishedArtifacts { view: view.clone(), stop, loaded: RefCell::default() }
    }
}

/// The published artifacts of one view, as a closure reads them; refused once the server stops.
struct PublishedArtifacts {
    view: View,
    stop: StopFlag,
    /// The artifacts that were asked for.
    loaded: RefCell<HashSet<[u8; 32]>>,
}

impl ArtifactStore for PublishedArtifacts {
    type Error = Refusal;

    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>> {
        if self.stop.is_set() {
            return Err(Refusal::shutting_down());
        }
        self.loaded.borrow_mut().insert(*id.digest());
        Ok(self.view.artifact(id.digest())?.map(|found| found.published().bytes.to_vec()))
    }

    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>> {
        // One more than a closure may hold, so that too many show.
        let (found, _) = self.view.objections_to(id.digest(), CLOSURE_ARTIFACTS_REMOTE_MAX + 1)?;
        Ok(found.into_iter().map(Identifier::from_digest).collect())
    }

    fn order(&self, id: &Identifier) -> Result<Option<u64>> {
        Ok(self.view.artifact_entry(id.digest())?)
    }
}

/// The outcome of one verification of a candidate.
enum VerifiedOnce {
    /// It is stored already.
    Known(Answer),
    /// Its closure does not verify in this view.
    Refused(View, Box<ClosureReport>),
    /// Its closure verifies.
    Good(VerifiedClosure),
}

/// The same, once nothing that came meanwhile changes it.
enum Verified {
    Known(Answer),
    Gate(OwnedRwLockWriteGuard<()>),
}

/// A closure that verifies, as of one entry.
struct VerifiedClosure {
    members: HashSet<[u8; 32]>,
    upto: u64,
}

impl VerifiedClosure {
    /// Whether no objection to a member has come since, among the artifacts of `view`. All
    /// references of a closure that verifies resolve, so nothing else can change it.
    fn is_unchanged(&self, view: &View) -> Result<bool> {
        let objection = Some(ArtifactType::Objection.as_str().into());
        let query = ArtifactQuery { kind: objection, ..ArtifactQuery::default() };
        let page = ScanLimits { limit: 1, scan_max: SCAN_ROWS_MAX };
        let objects = |found: &PlacedArtifact| {
            found.published().references.iter().any(|id| self.members.contains(id))
        };
        let mut after = self.upto;
        loop {
            let mut is_changed = false;
            let found = view.artifacts(&query, Some(after), page, &mut |found| {
                is_changed |= objects(found);
                Ok(true)
            })?;
            if is_changed || !found.more {
                return Ok(!is_changed);
            }
            after = found.next;
        }
    }
}

/// The artifacts that `valid` refers to, each once.
fn references_of(valid: &Valid) -> Vec<[u8; 32]> {
    let mut references: Vec<[u8; 32]> = Vec::new();
    for reference in &valid.content.references {
        if !references.contains(reference.artifact_id.digest()) {
            references.push(*reference.artifact_id.digest());
        }
    }
    references
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

/// The artifact to publish: an absent identifier is filled in (artifacts.md §4).
fn named(bytes: &[u8]) -> Result<Valid> {
    let refused = |violations: Vec<Violation>, computed: Option<Identifier>| {
        violations.first().map_or_else(Refusal::internal, |first| {
            let computed = computed.map(|id| format!(" It is {id}.")).unwrap_or_default();
            let detail = format!("{}{computed}", first.detail);
            Refusal::artifact_invalid(first.class.as_str(), &first.pointer, &detail)
        })
    };
    let violations = match validate(bytes) {
        Ok(valid) => return Ok(valid),
        Err(violations) => violations,
    };
    let Some(class) = violations.first().map(|first| first.class) else {
        return Err(Refusal::internal());
    };
    let Ok(canonical) = canonicalize(bytes) else { return Err(refused(violations, None)) };
    let id = identity::compute(&canonical);
    let is_absent = canonical.body().get("artifact_id").is_none();
    if class == ViolationClass::InvalidArtifactIdentifierSyntax && is_absent {
        let unnamed = canonical.bytes();
        let rest = unnamed.get(1..).unwrap_or_default();
        let comma = if rest == b"}" { "" } else { "," };
        let mut named = format!("{{\"artifact_id\":\"{id}\"{comma}").into_bytes();
        named.extend_from_slice(rest);
        return validate(&named).map_err(|violations| refused(violations, None));
    }
    let is_another = class == ViolationClass::ArtifactIdentifierMismatch;
    Err(refused(violations, is_another.then_some(id)))
}
