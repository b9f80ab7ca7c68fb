//! What an idempotency key is compared by (bindings.md §1): operation and arguments as parsed.
//!
//! The encoding is written out here, not derived, because digests are stored: a field that is
//! renamed or moved in a struct must not change them.

use sha2::{Digest, Sha256};

use crate::claim::Evidence;
use crate::command::{Assertion, Call, ClaimProof, Command, Envelope, Mark};
use crate::entry::Provenance;
use crate::ids::ThreadId;
use crate::operation::Operation;

/// A hash over parts that each say where they end, so that no two lists of parts run together.
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

/// The digest of the content of a call: its operation and its arguments as parsed. A key compares
/// by it. For `publish_artifact` it is [`content_digest_of_artifact`], which needs the identifier.
pub fn content_digest(operation: Operation, call: &Call) -> [u8; 16] {
    let mut parts = DigestParts::new("parley content 1");
    parts.text(operation.name());
    match call {
        Call::Write(thread, command) => write(&mut parts, *thread, command),
        Call::PublishArtifact(bytes) => {
            parts.number(bytes.len() as u64);
            parts.0.update(bytes);
        }
        // Readers take no key.
        _ => {}
    }
    parts.finish()
}

/// The digest of the content of `publish_artifact`: its identifier.
pub fn content_digest_of_artifact(id: &[u8; 32]) -> [u8; 16] {
    let mut parts = DigestParts::new("parley content 1");
    parts.text(Operation::PublishArtifact.name());
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

fn post(parts: &mut DigestParts, envelope: &Envelope) {
    parts.text(envelope.kind.as_str());
    parts.option(envelope.parent, |parts, parent| parts.number(parent.0));
    parts.text(&envelope.body);
    parts.option(envelope.provenance.as_ref(), |parts, Provenance { model, client }| {
        parts.text_option(model.as_deref());
        parts.text_option(client.as_deref());
    });
}

fn set(parts: &mut DigestParts, mark: &Mark) {
    parts.text(mark.state.as_str());
    parts.text_option(mark.reason.as_deref());
}

fn assert(parts: &mut DigestParts, assertion: &Assertion) {
    parts.text(&assertion.statement);
    evidence(parts, &assertion.evidence);
    parts.number(assertion.supersedes.len() as u64);
    for claim in &assertion.supersedes {
        parts.number(claim.0);
    }
    parts.option(assertion.valid_until, |parts, until| parts.number(until.0));
}

fn prove(parts: &mut DigestParts, proof: &ClaimProof) {
    parts.number(proof.claim.0);
    evidence(parts, &proof.evidence);
    parts.number(u64::from(proof.seal));
}

fn evidence(parts: &mut DigestParts, pieces: &[Evidence]) {
    parts.number(pieces.len() as u64);
    for piece in pieces {
        parts.text(piece.kind.as_str());
        parts.text(&piece.reference);
        parts.text_option(piece.note.as_deref());
    }
}
