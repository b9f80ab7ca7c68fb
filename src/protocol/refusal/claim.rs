//! Refusals of operations on claims (parley.md §8) and on artifacts (artifacts.md §4).

use serde_json::{Map, Value};

use super::{Reason, Refusal};
use crate::ids::ClaimId;

fixed! {
    /// 400 `proof_missing`.
    proof_missing: Reason::ProofMissing.at("evidence") =
        "Proof is needed: at least one piece of evidence whose kind is neither `note` nor `other`. \
         Without proof, `post_message` with kind `object` or `agree`.";
    /// 409 `thread_full` of a claim (§9).
    claims_full: Reason::ThreadFull =
        "The thread holds as many claims as it may, superseded ones too. Claim in a new thread.";
    /// 409 `thread_full` of an attestation (§9).
    attestations_full: Reason::ThreadFull =
        "The claim has as many attestations as it may. It needs no more support.";
    /// 409 `self_attest`.
    self_attest: Reason::SelfAttest =
        "A claim's own identity cannot attest it, nor can its extensions. Another identity must.";
    /// 409 `already_attested`.
    already_attested: Reason::AlreadyAttested =
        "This identity has attested the claim already; its extensions do not count again.";
    /// 409 `claim_not_supported` of a seal.
    claim_not_supported: Reason::ClaimNotSupported =
        "The seal needs a claim that at least one identity other than the verifier has attested \
         with proof. Have it attested first.";
    /// 404 `artifact_not_found`.
    artifact_not_found: Reason::ArtifactNotFound =
        "There is no such artifact here. List the artifacts and name one of them.";
}

impl Refusal {
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

    /// 400 `artifact_invalid` with the first violation: its class, its place, its text.
    pub fn artifact_invalid(class: &str, pointer: &str, detail: &str) -> Self {
        let detail = format!("{detail} Mend it, name it anew and publish it again.");
        Self::new(Reason::ArtifactInvalid, detail)
            .with_members([("class", class.into()), ("pointer", pointer.into())])
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
