//! From the fields of an operation to the call that it is.

use std::sync::Arc;

use super::value::ParsedValue;
use crate::act::{Kind, ParentRule};
use crate::claim::{ClaimStatus, Evidence, proves};
use crate::command::{
    ArtifactQuery, Assertion, Call, ClaimProof, Command, Envelope, InboxQuery, Language,
    ManifestPart, Mark, PageQuery, ReadCall, ThreadOrder, ThreadQuery,
};
use crate::entry::Provenance;
use crate::ids::{ClaimId, MessageId, ThreadId};
use crate::operation::Operation;
use crate::refusal::{Refusal, Result};
use crate::state::State;
use crate::time::Millis;

/// The fields that were there and not null.
pub(super) struct ParsedArguments(Vec<(&'static str, ParsedValue)>);

macro_rules! takers {
    ($($name:ident $variant:ident $type:ty,)*) => {$(
        /// Takes the field, if it was given.
        fn $name(&mut self, name: &str) -> Option<$type> {
            match self.take(name) {
                Some(ParsedValue::$variant(value)) => Some(value),
                _ => None,
            }
        }
    )*};
}

impl ParsedArguments {
    pub(super) fn new(given: Vec<(&'static str, ParsedValue)>) -> Self {
        Self(given)
    }

    fn take(&mut self, name: &str) -> Option<ParsedValue> {
        let found = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.swap_remove(found).1)
    }

    takers! {
        thread Thread ThreadId,
        message Message MessageId,
        claim Claim ClaimId,
        artifact_id ArtifactId [u8; 32],
        text Text Box<str>,
        truth Bool bool,
        integer Integer u64,
        word Word &'static str,
        evidence Evidence Vec<Evidence>,
        claims Claims Vec<ClaimId>,
        extension Extension Option<Arc<str>>,
        provenance Provenance Provenance,
        time Time Millis,
    }

    fn state(&mut self) -> Option<State> {
        self.word("state").and_then(State::parse)
    }

    fn from(&mut self) -> Option<Arc<str>> {
        self.extension("from").flatten()
    }

    fn page(&mut self, cursor: &str) -> PageQuery {
        PageQuery { cursor: self.text(cursor), limit: self.integer("limit") }
    }

    /// The thread in the path. Where it was malformed the call is thrown away, so any number does.
    fn path_thread(&mut self) -> ThreadId {
        self.thread("thread").unwrap_or(ThreadId(0))
    }

    fn path_claim(&mut self) -> ClaimId {
        self.claim("claim").unwrap_or(ClaimId(0))
    }

    fn path_artifact(&mut self) -> [u8; 32] {
        self.artifact_id("artifact_id").unwrap_or_default()
    }
}

/// Puts the call together. Required fields are there, but for malformed ones of the path.
pub(super) fn assemble(operation: Operation, mut given: ParsedArguments) -> Result<Call> {
    let given = &mut given;
    Ok(match operation {
        Operation::GetManifest => {
            let language = given.word("lang").and_then(Language::parse);
            let part = given.word("part").and_then(ManifestPart::parse);
            Call::GetManifest(language.unwrap_or_default(), part.unwrap_or_default())
        }
        Operation::PostMessage => {
            let envelope = envelope(given)?;
            Call::Write(envelope.thread, Command::Post(envelope))
        }
        Operation::ListThreads => Call::Read(ReadCall::ListThreads(ThreadQuery {
            state: given.state(),
            creator: given.text("creator"),
            awaiting: given.truth("awaiting"),
            locked: given.truth("locked"),
            order: given.word("order").and_then(ThreadOrder::parse).unwrap_or_default(),
            page: given.page("cursor"),
        })),
        Operation::ReadThread => reading(given)?,
        Operation::ReadEvents => {
            Call::Read(ReadCall::Events(given.path_thread(), given.page("cursor")))
        }
        Operation::MarkThread => write(given, |given| Command::Mark(mark(given))),
        Operation::ConfirmThread => write(given, |given| Command::Confirm(mark(given))),
        Operation::ReopenThread => write(given, |given| Command::Reopen(mark(given))),
        Operation::ReadInbox => Call::ReadInbox(InboxQuery {
            extension: given.extension("extension").flatten(),
            page: given.page("since"),
            wait_seconds: given.integer("wait_seconds").unwrap_or_default(),
            anyone: given.truth("anyone").unwrap_or(true),
        }),
        Operation::AssertClaim => write(given, |given| {
            Command::Assert(Assertion {
                statement: given.text("statement").unwrap_or_default(),
                evidence: given.evidence("evidence").unwrap_or_default(),
                supersedes: given.claims("supersedes").unwrap_or_default(),
                valid_until: given.time("valid_until"),
                extension: given.from(),
            })
        }),
        Operation::AttestClaim => Call::Write(None, Command::Attest(proof(given)?)),
        Operation::RefuteClaim => Call::Write(None, Command::Refute(proof(given)?)),
        Operation::ReadClaim => Call::Read(ReadCall::Claim(given.path_claim())),
        Operation::ListClaims => {
            let status = given.word("status").and_then(ClaimStatus::parse);
            Call::Read(ReadCall::ListClaims(given.path_thread(), status, given.page("cursor")))
        }
        Operation::PublishArtifact => Call::PublishArtifact(Box::default()),
        Operation::ReadArtifact => Call::Read(ReadCall::Artifact(given.path_artifact())),
        Operation::ListArtifacts => Call::Read(ReadCall::ListArtifacts(ArtifactQuery {
            kind: given.word("type").map(Box::from),
            references: given.artifact_id("references"),
            thread: given.thread("thread"),
            page: given.page("cursor"),
        })),
        Operation::VerifyClosure => {
            let strict = given.truth("strict").unwrap_or(true);
            Call::Read(ReadCall::VerifyClosure(given.path_artifact(), strict))
        }
        Operation::ExportThread => {
            Call::Read(ReadCall::Export(given.path_thread(), given.page("cursor")))
        }
    })
}

fn write(
    given: &mut ParsedArguments,
    command: impl FnOnce(&mut ParsedArguments) -> Command,
) -> Call {
    Call::Write(Some(given.path_thread()), command(given))
}

fn mark(given: &mut ParsedArguments) -> Mark {
    // A reopening has no field for it: it sets `open`.
    let state = given.state().unwrap_or(State::Open);
    Mark { state, reason: given.text("reason"), extension: given.from() }
}

/// Attestations and refutations need proof; that it is missing is the last of the 400s.
fn proof(given: &mut ParsedArguments) -> Result<ClaimProof> {
    let evidence = given.evidence("evidence").unwrap_or_default();
    if !proves(&evidence) {
        return Err(Refusal::proof_missing());
    }
    Ok(ClaimProof {
        claim: given.path_claim(),
        evidence,
        seal: given.truth("seal").unwrap_or(false),
        extension: given.from(),
    })
}

fn reading(given: &mut ParsedArguments) -> Result<Call> {
    let (thread, format) = (given.path_thread(), given.word("format"));
    let page = given.page("since");
    if format == Some("flat") {
        return Ok(Call::Read(ReadCall::Flat(thread, page)));
    }
    let unfit = [("since", page.cursor.is_some()), ("limit", page.limit.is_some())];
    match unfit.into_iter().find(|(_, there)| *there) {
        None => Ok(Call::Read(ReadCall::Tree(thread))),
        Some((name, _)) => {
            let detail = "A tree holds the whole thread. For a part of it give `format` `flat`.";
            Err(Refusal::parameter(name, detail))
        }
    }
}

/// The envelope, after the checks that concern several members (parley.md §2, §3).
fn envelope(given: &mut ParsedArguments) -> Result<Envelope> {
    let kind = given.word("kind").and_then(Kind::parse);
    let (thread, parent) = (given.thread("thread"), given.message("parent"));
    let kind = kind.ok_or_else(|| Refusal::body("kind".to_owned(), "`kind` is required."))?;
    let missing = |field: &str, detail: &'static str| Err(Refusal::body(field.to_owned(), detail));
    if thread.is_none() && !kind.opens() {
        return missing("thread", "Only an `ask` may leave out `thread`: it opens a new one.");
    }
    if thread.is_none() && parent.is_some() {
        let detail = "An `ask` with a `parent` must name the `thread`; one that opens a thread has \
                      no `parent`.";
        return missing("thread", detail);
    }
    if parent.is_none() && kind.spec().parent == ParentRule::Required {
        return missing("parent", "A `retract` must name in `parent` the message it takes back.");
    }
    Ok(Envelope {
        kind,
        thread,
        parent,
        extension: given.from(),
        body: given.text("body").unwrap_or_default(),
        provenance: given.provenance("provenance"),
    })
}
