//! A set of artifacts in memory that serves as a store: files, an export, tests.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

use super::closure::ArtifactStore;
use super::identity::Keyed;
use super::{ArtifactFault, Identifier, canonicalize, examine, identity};

/// Artifacts by the identifier they state, right or wrong: a verification has to find the
/// wrong ones. It has no order.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    artifacts: HashMap<Identifier, Vec<u8>, Keyed>,
    objections: HashMap<Identifier, BTreeSet<Identifier>, Keyed>,
}

impl Collection {
    /// An empty set. The key affects only the speed: an author that knew it could
    /// state identifiers that are slow to find, so with artifacts of strangers it should be
    /// random. [`Collection::default`] has a public key.
    pub fn with_key(key: [u8; 16]) -> Self {
        let table = Keyed::with_key(key);
        Self {
            artifacts: HashMap::with_hasher(table.clone()),
            objections: HashMap::with_hasher(table),
        }
    }

    /// Adds an artifact's bytes; returns the identifier it states. Refused with the classes
    /// of `artifacts.md` §1 if it is not canonical or states none.
    ///
    /// Of two that state the same identifier the one that has it stays; if neither has it,
    /// the one with the smaller bytes. So the order of adding changes nothing.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Identifier, ArtifactFault> {
        let canonical = canonicalize(bytes)?;
        let id = identity::stated(&canonical)?;
        let rank = |bytes: &[u8]| {
            let is_wrong = canonicalize(bytes).and_then(|it| identity::verify(&it)) != Ok(id);
            (is_wrong, bytes.to_vec())
        };
        match self.artifacts.entry(id) {
            Entry::Vacant(entry) => {
                entry.insert(bytes.to_vec());
            }
            Entry::Occupied(mut entry) => {
                if rank(bytes) < rank(entry.get()) {
                    entry.insert(bytes.to_vec());
                }
            }
        }
        // Objections of an artifact that was replaced stay listed; the verification checks what
        // it loads and finds that it objects to something else.
        for objected in examine(&canonical).content.objects_to() {
            self.objections.entry(objected).or_default().insert(id);
        }
        Ok(id)
    }

    /// Adds artifacts that stand one on a line; lines of white space are left out.
    ///
    /// # Errors
    /// The first line at fault, counted from 1, and its fault as [`Collection::add`] has it.
    pub fn add_lines(&mut self, bytes: &[u8]) -> Result<(), (usize, ArtifactFault)> {
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if !line.iter().all(u8::is_ascii_whitespace) {
                self.add(line).map_err(|fault| (index + 1, fault))?;
            }
        }
        Ok(())
    }

    /// Puts bytes under an identifier that they may not have: a store that is not honest.
    pub fn add_under(&mut self, id: Identifier, bytes: &[u8]) {
        self.artifacts.insert(id, bytes.to_vec());
        if let Ok(canonical) = canonicalize(bytes) {
            for objected in examine(&canonical).content.objects_to() {
                self.objections.entry(objected).or_default().insert(id);
            }
        }
    }

    /// The identifiers, ascending.
    pub fn identifiers(&self) -> Vec<Identifier> {
        let mut ids: Vec<Identifier> = self.artifacts.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// The number of artifacts.
    pub fn len(&self) -> usize {
        self.artifacts.len()
    }

    /// Whether there is no artifact.
    pub fn is_empty(&self) -> bool {
        self.artifacts.is_empty()
    }
}

impl ArtifactStore for Collection {
    type Error = Infallible;

    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.artifacts.get(id).cloned())
    }

    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>, Infallible> {
        Ok(self.objections.get(id).into_iter().flatten().copied().collect())
    }

    fn order(&self, _: &Identifier) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }
}
