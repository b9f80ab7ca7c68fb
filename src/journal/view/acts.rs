//! The acts of one thread, what was taken back of them, and the thread itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley_protocol::entry::{Act, Entry};
use parley_protocol::ids::{MessageId, ThreadId};
use parley_protocol::thread::Thread;

use super::super::Committed;
use super::super::archive::{Retraction, SNAPSHOT_ACTS_MIN, damaged};
use super::View;
use crate::storage::error::StoreError;

/// An act and its place in the one order.
#[derive(Clone, Debug)]
pub struct PlacedAct {
    /// The number of the entry.
    pub entry: u64,
    source: ActSource,
}

#[derive(Clone, Debug)]
enum ActSource {
    Tail(Arc<Committed>),
    Archive(Box<Act>),
}

impl PlacedAct {
    /// The act.
    pub fn act(&self) -> &Act {
        match &self.source {
            ActSource::Archive(act) => act,
            ActSource::Tail(committed) => match &committed.entry {
                Entry::Act(act) => act,
                _ => unreachable!("a thread in the tail holds acts only"),
            },
        }
    }

    fn of(committed: &Arc<Committed>) -> Self {
        Self { entry: committed.number, source: ActSource::Tail(Arc::clone(committed)) }
    }
}

impl View {
    /// The acts of `thread` after the entry `after`, in order, at most `max`; none if there is no
    /// such thread.
    ///
    /// # Errors
    /// What the disk says.
    pub fn acts(
        &self,
        thread: ThreadId,
        after: u64,
        max: usize,
    ) -> Result<Vec<PlacedAct>, StoreError> {
        let mut acts = Vec::new();
        let upto = self.0.archive.upto();
        if after < upto {
            for row in self.0.archive.acts(thread, after)?.take(max) {
                let (entry, act) = row?;
                acts.push(PlacedAct { entry, source: ActSource::Archive(act) });
            }
        }
        if let Some(found) = self.0.tail.threads.get(&thread) {
            let after = after.max(upto);
            let first = found.acts.binary_search_by_key(&after.saturating_add(1), |one| one.number);
            let rest = found.acts.iter().skip(first.unwrap_or_else(|place| place));
            acts.extend(rest.take(max - acts.len()).map(PlacedAct::of));
        }
        Ok(acts)
    }

    /// The act of `thread` that the entry `entry` holds, if it holds one.
    ///
    /// # Errors
    /// What the disk says.
    pub fn act_at(&self, thread: ThreadId, entry: u64) -> Result<Option<PlacedAct>, StoreError> {
        if let Some(found) = self.0.tail.threads.get(&thread)
            && let Ok(place) = found.acts.binary_search_by_key(&entry, |one| one.number)
        {
            return Ok(Some(PlacedAct::of(&found.acts[place])));
        }
        let act = self.0.archive.act(thread, entry)?;
        Ok(act.map(|act| PlacedAct { entry, source: ActSource::Archive(act) }))
    }

    /// How messages of `thread` were taken back.
    ///
    /// # Errors
    /// What the disk says.
    pub fn retractions(
        &self,
        thread: ThreadId,
    ) -> Result<BTreeMap<MessageId, Retraction>, StoreError> {
        let mut retractions = self.0.archive.retractions(thread)?;
        if let Some(found) = self.0.tail.threads.get(&thread) {
            retractions.extend(found.retracted.iter().map(|(id, how)| (*id, how.clone())));
        }
        Ok(retractions)
    }

    /// How `message` of `thread` was taken back, if it was.
    ///
    /// # Errors
    /// What the disk says.
    pub fn retraction(
        &self,
        thread: ThreadId,
        message: MessageId,
    ) -> Result<Option<Retraction>, StoreError> {
        let in_tail = self.0.tail.threads.get(&thread);
        match in_tail.and_then(|found| found.retracted.get(&message)) {
            Some(retraction) => Ok(Some(retraction.clone())),
            None => self.0.archive.retraction(thread, message),
        }
    }

    /// How many acts of `thread` the snapshot holds from which it would be woken, if there is one.
    ///
    /// # Errors
    /// What the disk says.
    pub fn snapshot_seq(&self, thread: ThreadId) -> Result<Option<u64>, StoreError> {
        Ok(self.0.archive.snapshot(thread)?.map(|thread| thread.summary().seq))
    }

    /// The thread as its acts have made it, to wake its actor with: from the last snapshot, or
    /// from its opening.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if its acts do not make what the summary shows, or what the disk says.
    pub fn thread(&self, id: ThreadId) -> Result<Option<Thread>, StoreError> {
        let Some(summary) = self.summary(id)? else {
            return Ok(None);
        };
        let is_long = summary.seq >= SNAPSHOT_ACTS_MIN;
        let mut thread = if is_long { self.0.archive.snapshot(id)? } else { None };
        let mut after = thread.as_ref().map_or(0, |thread| thread.summary().position.entry());
        loop {
            let acts = self.acts(id, after, ACTS_AT_ONCE)?;
            for placed in &acts {
                thread = next(thread, placed.entry, placed.act());
                if thread.is_none() {
                    return Err(damaged(format!("{id} lacks an act before {}", placed.entry)));
                }
                after = placed.entry;
            }
            if acts.len() < ACTS_AT_ONCE {
                break;
            }
        }
        match thread {
            Some(thread) if *thread.summary() == *summary => Ok(Some(thread)),
            _ => Err(damaged(format!("{id} is not what its acts make of it"))),
        }
    }
}

/// What the next act, which `entry` holds, makes of a thread, or of none; `None` if it is not the
/// next one.
pub(crate) fn next(thread: Option<Thread>, entry: u64, act: &Act) -> Option<Thread> {
    let mut thread = match thread {
        None => Thread::open(act)?,
        Some(thread) if thread.summary().seq != act.seq => return None,
        Some(mut thread) => {
            thread.apply(act);
            thread
        }
    };
    thread.stamp(act, entry);
    Some(thread)
}

/// Acts read at once while a thread is made again.
const ACTS_AT_ONCE: usize = 1_024;
