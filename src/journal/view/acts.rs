//! The acts of one thread, its retractions, and the thread itself.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use parley_protocol::entry::{Act, Entry};
use parley_protocol::ids::{MessageId, ThreadId};
use parley_protocol::thread::Thread;

use super::super::archive::{Retraction, SNAPSHOT_ACTS_MIN, damaged};
use super::View;
use super::placed::Placed;
use super::scan::{Scan, ScanLimits, Takes, scan};
use crate::storage::error::StoreResult;

/// A thread as its actor needs it.
#[derive(Debug)]
pub struct RebuiltThread {
    /// Its state.
    pub thread: Thread,
    /// Acts that were read beside its snapshot.
    pub acts_read: u64,
}

/// An act and its place in the one order.
pub type PlacedAct = Placed<Act>;

impl PlacedAct {
    /// The act.
    pub fn act(&self) -> &Act {
        self.get(|entry| match entry {
            Entry::Act(act) => Some(act),
            _ => None,
        })
    }
}

impl View {
    /// The acts of `thread` after the entry `after`, in order, read on demand; none if there is no
    /// such thread.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`; of each act too.
    pub fn acts(
        &self,
        thread: ThreadId,
        after: u64,
    ) -> StoreResult<impl Iterator<Item = StoreResult<PlacedAct>>> {
        let upto = self.0.archive.upto();
        let stored = (after < upto).then(|| self.0.archive.acts(thread, after)).transpose()?;
        let stored = stored.into_iter().flatten();
        let stored = stored.map(|row| row.map(|(entry, act)| Placed::of_archive(entry, act)));
        let in_tail = self.0.tail.threads.get(&thread).into_iter().flat_map(move |found| {
            let after = after.max(upto).saturating_add(1);
            let first = found.acts.binary_search_by_key(&after, |one| one.number);
            found.acts.iter().skip(first.unwrap_or_else(|place| place))
        });
        Ok(stored.chain(in_tail.map(|one| Ok(Placed::of_tail(one)))))
    }

    /// A page of the `wanted` acts of `thread` after the entry `after`, in order.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn acts_page(
        &self,
        thread: ThreadId,
        after: u64,
        page: ScanLimits,
        takes: &mut Takes<'_, PlacedAct>,
        wanted: impl Fn(&Act) -> bool,
    ) -> StoreResult<Scan<PlacedAct>> {
        let rows = self.acts(thread, after)?.map(|row| row.map(|placed| (placed.entry, placed)));
        scan(rows, after, page, takes, |_, placed| Ok(wanted(placed.act()).then_some(placed)))
    }

    /// The act of `thread` in the entry `entry`, if there is one.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn act_at(&self, thread: ThreadId, entry: u64) -> StoreResult<Option<PlacedAct>> {
        if let Some(found) = self.0.tail.threads.get(&thread)
            && let Ok(place) = found.acts.binary_search_by_key(&entry, |one| one.number)
        {
            return Ok(Some(Placed::of_tail(&found.acts[place])));
        }
        let act = self.0.archive.act(thread, entry)?;
        Ok(act.map(|act| Placed::of_archive(entry, act)))
    }

    /// The retractions of these messages of `thread`, which rise with their place, by message.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn retractions(
        &self,
        thread: ThreadId,
        messages: RangeInclusive<MessageId>,
    ) -> StoreResult<BTreeMap<MessageId, Retraction>> {
        let mut retractions = self.0.archive.retractions(thread, messages.clone())?;
        if messages.start() <= messages.end()
            && let Some(found) = self.0.tail.threads.get(&thread)
        {
            let in_tail = found.retracted.range(messages);
            retractions.extend(in_tail.map(|(id, how)| (*id, how.clone())));
        }
        Ok(retractions)
    }

    /// The retraction of `message` of `thread`, if it was retracted.
    ///
    /// # Errors
    /// Those of the disk, and `StoreError::Damaged`.
    pub fn retraction(
        &self,
        thread: ThreadId,
        message: MessageId,
    ) -> StoreResult<Option<Retraction>> {
        let in_tail = self.0.tail.threads.get(&thread);
        match in_tail.and_then(|found| found.retracted.get(&message)) {
            Some(retraction) => Ok(Some(retraction.clone())),
            None => self.0.archive.retraction(thread, message),
        }
    }

    /// The state of the thread: rebuilt from the last snapshot, or from its opening.
    ///
    /// # Errors
    /// As [`View::rebuilt`].
    pub fn thread(&self, id: ThreadId) -> StoreResult<Option<Thread>> {
        Ok(self.rebuilt(id)?.map(|rebuilt| rebuilt.thread))
    }

    /// As [`View::thread`], with the cost of it.
    ///
    /// # Errors
    /// `StoreError::Damaged` if its acts do not make what the summary shows, and those of the
    /// disk.
    pub fn rebuilt(&self, id: ThreadId) -> StoreResult<Option<RebuiltThread>> {
        let Some(summary) = self.summary(id)? else {
            return Ok(None);
        };
        let is_long = summary.seq >= SNAPSHOT_ACTS_MIN;
        let mut thread = if is_long { self.0.archive.snapshot(id)? } else { None };
        let after = thread.as_ref().map_or(0, |thread| thread.summary().position.entry());
        let mut acts_read = 0;
        for placed in self.acts(id, after)? {
            let placed = placed?;
            thread = next(thread, placed.entry, placed.act());
            acts_read += 1;
            if thread.is_none() {
                return Err(damaged(format!("{id} lacks an act before {}", placed.entry)));
            }
        }
        match thread {
            Some(thread) if *thread.summary() == *summary => {
                Ok(Some(RebuiltThread { thread, acts_read }))
            }
            _ => Err(damaged(format!("{id} is not what its acts make of it"))),
        }
    }
}

/// The state of a thread after the act of the entry `entry`; `thread` is the state before, `None`
/// before an opening. `None` if the act is not the next one.
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
