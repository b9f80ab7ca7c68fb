//! Classes of errors and warnings, and the fault that carries one.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

words! {
    /// The class of an error or a warning. The order is that of the names, which is the order
    /// failures stand in (`artifacts.md` §3.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ViolationClass {
        /// Another identifier is computed than the artifact states (§1).
        ArtifactIdentifierMismatch = "artifact_identifier_mismatch",
        /// A blocking objection that a final decision passes over (§3.1, 4).
        HiddenObjection = "hidden_objection",
        /// `artifact_id` is missing, no string, or no identifier (§1).
        InvalidArtifactIdentifierSyntax = "invalid_artifact_identifier_syntax",
        /// An objection that came after the decision; no failure (§3.1).
        LaterObjection = "later_objection",
        /// A bound of §3.3 is passed.
        LimitExceeded = "limit_exceeded",
        /// The bytes are no admissible JSON text (§1).
        MalformedInput = "malformed_input",
        /// Two names become one under NFC (§1).
        NormalizationCollision = "normalization_collision",
        /// A deadlock or exhaustion that leaves an unresolved objection behind (§3.1, 5).
        ObjectionNotPreserved = "objection_not_preserved",
        /// Artifacts that refer to one another in a circle (§3.1, 3).
        ReferenceCycle = "reference_cycle",
        /// An artifact that is referred to and cannot be had (§3.1, 1).
        ReferenceUnavailable = "reference_unavailable",
        /// A missing or wrong member (§2).
        SemanticViolation = "semantic_violation",
        /// A completion without a final decision that verifies (§3.1, 5).
        TerminationWithoutDecision = "termination_without_decision",
        /// Evidence that claims to be observed and names no source; a warning (§2).
        UngroundedProvenance = "ungrounded_provenance",
        /// A value that the profile does not admit (§1).
        UnsupportedValue = "unsupported_value",
        /// Another `protocol_version` than `0.1` (§2).
        UnsupportedVersion = "unsupported_version",
    }
}

impl Serialize for ViolationClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The fault for which an artifact is refused before its semantics are examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactFault {
    /// One of the classes of `artifacts.md` §1.
    pub class: ViolationClass,
    /// An RFC 6901 JSON Pointer to the member at fault, empty if there is none.
    pub pointer: String,
    /// A sentence for people.
    pub detail: Cow<'static, str>,
}

impl ArtifactFault {
    /// A fault at the top level.
    pub(super) fn at_top(class: ViolationClass, detail: &'static str) -> Self {
        Self { class, pointer: String::new(), detail: detail.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::ViolationClass;

    /// Failures are sorted by class, and the sort uses the enumeration: its order must be
    /// that of the names, compared pair by pair.
    #[test]
    fn classes_are_ordered_by_name() {
        assert!(ViolationClass::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ViolationClass::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
    }
}
