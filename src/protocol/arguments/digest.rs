//! Digests by which idempotency keys compare (bindings.md §1): operation and arguments as parsed.
//!
//! The encoding is written out here, not derived, because digests are stored: a field that is
//! renamed or moved in a struct must not change them.

use sha2::{Digest, Sha256};

use crate::claim::Evidence;
use crate::command::{Assertion, ClaimProof, Command, Envelope, Mark};
use crate::entry::Provenance;
use crate::ids::ThreadId;
use crate::operation::Operation;

/// A hash over parts with their lengths, so that no two lists of parts hash alike.
struct DigestParts(Sha256);

impl DigestParts {
    fn new(domain: &str) -> Self {
        let mut parts = Self(Sha256::new());
        parts.text(domain);
        parts
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text);
    }

    fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn text_option(&mut self, text: Option<&str>) {
        self.option(text, Self::text);
    }

    fn finish(self) -> [u8; 16] {
        let digest: [u8; 32] = self.0.finalize().into();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }
}

/// The digest of the content of a write: its operation and its arguments as parsed. For
/// `publish_artifact` it is [`content_digest_of_artifact`].
pub fn content_digest(thread: Option<ThreadId>, command: &Command) -> [u8; 16] {
    let mut parts = DigestParts::new("parley content 1");
    parts.text(Operation::of_command(command).as_str());
    write(&mut parts, thread, command);
    parts.finish()
}

/// The digest of the content of `publish_artifact`: its identifier.
pub fn content_digest_of_artifact(id: &[u8; 32]) -> [u8; 16] {
    let mut parts = DigestParts::new("parley content 1");
    parts.text(Operation::PublishArtifact.as_str());
    parts.0.update(id);
    parts.finish()
}

/// The digest of a key: one key space for each identity over all ways in.
pub fn key_digest(identity: &str, key: &str) -> [u8; 16] {
    let mut parts = DigestParts::new("parley key 1");
    parts.text(identity);
    parts.text(key);
    parts.finish()
}

fn write(parts: &mut DigestParts, thread: Option<ThreadId>, command: &Command) {
    parts.option(thread, |parts, thread| parts.number(thread.0));
    parts.text_option(command.extension().map(AsRef::as_ref));
    match command {
        Command::Post(envelope) => post(parts, envelope),
        Command::Mark(mark) | Command::Confirm(mark) | Command::Reopen(mark) => {
            set(parts, mark);
        }
        Command::Assert(assertion) => assert(parts, assertion),
        Command::Attest(proof) | Command::Refute(proof) => prove(parts, proof),
    }
}

// Each struct is taken apart, so that a new member does not compile until it is hashed or left out.

fn post(parts: &mut DigestParts, envelope: &Envelope) {
    let Envelope { kind, thread: _, parent, extension: _, body, provenance } = envelope;
    parts.text(kind.as_str());
    parts.option(*parent, |parts, parent| parts.number(parent.0));
    parts.text(body);
    parts.option(provenance.as_ref(), |parts, Provenance { model, client }| {
        parts.text_option(model.as_deref());
        parts.text_option(client.as_deref());
    });
}

fn set(parts: &mut DigestParts, Mark { state, reason, extension: _ }: &Mark) {
    parts.text(state.as_str());
    parts.text_option(reason.as_deref());
}

fn assert(parts: &mut DigestParts, assertion: &Assertion) {
    let Assertion { statement, evidence: pieces, supersedes, valid_until, extension: _ } =
        assertion;
    parts.text(statement);
    evidence(parts, pieces);
    parts.number(supersedes.len() as u64);
    for claim in supersedes {
        parts.number(claim.0);
    }
    parts.option(*valid_until, |parts, until| parts.number(until.0));
}

fn prove(parts: &mut DigestParts, proof: &ClaimProof) {
    let ClaimProof { claim, evidence: pieces, seal, extension: _ } = proof;
    parts.number(claim.0);
    evidence(parts, pieces);
    parts.number(u64::from(*seal));
}

fn evidence(parts: &mut DigestParts, pieces: &[Evidence]) {
    parts.number(pieces.len() as u64);
    for Evidence { kind, reference, note } in pieces {
        parts.text(kind.as_str());
        parts.text(reference);
        parts.text_option(note.as_deref());
    }
}
