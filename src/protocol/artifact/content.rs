//! The content of an artifact that other parts need: types, relations and references.

use super::Identifier;

words! {
    /// The seven types of artifacts (`artifacts.md` §2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ArtifactType {
        /// A proposition.
        Claim = "CLAIM",
        /// Support for an artifact.
        Evidence = "EVIDENCE",
        /// A challenge to an artifact.
        Objection = "OBJECTION",
        /// A new position in place of an older one.
        Revision = "REVISION",
        /// An outcome and its grounds.
        Decision = "DECISION",
        /// Processing that could not complete.
        Failure = "FAILURE",
        /// The end of a deliberation.
        Termination = "TERMINATION",
    }
}

words! {
    /// The relation of a reference to the artifact it names (`artifacts.md` §2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Relation {
        /// It speaks for it.
        Supports = "supports",
        /// It speaks against it.
        ObjectsTo = "objects-to",
        /// It changes it.
        Revises = "revises",
        /// It replaces it.
        Supersedes = "supersedes",
        /// It takes it into account.
        Considers = "considers",
        /// It settles it.
        Decides = "decides",
    }
}

words! {
    /// Where evidence comes from (`artifacts.md` §2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ProvenanceClass {
        /// Observed, with a trace that can be verified.
        TraceVerifiedObservation = "TRACE_VERIFIED_OBSERVATION",
        /// Taken from outside.
        ExternalEvidence = "EXTERNAL_EVIDENCE",
        /// Worked out by a model.
        ModelGeneratedAnalysis = "MODEL_GENERATED_ANALYSIS",
        /// Supposed.
        Hypothesis = "HYPOTHESIS",
    }
}

words! {
    /// Whether a decision is the last word (`artifacts.md` §2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Status {
        /// It may be decided anew.
        Provisional = "provisional",
        /// It closes the question, and may hide no objection.
        Final = "final",
    }
}

words! {
    /// How a deliberation ended (`artifacts.md` §2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum TerminationState {
        /// With a final decision.
        Completed = "completed",
        /// For the time being.
        Suspended = "suspended",
        /// Given up.
        Cancelled = "cancelled",
        /// Without a way to agree.
        Deadlock = "deadlock",
        /// Without means to go on.
        Exhausted = "exhausted",
    }
}

/// A reference to another artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactReference {
    /// The artifact it names.
    pub artifact_id: Identifier,
    /// Its relation, if it has one.
    pub relation: Option<Relation>,
}

/// The disposition of one objection by a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disposition {
    /// The objection.
    pub objection: Identifier,
    /// The word the decision has for it.
    pub word: String,
}

impl Disposition {
    /// Whether the objection is dealt with: any other word counts as unresolved
    /// (`artifacts.md` §3.1, 4).
    pub fn disposes(&self) -> bool {
        matches!(self.word.as_str(), "resolved" | "overruled" | "withdrawn")
    }
}

/// The content of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionContent {
    /// Whether its status is `final`.
    pub is_final: bool,
    /// Its `objection_dispositions`, in their order.
    pub dispositions: Vec<Disposition>,
    /// The objections that its `unresolved_issues` name, in their order.
    pub unresolved: Vec<Identifier>,
}

/// The content of an artifact, as far as it is well formed: of an artifact with violations, the
/// parts without them, so that a closure can be followed through it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The type, if it is one of the seven.
    pub artifact_type: Option<ArtifactType>,
    /// The well-formed references, in their order.
    pub references: Vec<ArtifactReference>,
    /// Whether it is an objection that blocks.
    pub blocking: bool,
    /// The decision, if it is one.
    pub decision: Option<DecisionContent>,
    /// How it ends the deliberation, if it is a termination.
    pub state: Option<TerminationState>,
}

impl Content {
    /// The artifacts it objects to; none unless it is an objection.
    pub fn objects_to(&self) -> impl Iterator<Item = Identifier> {
        let is_objection = self.artifact_type == Some(ArtifactType::Objection);
        let references = self.references.iter().filter(move |reference| {
            is_objection && reference.relation == Some(Relation::ObjectsTo)
        });
        references.map(|reference| reference.artifact_id)
    }
}
