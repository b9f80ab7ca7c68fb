//! Refusals of operations on claims (parley.md §8) and on artifacts (artifacts.md §4).

use serde_json::{Map, Value};

use super::{Reason, Refusal};
use crate::ids::ClaimId;

impl Refusal {
    /// 400 `proof_missing`.
    pub fn proof_missing() -> Self {
        let detail = "Proof is needed: at least one piece of evidence whose kind is neither `note` \
                      nor `other`. Without proof, `post_message` with kind `object` or `agree`.";
        Self::new(Reason::ProofMissing, detail).at("evidence")
    }

    /// 404 `claim_not_found`.
    pub fn claim_not_found(claim: ClaimId) -> Self {
        let detail = format!("There is no claim {claim}. List a thread's claims and name one.");
        Self::new(Reason::ClaimNotFound, detail)
    }

    /// 404 `claim_not_found` of a claim that is not in the thread.
    pub fn claim_not_in_thread(claim: ClaimId) -> Self {
        let detail = format!("The thread holds no claim {claim}. List its claims and name one.");
        Self::new(Reason::ClaimNotFound, detail)
    }

    /// 409 `thread_full` of a claim (§9).
    pub fn claims_full() -> Self {
        let detail = "The thread holds as many claims as it may, superseded ones too. Claim in a \
                      new thread.";
        Self::new(Reason::ThreadFull, detail)
    }

    /// 409 `thread_full` of an attestation (§9).
    pub fn attestations_full() -> Self {
        let detail = "The claim has as many attestations as it may. It needs no more support.";
        Self::new(Reason::ThreadFull, detail)
    }

    /// 409 `self_attest`.
    pub fn self_attest() -> Self {
        let detail = "A claim's own identity cannot attest it, nor can its extensions. Another \
                      identity must.";
        Self::new(Reason::SelfAttest, detail)
    }

    /// 409 `claim_settled` of a claim to be superseded a second time.
    pub fn claim_superseded(claim: ClaimId) -> Self {
        let detail = format!("{claim} was superseded already; supersede the newest claim.");
        Self::new(Reason::ClaimSettled, detail)
    }

    /// 409 `claim_settled`; `how` is the final status, or that the claim has expired.
    pub fn claim_settled(claim: ClaimId, how: &str) -> Self {
        let detail = format!("{claim} is settled: {how}. Assert a new claim instead.");
        Self::new(Reason::ClaimSettled, detail)
    }

    /// 409 `already_attested`.
    pub fn already_attested() -> Self {
        let detail = "This identity has attested the claim already; its extensions do not count \
                      again.";
        Self::new(Reason::AlreadyAttested, detail)
    }

    /// 409 `claim_not_supported` of a seal.
    pub fn claim_not_supported() -> Self {
        let detail = "The seal needs a claim that at least one identity other than the verifier \
                      has attested with proof. Have it attested first.";
        Self::new(Reason::ClaimNotSupported, detail)
    }

    /// 400 `artifact_invalid` with the first violation: its class, its place, its text.
    pub fn artifact_invalid(class: &str, pointer: &str, detail: &str) -> Self {
        let detail = format!("{detail} Mend it, name it anew and publish it again.");
        Self::new(Reason::ArtifactInvalid, detail)
            .with_members([("class", class.into()), ("pointer", pointer.into())])
    }

    /// 404 `artifact_not_found`.
    pub fn artifact_not_found() -> Self {
        let detail = "There is no such artifact here. List the artifacts and name one of them.";
        Self::new(Reason::ArtifactNotFound, detail)
    }

    /// 409 `closure_refused` with the report, and the artifact that records the failure.
    pub fn closure_refused(report: Value, failure_artifact: String) -> Self {
        let detail = "The closure of this decision or termination does not verify. Read `report`: \
                      publish what is missing, name every blocking objection, then publish it \
                      anew.";
        Self::new(Reason::ClosureRefused, detail)
            .with_members([("report", report), ("failure_artifact", failure_artifact.into())])
    }

    fn with_members<const N: usize>(self, members: [(&str, Value); N]) -> Self {
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self { more: Some(Box::new(members.collect::<Map<_, _>>())), ..self }
    }
}
