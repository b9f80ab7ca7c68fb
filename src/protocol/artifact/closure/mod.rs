//! Verifying closures (`artifacts.md` §3).
//!
//! Three steps in three files: `graph` loads the artifacts that the targets rest on and verifies
//! each, `components` finds cycles and depth, and the judges (final decisions,
//! deadlocks, exhaustions) find the objections that are passed over. Nothing recurses on the
//! graph. Work is linear in artifacts and references for each 128 judges, of which a target
//! has at most as many as it has references.

mod candidate;
mod components;
mod graph;
mod judge;

pub use candidate::Candidate;
use components::Components;
use graph::Graph;
use judge::Judgement;

use super::report::ClosureFailure;
use super::{CLOSURE_ARTIFACTS_MAX, ClosureReport, Identifier, ViolationClass};

/// Where artifacts come from. A database answers from its tables as it is asked, a set of
/// files from memory ([`Collection`](super::collection::Collection)).
pub trait ArtifactStore {
    /// Why the store could not answer; that is no statement about an artifact.
    type Error;

    /// The bytes stored under the identifier, `None` if there are none. Asked once for each
    /// artifact of a verification. The bytes are verified, not trusted.
    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The artifacts of type `OBJECTION` that have an `objects-to` reference to this one, in
    /// any order. Asked in strict mode only.
    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>, Self::Error>;

    /// When the artifact was stored, as a number that grows with every artifact; `None` if
    /// it is not stored or the store has no order.
    fn order(&self, id: &Identifier) -> Result<Option<u64>, Self::Error>;
}

/// How to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Whether objections count that are known to the store and that nothing in the closure
    /// refers to.
    pub strict: bool,
    /// The most artifacts a closure may have; never more than [`CLOSURE_ARTIFACTS_MAX`].
    pub artifacts_max: usize,
}

impl VerifyOptions {
    /// Strict, with the bound of `artifacts.md` §3.3.
    pub const STRICT: Self = Self { strict: true, artifacts_max: CLOSURE_ARTIFACTS_MAX };
    /// By references alone, with the bound of `artifacts.md` §3.3.
    pub const LITERAL: Self = Self { strict: false, artifacts_max: CLOSURE_ARTIFACTS_MAX };
}

/// Verifies the closure of the targets (`artifacts.md` §3.1). The only errors are the
/// store's: faults of artifacts are in the report.
pub fn verify<S: ArtifactStore>(
    store: &S,
    targets: &[Identifier],
    options: VerifyOptions,
) -> Result<ClosureReport, S::Error> {
    let artifacts_max = options.artifacts_max.min(CLOSURE_ARTIFACTS_MAX);
    let options = VerifyOptions { artifacts_max, ..options };
    let mut targets = targets.to_vec();
    targets.sort_unstable();
    targets.dedup();
    let Some(mut graph) = Graph::load(store, &targets, options.artifacts_max)? else {
        let detail = format!("The closure has over {} artifacts.", options.artifacts_max);
        return Ok(limit_exceeded(targets, options, &detail));
    };
    let components = Components::of(&graph);
    let mut failures = std::mem::take(&mut graph.failures);
    failures.extend(graph.missing.iter().map(|id| {
        let detail = "The artifact is referred to, or a target, and is not there.";
        ClosureFailure::of(ViolationClass::ReferenceUnavailable, *id, detail)
    }));
    failures.extend(components.cycles(&graph));
    let mut judgement = Judgement::new(&graph, &targets);
    if failures.is_empty() {
        let found = judgement.objections_outside(store, options)?;
        if !found {
            let detail = format!("Over {} objections are to be covered.", options.artifacts_max);
            return Ok(limit_exceeded(targets, options, &detail));
        }
        failures = judgement.judge(&components, options.strict);
    }
    // The sort is stable: violations of one artifact stay in the order of the specification.
    failures.sort_by_key(|failure| (failure.class, failure.artifact_id));
    let objections = judgement.reported_objections();
    let later_objections = judgement.later_objections();
    let mut warnings = judgement.into_warnings();
    warnings.append(&mut graph.warnings);
    warnings.sort_unstable();
    Ok(ClosureReport {
        ok: failures.is_empty(),
        strict: options.strict,
        artifact_count: graph.nodes.len(),
        depth: components.depth(),
        targets,
        failures,
        objections,
        later_objections,
        warnings,
    })
}

/// A report that contains only that a bound was passed: the findings until then depend
/// on the place at which reading stopped.
fn limit_exceeded(targets: Vec<Identifier>, options: VerifyOptions, detail: &str) -> ClosureReport {
    let failure = |id| ClosureFailure::of(ViolationClass::LimitExceeded, id, detail);
    ClosureReport {
        ok: false,
        strict: options.strict,
        artifact_count: options.artifacts_max,
        depth: 0,
        failures: targets.iter().copied().map(failure).collect(),
        targets,
        objections: Vec::new(),
        later_objections: Vec::new(),
        warnings: Vec::new(),
    }
}
