//! Identifiers: the digest of an artifact's canonical bytes (`artifacts.md` §1).

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::{ArtifactFault, Canonical, ViolationClass};
use crate::json::JsonValue;
use crate::limits::HEX_256;

const PREFIX: &str = "sha256:";

/// The identifier of an artifact. It is ordered as its text is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier([u8; 32]);

/// The text is not `sha256:` and [`HEX_256`] lowercase hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoIdentifier;

impl Identifier {
    /// Wraps a digest.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest.
    pub fn digest(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for Identifier {
    type Err = NoIdentifier;

    fn from_str(text: &str) -> Result<Self, NoIdentifier> {
        let digits = text.strip_prefix(PREFIX).ok_or(NoIdentifier)?.as_bytes();
        if digits.len() != HEX_256 {
            return Err(NoIdentifier);
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(digest))
    }
}

/// Uppercase is refused: one artifact has one identifier, as text too.
fn nibble(digit: u8) -> Result<u8, NoIdentifier> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NoIdentifier),
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Identifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Hashes identifiers with a key that is not random.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyed(SipHasher13);

impl Keyed {
    /// With a key that comes from identifiers.
    pub(super) fn by(ids: &[Identifier]) -> Self {
        let mut key = [0; 16];
        for id in ids {
            let mut hasher = SipHasher13::new_with_key(&key);
            id.hash(&mut hasher);
            key = hasher.finish128().as_bytes();
        }
        Self::with_key(key)
    }

    /// With this key.
    pub(super) fn with_key(key: [u8; 16]) -> Self {
        Self(SipHasher13::new_with_key(&key))
    }
}

impl BuildHasher for Keyed {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        self.0
    }
}

/// The identifier that the artifact must have, computed.
pub fn compute(canonical: &Canonical) -> Identifier {
    Identifier(Sha256::digest(canonical.bytes_without_identifier()).into())
}

/// The identifier that the artifact states; `invalid_artifact_identifier_syntax` if there is
/// none or no well-formed one.
pub fn stated(canonical: &Canonical) -> Result<Identifier, ArtifactFault> {
    let fault = |detail: &'static str| ArtifactFault {
        class: ViolationClass::InvalidArtifactIdentifierSyntax,
        pointer: "/artifact_id".to_owned(),
        detail: detail.into(),
    };
    match canonical.body().get("artifact_id") {
        None => Err(fault("The artifact states no identifier.")),
        Some(JsonValue::String(text)) => text.parse().map_err(|_| {
            fault(numbered!("The identifier is not sha256: and " {HEX_256} " hex digits."))
        }),
        Some(_) => Err(fault("The identifier is no string.")),
    }
}

/// The identifier that the artifact states, after comparing it with the one computed;
/// `artifact_identifier_mismatch` if they differ, else the error of [`stated`].
pub fn verify(canonical: &Canonical) -> Result<Identifier, ArtifactFault> {
    let id = stated(canonical)?;
    if id != compute(canonical) {
        return Err(ArtifactFault {
            class: ViolationClass::ArtifactIdentifierMismatch,
            pointer: "/artifact_id".to_owned(),
            detail: "Another identifier is computed than the artifact states.".into(),
        });
    }
    Ok(id)
}
