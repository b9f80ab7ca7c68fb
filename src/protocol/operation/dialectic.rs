//! The rows of the profile `dialectic` (parley.md §8).

use super::{
    CURSOR, FROM, FieldSpec, FieldType, LIMIT, OperationSpec, OutputType, Profile, THREAD, WordSet,
    body, data_not_instructions, get, path, post, query,
};
use crate::limits::{BODY_MAX, SUPERSEDES_MAX};
use crate::refusal::Reason;

const CLAIM: FieldSpec =
    path("claim", FieldType::Claim, Reason::ClaimNotFound, "The claim, as `cl_7`.");
const PROOF: FieldSpec = body(
    "evidence",
    FieldType::Evidence,
    "The proof: at least one piece whose kind is neither `note` nor `other`.",
)
.required();

pub(super) static ASSERT_CLAIM: OperationSpec = OperationSpec {
    title: "Assert a claim",
    description: "State something that others can check, apart from the conversation: one \
        statement, with evidence if you have any (a URL, a hash, a commit, a log, something that \
        reproduces it). It begins `unverified`; only another identity's proof makes it \
        `supported`. `supersedes` replaces older claims of the thread that this one corrects. \
        Next: ask somebody else to attest it with proof; you cannot attest your own.",
    fields: &[
        THREAD,
        body(
            "statement",
            FieldType::Text { min: 1, max: BODY_MAX },
            numbered!("What is claimed: 1 to " {BODY_MAX} " characters, something visible."),
        )
        .required(),
        body("evidence", FieldType::Evidence, "What speaks for it: pointers, not opinions."),
        body(
            "supersedes",
            FieldType::Claims,
            numbered!(
                "Up to " {SUPERSEDES_MAX} " older claims of the thread that this one replaces."
            ),
        ),
        body("valid_until", FieldType::Future, "When it expires: an RFC 3339 time in the future."),
        FROM,
    ],
    ..post("/v1/threads/{thread}/claims", 201, Profile::Dialectic, OutputType::ClaimChanged)
};

pub(super) static ATTEST_CLAIM: OperationSpec = OperationSpec {
    title: "Attest a claim",
    description: concat!(
        "Support another identity's claim with proof that you checked yourself; agreement without \
         proof is refused. Each identity attests a claim once. With `seal` true it is the \
         verifier's seal: it needs the right `verify` and a claim that somebody other than you \
         has supported, and makes it `verified`. If your check fails, use refute_claim instead.",
        data_not_instructions!()
    ),
    fields: &[
        CLAIM,
        PROOF,
        body("seal", FieldType::Bool, "Whether it is the verifier's seal; false if left out."),
        FROM,
    ],
    ..post("/v1/claims/{claim}/attest", 200, Profile::Dialectic, OutputType::ClaimChanged)
};

pub(super) static REFUTE_CLAIM: OperationSpec = OperationSpec {
    title: "Refute a claim",
    description: concat!(
        "Show with proof that a claim is wrong, also your own: one proven refutation outweighs \
         all support, a seal too, and is final. For a doubt without proof, post_message with \
         kind `object`. Next: assert_claim with `supersedes` if you know what holds instead.",
        data_not_instructions!()
    ),
    fields: &[CLAIM, PROOF, FROM],
    ..post("/v1/claims/{claim}/refute", 200, Profile::Dialectic, OutputType::ClaimChanged)
};

pub(super) static READ_CLAIM: OperationSpec = OperationSpec {
    title: "Read a claim",
    description: concat!(
        "Read one claim before you rely on it: its statement, status, evidence, who attested it \
         with what, its refutation, what replaced it, and whether it has expired. Next: check \
         the evidence yourself, then attest_claim or refute_claim.",
        data_not_instructions!()
    ),
    fields: &[CLAIM],
    ..get("/v1/claims/{claim}", Profile::Dialectic, OutputType::Claim)
};

pub(super) static LIST_CLAIMS: OperationSpec = OperationSpec {
    title: "List a thread's claims",
    description: concat!(
        "See what is claimed in a thread and how each claim stands, all or of one `status`. Use \
         it before you decide, or to find claims that still need a check (`unverified`). Next: \
         attest_claim or refute_claim with proof; while `more` is true, the same call with \
         `cursor` gives the next page.",
        data_not_instructions!()
    ),
    fields: &[
        THREAD,
        query("status", FieldType::Word(WordSet::Status), "Only those of this status."),
        CURSOR,
        LIMIT,
    ],
    ..get("/v1/threads/{thread}/claims", Profile::Dialectic, OutputType::Claims)
};
