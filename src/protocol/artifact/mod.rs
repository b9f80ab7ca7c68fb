//! Profile `artifacts`: auditable deliberation (`artifacts.md` §1 to §3).
//!
//! Steps, each of which needs the one before it and none after it:
//!
//! * [`canonical`] reads bytes and writes them in the one canonical form, [`identity`] names
//!   them by their digest (conformance target *canonical*);
//! * [`semantics`] reads an artifact's content and lists every violation
//!   (*semantic*);
//! * [`closure`] judges a decision or a termination by everything it rests on (*closure*),
//!   and [`report`] is the form of the answer;
//! * [`export`] makes artifacts of a thread (`artifacts.md` §4.1).
//!
//! Nothing here stores anything: an artifact comes as bytes, a graph by way of
//! [`closure::ArtifactStore`].

pub mod canonical;
pub mod class;
pub mod closure;
pub mod collection;
pub mod content;
pub mod export;
pub mod identity;
pub mod report;
pub mod semantics;

pub use canonical::{Canonical, canonicalize};
pub use class::{ArtifactFault, ViolationClass};
pub use content::{ArtifactReference, ArtifactType, Content, Relation, TerminationState};
pub use identity::Identifier;
pub use report::{ArtifactVerdict, ClosureReport};
pub use semantics::{Examination, Violation, examine};

/// The largest artifact as given, in bytes (`artifacts.md` §3.3).
pub const ARTIFACT_BYTES_MAX: usize = 65_536;
/// The deepest nesting of objects and arrays, the top level being 1 (`artifacts.md` §3.3).
pub const NESTING_MAX: usize = 64;
/// The most references of one artifact (`artifacts.md` §3.3).
pub const REFERENCES_MAX: usize = 256;
/// The most artifacts of one closure (`artifacts.md` §3.3).
pub const CLOSURE_ARTIFACTS_MAX: usize = 100_000;
/// The most artifacts of one closure that is asked for over HTTP or MCP (`artifacts.md` §3.3).
pub const CLOSURE_ARTIFACTS_REMOTE_MAX: usize = 10_000;

const _: () = assert!(NESTING_MAX <= crate::json::NESTING_CEILING);
const _: () = assert!(CLOSURE_ARTIFACTS_REMOTE_MAX <= CLOSURE_ARTIFACTS_MAX);

/// A valid artifact: canonical, with its own identifier, and without a violation.
#[derive(Clone, Debug)]
pub struct Valid {
    /// Its identifier, computed and compared.
    pub id: Identifier,
    /// Its canonical form, `artifact_id` kept.
    pub canonical: Canonical,
    /// Its content, as far as the closure and the forum need it.
    pub content: Content,
    /// Warnings, none of which makes it invalid.
    pub warnings: Vec<ViolationClass>,
}

/// Reads, verifies and examines an artifact. The error holds everything that is wrong, never
/// nothing, in the order of `artifacts.md` §2: a fault before the semantics alone,
/// else all violations.
pub fn validate(bytes: &[u8]) -> Result<Valid, Vec<Violation>> {
    let canonical = canonicalize(bytes).map_err(|fault| vec![fault.into()])?;
    let id = identity::verify(&canonical).map_err(|fault| vec![fault.into()])?;
    let Examination { content, violations, warnings } = examine(&canonical);
    if violations.is_empty() {
        Ok(Valid { id, canonical, content, warnings })
    } else {
        Err(violations)
    }
}
