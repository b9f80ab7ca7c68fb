//! Identities (parley.md §1): identity, extension, participant, rights, label.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::TokenId;

/// The line of a token: `<realm>:<handle>` or `human:<name>`.
pub type Identity = Arc<str>;

/// The realm of humans, which no realm of models may be named.
pub const HUMAN_REALM: &str = "human";

words! {
    /// Whether a token speaks for a human or a model.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum AuthorKind {
        /// A person.
        Human = "human",
        /// A language model.
        Llm = "llm",
    }
}

/// The pair (identity, extension or none). Loop protection, turns and inboxes work on these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Participant {
    /// The line.
    pub identity: Identity,
    /// The sub-agent; `None` is the bare line, a participant of its own.
    pub extension: Option<Arc<str>>,
}

impl fmt::Display for Participant {
    /// For people: `local:ada` or `local:ada/worker-2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.identity)?;
        match &self.extension {
            Some(extension) => write!(f, "/{extension}"),
            None => Ok(()),
        }
    }
}

words! {
    /// One right on a token, in the order in which a refusal names the first lacking.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Right {
        /// Reading.
        Read = "read",
        /// Operations that change a thread or publish.
        Write = "write",
        /// Moderation.
        Lock = "lock",
        /// Giving the seal.
        Verify = "verify",
        /// Managing tokens, backup, metrics.
        Admin = "admin",
    }
}

impl Right {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights(u8);

impl Rights {
    /// The rights of every human; admin must be granted.
    pub const HUMAN: Self = Self(0b1111);

    /// This set and `right`.
    pub fn with(self, right: Right) -> Self {
        Self(self.0 | right.bit())
    }

    /// Whether `right` is in the set.
    pub fn has(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rights held, in order.
    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.has(*right))
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<T: IntoIterator<Item = Right>>(rights: T) -> Self {
        rights.into_iter().fold(Self::default(), Self::with)
    }
}

/// The principal of a call, from the token alone.
#[derive(Clone, Debug)]
pub struct Principal {
    /// The token.
    pub token: TokenId,
    /// The line.
    pub identity: Identity,
    /// Human or model.
    pub author_kind: AuthorKind,
    /// The token's rights.
    pub rights: Rights,
    /// The bare label of a model's token that holds `lock`.
    pub label: Option<Arc<str>>,
}

impl Principal {
    /// The participant that acts under `extension`.
    pub fn participant(&self, extension: Option<&Arc<str>>) -> Participant {
        Participant { identity: Arc::clone(&self.identity), extension: extension.cloned() }
    }

    /// Whether the caller is a human.
    pub fn is_human(&self) -> bool {
        self.author_kind == AuthorKind::Human
    }

    /// Whether the caller moderates: a human or a lock holder. Its marks are confirmed ones.
    pub fn moderates(&self) -> bool {
        self.is_human() || self.rights.has(Right::Lock)
    }

    /// The first right of `needed` that the token lacks, in the order of the page.
    pub fn lacks(&self, needed: &[Right]) -> Option<Right> {
        Right::ALL.into_iter().find(|right| needed.contains(right) && !self.rights.has(*right))
    }

    /// `KI · <label>` for a state confirmed by virtue of `lock`; none for a human.
    pub fn shown_label(&self) -> Option<Arc<str>> {
        if self.is_human() || !self.rights.has(Right::Lock) {
            return None;
        }
        self.label.as_ref().map(|label| format!("KI · {label}").into())
    }
}
