//! An item of a list with its place in the one order, from the tail or from the archive.

use std::sync::Arc;

use parley_protocol::entry::Entry;

use super::super::Committed;

/// An item and the number of its entry.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// The number of the entry.
    pub entry: u64,
    source: Source<T>,
}

#[derive(Clone, Debug)]
enum Source<T> {
    Tail(Arc<Committed>),
    Archive(Box<T>),
}

impl<T> Placed<T> {
    pub(super) fn of_tail(committed: &Arc<Committed>) -> Self {
        Self { entry: committed.number, source: Source::Tail(Arc::clone(committed)) }
    }

    pub(super) fn of_archive(entry: u64, item: Box<T>) -> Self {
        Self { entry, source: Source::Archive(item) }
    }

    /// The item; `of_entry` takes it from its entry.
    pub(super) fn get(&self, of_entry: impl FnOnce(&Entry) -> Option<&T>) -> &T {
        match &self.source {
            Source::Archive(item) => item,
            Source::Tail(committed) => {
                of_entry(&committed.entry).expect("the tail lists each entry under its kind")
            }
        }
    }
}
