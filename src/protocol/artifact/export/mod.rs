//! A thread as artifacts (`artifacts.md` §4.1): a chain whose every link names the one before it.
//!
//! Two passes over the acts, in order: a [`Survey`] learns what later acts have made of earlier
//! ones (which objections still block, which decision is final, how the thread ended), then an
//! [`Export`] gives the artifacts of one act after the other. Neither holds acts or bytes, so a
//! long thread can be exported as a stream. Acts decide alone: the same ones give the same bytes.

mod draft;
mod survey;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::content::ProvenanceClass;
use super::{ArtifactType, Identifier, Relation, TerminationState};
use crate::act::ExportForm;
use crate::claim::{Claim, Evidence, EvidenceKind};
use crate::entry::{Act, Change, Message};
use crate::ids::{ClaimId, MessageId};
use crate::json::JsonValue;
use crate::state::State;
use crate::text::is_visible;

use draft::{ArtifactDraft, DraftSource, named, shown, text};
pub use survey::Survey;
use survey::{Ending, Plan};

/// The most objections that a decision names; with more it is provisional (`artifacts.md` §4.1).
pub const OBJECTIONS_NAMED_MAX: usize = 300;

/// An artifact that an export gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its identifier.
    pub id: Identifier,
    /// The canonical bytes with `artifact_id`.
    pub bytes: Vec<u8>,
}

/// The artifacts of a thread whose acts are all at hand, in order; `acts` is gone through twice.
pub fn export<'a, I>(acts: I) -> impl Iterator<Item = Exported> + use<'a, I>
where
    I: IntoIterator<Item = &'a Act>,
    I::IntoIter: Clone + 'a,
{
    let acts = acts.into_iter();
    let mut survey = Survey::default();
    for act in acts.clone() {
        survey.see(act);
    }
    let mut export = Some(Export::new(survey));
    acts.map(Some).chain([None]).flat_map(move |act| match (act, &mut export) {
        (Some(act), Some(export)) => export.act(act),
        (_, export) => export.take().and_then(Export::end).into_iter().collect(),
    })
}

/// The status of an objection where a decision names it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectionStatus {
    Unresolved,
    Withdrawn,
    Resolved,
}

impl ObjectionStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved => "unresolved",
            Self::Withdrawn => "withdrawn",
            Self::Resolved => "resolved",
        }
    }
}

/// The second pass: artifacts, an act at a time.
pub struct Export {
    plan: Plan,
    messages: BTreeMap<MessageId, Identifier>,
    /// The claims, and the statement of each.
    claims: BTreeMap<ClaimId, (Identifier, Arc<str>)>,
    opening: Option<Identifier>,
    last: Option<Identifier>,
    final_decision: Option<Identifier>,
    /// The objections that the next decision has to name, in order of creation.
    objections: Vec<(Identifier, ObjectionStatus)>,
}

impl Export {
    /// Begins the second pass with the result of the first.
    pub fn new(survey: Survey) -> Self {
        Self {
            plan: survey.plan(),
            messages: BTreeMap::new(),
            claims: BTreeMap::new(),
            opening: None,
            last: None,
            final_decision: None,
            objections: Vec::new(),
        }
    }

    /// How many artifacts there are in all.
    pub fn count(&self) -> u64 {
        self.plan.count
    }

    /// The artifacts that the next act makes, in order; none of a mark.
    pub fn act(&mut self, act: &Act) -> Vec<Exported> {
        match &act.change {
            Change::Message(message) => vec![self.message(act, message)],
            Change::Mark => Vec::new(),
            Change::Assert(claim) => self.assertion(act, claim),
            Change::Attest(claim, attestation) => {
                let supported = self.claims.get(claim).map(|(id, _)| *id);
                self.evidence(
                    DraftSource::claim(act, *claim, "attest"),
                    supported,
                    &attestation.evidence,
                )
            }
            Change::Refute(claim, refutation) => self.refutation(act, *claim, &refutation.evidence),
        }
    }

    /// The last artifact, if the thread is in a confirmed `closed` or side state.
    pub fn end(mut self) -> Option<Exported> {
        let Ending { thread, event, state, at, by } = self.plan.ending.take()?;
        let state = match state {
            State::Closed if self.final_decision.is_some() => TerminationState::Completed,
            State::Deferred => TerminationState::Suspended,
            State::Open
            | State::Answered
            | State::Decided
            | State::Closed
            | State::Obsolete
            | State::Rejected => TerminationState::Cancelled,
        };
        let source = DraftSource {
            thread,
            message: None,
            claim: None,
            event: Some(event),
            act: state.as_str(),
            by: &by,
            at,
        };
        let considered = self.final_decision.filter(|_| state == TerminationState::Completed);
        let mut draft = self.draft(ArtifactType::Termination, &source);
        draft.refer(considered, Relation::Considers);
        Some(draft.finish([("state", text(state.as_str()))]))
    }

    /// The next link of the chain.
    fn draft<'s>(
        &self,
        artifact_type: ArtifactType,
        source: &'s DraftSource<'s>,
    ) -> ArtifactDraft<'s> {
        let mut draft = ArtifactDraft::new(artifact_type, source);
        draft.refer(self.last, Relation::Considers);
        draft
    }

    fn add(&mut self, exported: &Exported) -> Identifier {
        self.last = Some(exported.id);
        self.opening.get_or_insert(exported.id);
        exported.id
    }

    fn message(&mut self, act: &Act, message: &Message) -> Exported {
        let source = DraftSource::message(act, message);
        let parent = message.parent.and_then(|parent| self.messages.get(&parent).copied());
        let body = text(&message.body);
        // The first message opens the thread: it has nothing to support.
        let opens = self.opening.is_none();
        let form = if opens { ExportForm::Claim } else { message.kind.spec().export };
        let about = parent.or(self.opening);
        let (artifact_type, to, relation, payload) = match form {
            ExportForm::Decision => {
                (ArtifactType::Decision, self.opening, Relation::Decides, self.decision(message))
            }
            ExportForm::Claim => {
                (ArtifactType::Claim, parent, Relation::Considers, vec![("statement", body)])
            }
            ExportForm::Evidence => {
                let class = ProvenanceClass::ModelGeneratedAnalysis.as_str();
                let payload = vec![("content", body), ("provenance_class", text(class))];
                (ArtifactType::Evidence, about, Relation::Supports, payload)
            }
            ExportForm::Objection => {
                let blocking = JsonValue::Bool(self.plan.blocks(message.id));
                let payload = vec![("statement", body), ("blocking", blocking)];
                (ArtifactType::Objection, about, Relation::ObjectsTo, payload)
            }
            ExportForm::Revision => {
                (ArtifactType::Revision, about, Relation::Revises, vec![("statement", body)])
            }
        };
        let mut draft = self.draft(artifact_type, &source);
        draft.refer(to, relation);
        let exported = draft.finish(payload);
        let id = self.add(&exported);
        self.messages.insert(message.id, id);
        match form {
            ExportForm::Objection => self.objections.push((id, self.plan.status(message.id))),
            ExportForm::Decision => {
                // The next decision names again the objections that this one leaves unresolved.
                self.objections.retain(|(_, it)| *it == ObjectionStatus::Unresolved);
                if self.plan.final_decision == Some(message.id) {
                    self.final_decision = Some(id);
                }
            }
            ExportForm::Claim | ExportForm::Evidence | ExportForm::Revision => {}
        }
        exported
    }

    /// The payload of a decision.
    fn decision(&self, message: &Message) -> Vec<(&'static str, JsonValue)> {
        let is_final = self.plan.final_decision == Some(message.id);
        let status = if is_final { "final" } else { "provisional" };
        let objections = self.objections.iter().take(OBJECTIONS_NAMED_MAX);
        let dispositions = objections.clone().map(|(id, status)| {
            named([("artifact_id", shown(id)), ("disposition", text(status.as_str()))])
        });
        let open = objections.clone().filter(|(_, status)| *status == ObjectionStatus::Unresolved);
        vec![
            ("outcome", text(&message.body)),
            ("status", text(status)),
            ("objection_dispositions", JsonValue::Array(dispositions.collect())),
            ("unresolved_issues", JsonValue::Array(open.map(|(id, _)| shown(id)).collect())),
        ]
    }

    fn assertion(&mut self, act: &Act, claim: &Claim) -> Vec<Exported> {
        let source = DraftSource::claim(act, claim.id, "assert");
        let is_new = claim.supersedes.is_empty();
        let artifact_type = if is_new { ArtifactType::Claim } else { ArtifactType::Revision };
        let mut draft = self.draft(artifact_type, &source);
        for older in &claim.supersedes {
            draft.refer(self.claims.get(older).map(|(id, _)| *id), Relation::Supersedes);
        }
        let exported = draft.finish([("statement", text(&claim.statement))]);
        let id = self.add(&exported);
        self.claims.insert(claim.id, (id, claim.statement.clone()));
        let mut all = vec![exported];
        all.append(&mut self.evidence(source, Some(id), &claim.evidence));
        all
    }

    fn refutation(&mut self, act: &Act, claim: ClaimId, proof: &[Evidence]) -> Vec<Exported> {
        let source = DraftSource::claim(act, claim, "refute");
        let refuted = self.claims.get(&claim);
        let (refuted, statement) = refuted.map_or((None, ""), |(id, text)| (Some(*id), &**text));
        let statement = text(&format!("Refuted: {statement}"));
        let mut draft = self.draft(ArtifactType::Objection, &source);
        draft.refer(refuted, Relation::ObjectsTo);
        let exported =
            draft.finish([("statement", statement), ("blocking", JsonValue::Bool(true))]);
        let id = self.add(&exported);
        self.objections.push((id, ObjectionStatus::Unresolved));
        let mut all = vec![exported];
        all.append(&mut self.evidence(source, Some(id), proof));
        all
    }

    /// The pieces of evidence of a claim operation, each an artifact that supports `supported`.
    fn evidence(
        &mut self,
        source: DraftSource<'_>,
        supported: Option<Identifier>,
        pieces: &[Evidence],
    ) -> Vec<Exported> {
        let mut all = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let note = piece.note.as_deref().filter(|note| is_visible(note));
            let content = match note {
                Some(note) => text(note),
                None => text(&format!("{} {}", piece.kind.as_str(), piece.reference)),
            };
            let mut draft = self.draft(ArtifactType::Evidence, &source);
            draft.refer(supported, Relation::Supports);
            let exported = draft.finish([
                ("content", content),
                ("provenance_class", text(provenance(piece.kind).as_str())),
                ("source", text(&piece.reference)),
            ]);
            self.add(&exported);
            all.push(exported);
        }
        all
    }
}

/// The provenance of a piece of evidence, by its kind.
fn provenance(kind: EvidenceKind) -> ProvenanceClass {
    match kind {
        EvidenceKind::Log
        | EvidenceKind::Artifact
        | EvidenceKind::Commit
        | EvidenceKind::Reproducer
        | EvidenceKind::Hash => ProvenanceClass::TraceVerifiedObservation,
        EvidenceKind::Url => ProvenanceClass::ExternalEvidence,
        EvidenceKind::Note | EvidenceKind::Other => ProvenanceClass::Hypothesis,
    }
}
