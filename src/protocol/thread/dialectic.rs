//! Claims (parley.md §8): assert, attest, seal, refute, supersede. No operation counts, sums or
//! ranks supporters to reach a status.

use crate::claim::{Attestation, Claim, ClaimStatus, Refutation};
use crate::command::{Assertion, ClaimProof};
use crate::entry::{Act, Change};
use crate::ids::ClaimId;
use crate::refusal::{Refusal, Result};

use super::{Context, Thread};

impl Thread {
    pub(super) fn assert(&self, ctx: &mut Context<'_>, assertion: &Assertion) -> Result<Act> {
        let mut older = Vec::with_capacity(assertion.supersedes.len());
        for (place, id) in assertion.supersedes.iter().enumerate() {
            let found = self.known(*id);
            older.push(found.map_err(|refusal| refusal.at(&format!("supersedes/{place}")))?);
        }
        self.refuse_locked()?;
        let others = older.iter().any(|old| old.author.identity != ctx.principal.identity);
        if others {
            self.require_authority(ctx.principal, "supersede another's claim")?;
        }
        if self.summary.claim_count >= ctx.limits.claims_per_thread_max {
            return Err(Refusal::claims_full());
        }
        if let Some(old) = older.iter().find(|old| old.status == ClaimStatus::Superseded) {
            return Err(Refusal::claim_superseded(old.id));
        }
        let by = ctx.principal.participant(assertion.extension.as_ref());
        let mut act = self.act(ctx, by.clone(), Change::Mark);
        act.change = Change::Assert(Box::new(Claim {
            id: ctx.numbers.claim(),
            thread: self.summary.id,
            statement: (&*assertion.statement).into(),
            author: by,
            author_kind: ctx.principal.author_kind,
            created_at: act.at,
            status: ClaimStatus::Unverified,
            valid_until: assertion.valid_until,
            evidence: (&*assertion.evidence).into(),
            attestations: Vec::new(),
            refutation: None,
            supersedes: assertion.supersedes.clone(),
            superseded_by: None,
        }));
        Ok(act)
    }

    pub(super) fn attest(&self, ctx: &mut Context<'_>, proof: &ClaimProof) -> Result<Act> {
        let claim = self.known(proof.claim)?;
        self.refuse_locked()?;
        let me = &ctx.principal.identity;
        let plain = claim.attestations.iter().filter(|one| !one.seal).count() as u64;
        if !proof.seal && plain >= ctx.limits.attestations_per_claim_max {
            return Err(Refusal::attestations_full());
        }
        if claim.author.identity == *me {
            return Err(Refusal::self_attest());
        }
        let expired = claim.expired(self.time(ctx.now));
        if claim.is_settled() || expired {
            return Err(settled(claim, expired && !claim.is_settled()));
        }
        let mut mine = claim.attestations.iter().filter(|one| one.by.identity == *me);
        if mine.any(|one| !proof.seal || one.seal) {
            return Err(Refusal::already_attested());
        }
        if proof.seal {
            refuse_unsupported(claim, me)?;
        }
        let by = ctx.principal.participant(proof.extension.as_ref());
        let mut act = self.act(ctx, by.clone(), Change::Mark);
        let evidence = proof.evidence.clone();
        let attestation = Attestation { by, at: act.at, evidence, seal: proof.seal };
        act.change = Change::Attest(proof.claim, attestation.into());
        Ok(act)
    }

    pub(super) fn refute(&self, ctx: &mut Context<'_>, proof: &ClaimProof) -> Result<Act> {
        let claim = self.known(proof.claim)?;
        self.refuse_locked()?;
        if claim.is_settled() {
            return Err(settled(claim, false));
        }
        let by = ctx.principal.participant(proof.extension.as_ref());
        let mut act = self.act(ctx, by.clone(), Change::Mark);
        let refutation = Refutation { by, at: act.at, evidence: proof.evidence.clone() };
        act.change = Change::Refute(proof.claim, refutation.into());
        Ok(act)
    }

    fn known(&self, id: ClaimId) -> Result<&Claim> {
        self.claims.get(&id).map(AsRef::as_ref).ok_or_else(|| Refusal::claim_not_in_thread(id))
    }
}

fn settled(claim: &Claim, expired: bool) -> Refusal {
    let how = if expired { "has expired" } else { claim.status.as_str() };
    Refusal::claim_settled(claim.id, how)
}

/// A seal needs a claim that is supported, by at least one identity other than the verifier.
fn refuse_unsupported(claim: &Claim, verifier: &str) -> Result<()> {
    let supported = matches!(claim.status, ClaimStatus::Supported | ClaimStatus::Verified);
    if supported && claim.attestations.iter().any(|one| *one.by.identity != *verifier) {
        return Ok(());
    }
    Err(Refusal::claim_not_supported())
}
