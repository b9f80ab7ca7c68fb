//! A store with one artifact more.

use super::super::Identifier;
use super::ArtifactStore;

/// A store as it would be with an artifact that is to be judged before it is stored, such as
/// a final decision that is published (`artifacts.md` §4). It has no place in the order yet:
/// every objection known came before it.
#[derive(Debug)]
pub struct Candidate<'a, S> {
    /// The store without it.
    pub store: &'a S,
    /// The artifact's identifier.
    pub id: Identifier,
    /// The artifact's bytes.
    pub bytes: &'a [u8],
}

impl<S: ArtifactStore> ArtifactStore for Candidate<'_, S> {
    type Error = S::Error;

    fn load(&self, id: &Identifier) -> Result<Option<Vec<u8>>, S::Error> {
        if *id == self.id { Ok(Some(self.bytes.to_vec())) } else { self.store.load(id) }
    }

    fn objections_to(&self, id: &Identifier) -> Result<Vec<Identifier>, S::Error> {
        self.store.objections_to(id)
    }

    fn order(&self, id: &Identifier) -> Result<Option<u64>, S::Error> {
        if *id == self.id { Ok(None) } else { self.store.order(id) }
    }
}
