//! The form of the answers about one artifact and about a closure.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Examination, Identifier, Violation, ViolationClass, canonicalize, examine, identity};

/// Items of each list of [`ClosureReport::excerpt`], at most.
pub const EXCERPT_ITEMS_MAX: usize = 100;

/// Why a closure does not verify (`artifacts.md` §3.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ClosureFailure {
    /// The class of the failure.
    pub class: ViolationClass,
    /// The artifact at fault.
    pub artifact_id: Identifier,
    /// The place in it; empty but for semantics.
    pub pointer: String,
    /// A sentence for people.
    pub detail: String,
}

impl ClosureFailure {
    /// A failure of the whole artifact.
    pub(super) fn of(
        class: ViolationClass,
        artifact_id: Identifier,
        detail: impl Into<String>,
    ) -> Self {
        Self { class, artifact_id, pointer: String::new(), detail: detail.into() }
    }
}

/// An objection that the verification covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedObjection {
    /// The objection.
    pub artifact_id: Identifier,
    /// Whether it blocks.
    pub blocking: bool,
    /// The word a decision has for it, `unresolved` where one only lists it among its
    /// unresolved issues, null where none speaks of it.
    pub disposition: Option<String>,
}

/// A later objection or a warning, which is no failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Notice {
    /// Its class.
    pub class: ViolationClass,
    /// The artifact concerned.
    pub artifact_id: Identifier,
    /// A sentence for people.
    pub detail: String,
}

/// The report on a closure (`artifacts.md` §3.2). The same store and targets give the same
/// bytes: all lists are sorted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosureReport {
    /// Whether there is no failure.
    pub ok: bool,
    /// The targets, each once, ascending.
    pub targets: Vec<Identifier>,
    /// Whether objections that nothing in the closure refers to were covered.
    pub strict: bool,
    /// The number of artifacts of the closure that could be had, targets included, without
    /// the objections that strict mode adds.
    pub artifact_count: usize,
    /// The number of references on the longest path; references within a cycle and to
    /// missing artifacts do not count.
    pub depth: usize,
    /// By class, then identifier, then in the order of `artifacts.md` §2.
    pub failures: Vec<ClosureFailure>,
    /// The objections covered, by identifier.
    pub objections: Vec<ReportedObjection>,
    /// Blocking objections that came too late to fail a target, by identifier.
    pub later_objections: Vec<Notice>,
    /// By class, then identifier.
    pub warnings: Vec<Notice>,
}

impl ClosureReport {
    /// The report as a refusal shows and stores it (`artifacts.md` §4): the first
    /// [`EXCERPT_ITEMS_MAX`] items of each list, and `failure_count`.
    ///
    /// # Panics
    /// Never: a report has no keys but texts.
    pub fn excerpt(&self) -> Value {
        let shown = Self {
            failures: first(&self.failures),
            objections: first(&self.objections),
            later_objections: first(&self.later_objections),
            warnings: first(&self.warnings),
            targets: first(&self.targets),
            ..*self
        };
        let mut shown = serde_json::to_value(shown).expect("a report is written as JSON");
        shown["failure_count"] = json!(self.failures.len());
        shown
    }
}

fn first<T: Clone>(items: &[T]) -> Vec<T> {
    items.iter().take(EXCERPT_ITEMS_MAX).cloned().collect()
}

/// The verdict on one artifact on its own (`artifacts.md` §4, `verify` and `validate`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactVerdict {
    /// Whether there is no violation.
    pub ok: bool,
    /// The identifier computed, null if the bytes have none.
    pub artifact_id: Option<Identifier>,
    /// The first violation's class.
    pub class: Option<ViolationClass>,
    /// The first violation's pointer.
    pub pointer: Option<String>,
    /// The first violation's detail.
    pub detail: Option<Cow<'static, str>>,
    /// Every violation.
    pub violations: Vec<Violation>,
    /// Every warning.
    pub warnings: Vec<Notice>,
}

impl ArtifactVerdict {
    /// Whether the artifact has the identifier it states.
    pub fn verify(bytes: &[u8]) -> Self {
        match canonicalize(bytes) {
            Err(fault) => Self::new(None, vec![fault.into()], &[]),
            Ok(canonical) => {
                let violations = identity::verify(&canonical).err().into_iter();
                let id = Some(identity::compute(&canonical));
                Self::new(id, violations.map(Violation::from).collect(), &[])
            }
        }
    }

    /// Whether the artifact has the identifier it states and the content that its type needs.
    pub fn validate(bytes: &[u8]) -> Self {
        let mut verdict = Self::verify(bytes);
        if let (true, Ok(canonical)) = (verdict.ok, canonicalize(bytes)) {
            let Examination { violations, warnings, .. } = examine(&canonical);
            verdict = Self::new(verdict.artifact_id, violations, &warnings);
        }
        verdict
    }

    fn new(
        artifact_id: Option<Identifier>,
        violations: Vec<Violation>,
        warnings: &[ViolationClass],
    ) -> Self {
        let first = violations.first();
        let noted = |id| warnings.iter().map(move |class| notice(*class, id));
        let warnings = artifact_id.into_iter().flat_map(noted).collect();
        Self {
            ok: first.is_none(),
            artifact_id,
            class: first.map(|violation| violation.class),
            pointer: first.map(|violation| violation.pointer.clone()),
            detail: first.map(|violation| violation.detail.clone()),
            violations,
            warnings,
        }
    }
}

/// A later objection or a warning, in the words of its class.
pub(super) fn notice(class: ViolationClass, artifact_id: Identifier) -> Notice {
    let detail = match class {
        ViolationClass::UngroundedProvenance => {
            "The evidence claims to be observed and names no source."
        }
        ViolationClass::LaterObjection => "The objection came later: a reason to decide anew.",
        _ => "The artifact does not verify and counts for nothing.",
    };
    Notice { class, artifact_id, detail: detail.to_owned() }
}
