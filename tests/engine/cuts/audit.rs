//! What must be there, and the audit of what is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parley::journal::Committed;
use parley::journal::archive::RememberedOutcome;
use parley::journal::view::View;
use parley::storage::error::StoreResult;
use parley_kit::{Rng, same};
use parley_protocol::entry::{Act, Entry, Position};
use parley_protocol::ids::ThreadId;

use crate::view::model::{Model, read};

/// One thing in so many is compared in all that can be asked of it.
const IN_FULL: u64 = 400;

/// All that was asked for, in order: the entry `n` at `n - 1`.
pub struct ExpectedEntries {
    /// The entries.
    pub entries: Vec<Arc<Committed>>,
    threads: BTreeMap<ThreadId, Vec<usize>>,
}

impl ExpectedEntries {
    /// A expected of these, whose numbers have no gaps.
    pub fn new(entries: Vec<Arc<Committed>>) -> Self {
        let mut threads: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, committed) in entries.iter().enumerate() {
            assert_eq!(committed.number, index as u64 + 1);
            if let Some(act) = committed.entry.act() {
                threads.entry(act.thread).or_default().push(index);
            }
        }
        Self { entries, threads }
    }

    /// How many of the entries are acts.
    pub fn acts(&self) -> usize {
        self.threads.values().map(Vec::len).sum()
    }

    /// Compares what `view` shows with the entries up to `last`: every act, every head, every
    /// artifact, every outcome remembered; now and then, as `seed` has it, all lists too.
    ///
    /// # Errors
    /// The first difference.
    pub fn audit(&self, view: &View, last: u64, seed: u64) -> Result<(), String> {
        let entries = &self.entries[..usize::try_from(last).unwrap()];
        same("position", &view.position(), &Position::after(last))?;
        if seed.is_multiple_of(IN_FULL) && last > 0 {
            Model(entries).compare(view, &Rng::new(seed))?;
        }
        self.audit_acts(view, last, None)?;
        for committed in entries {
            if let Entry::Artifact(published) = &committed.entry {
                let found = read("artifact", view.artifact(&published.id))?;
                let found = found.as_ref().map(|one| (one.entry, one.published()));
                same("artifact", &found, &Some((committed.number, &**published)))?;
            }
            if let Some(key) = committed.entry.key() {
                let found = read("outcome", view.outcome(&key.key))?;
                same("outcome", &found, &RememberedOutcome::of(committed))?;
            }
        }
        Ok(())
    }

    /// Compares every act and every head up to the entry `last`; not of `but`.
    ///
    /// # Errors
    /// The first difference.
    pub fn audit_acts(&self, view: &View, last: u64, but: Option<ThreadId>) -> Result<(), String> {
        let mut threads = self.threads.keys().filter(|thread| Some(**thread) != but);
        threads.try_for_each(|thread| self.audit_thread(view, *thread, last))
    }

    /// Compares the threads that the entries after `from` up to `to` are in.
    ///
    /// # Errors
    /// The first difference.
    pub fn audit_touched(
        &self,
        view: &View,
        (from, to): (u64, u64),
        last: u64,
    ) -> Result<(), String> {
        let entries = &self.entries[from as usize..to as usize];
        let acts = entries.iter().filter_map(|committed| committed.entry.act());
        let mut threads = acts.map(|act| act.thread).collect::<BTreeSet<_>>().into_iter();
        threads.try_for_each(|thread| self.audit_thread(view, thread, last))
    }

    fn audit_thread(&self, view: &View, id: ThreadId, last: u64) -> Result<(), String> {
        let indices = self.threads[&id].iter().take_while(|index| (**index as u64) < last);
        let found = view.acts(id, 0).and_then(Iterator::collect::<StoreResult<Vec<_>>>);
        let found = read(id, found)?;
        let found: Vec<(u64, &Act)> = found.iter().map(|one| (one.entry, one.act())).collect();
        let wanted: Vec<_> = indices.map(|index| &self.entries[*index]).collect();
        same((id, "the number of acts"), &found.len(), &wanted.len())?;
        for (found, wanted) in found.iter().zip(&wanted) {
            same("act", &(found.0, Some(found.1)), &(wanted.number, wanted.entry.act()))?;
        }
        let wanted = wanted.last().and_then(|last| last.summary.clone());
        same("head", &read(id, view.summary(id))?, &wanted)
    }
}
