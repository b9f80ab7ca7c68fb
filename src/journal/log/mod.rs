//! The log: what was acknowledged, in the one order, in segments with rising keys only.
//!
//! A segment is authority for the numbers from its name to below the name of the next one. After
//! an error nobody knows what of a file is on the disk, and a later sync may succeed without
//! writing what an earlier one lost. So a file that failed, or was not closed in good order, is
//! never written again: a new segment takes over from it with a copy of what was acknowledged and
//! is not folded yet, and by its name voids whatever else the old one may hold.

pub(crate) mod chunk;
mod refill;
mod retention_guard;
mod segment;
mod writing;

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::entry::Entry;

use super::options::SEALED_OPEN_MAX;
use crate::storage::disk::Disk;
use crate::storage::error::StoreError;
use segment::Segment;

pub use chunk::RawEntry;
pub(crate) use refill::refill;
pub use retention_guard::RetentionGuard;
pub use segment::{FILE_FORMAT, name, parse_name};
pub use writing::{LogWriter, begin, open};

/// Entries read from the log.
#[derive(Debug, Default)]
pub struct EntryRange {
    /// In order, each with its number.
    pub entries: Vec<(u64, Entry)>,
    /// Everything up to this number is in `entries`.
    pub upto: u64,
}

/// The log as readers see it.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    /// Committed, and in the view: no reader is told more.
    shown: AtomicU64,
    segments: Mutex<SegmentSet>,
}

#[derive(Debug, Default)]
struct SegmentSet {
    by_first: BTreeMap<u64, Arc<Segment>>,
    /// Sealed ones open for reading, the longest open first.
    reading: VecDeque<Arc<Segment>>,
    /// The numbers from which on nothing is to be dropped, and how often each is held.
    retained: BTreeMap<u64, usize>,
}

impl Log {
    fn segments(&self) -> MutexGuard<'_, SegmentSet> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last entry that readers may see.
    pub fn shown(&self) -> u64 {
        self.shown.load(Ordering::Acquire)
    }

    /// Lets readers see everything up to the entry `number`, once the view does.
    pub fn show(&self, number: u64) {
        self.shown.store(number, Ordering::Release);
    }

    /// The lowest number from which the log still holds everything.
    pub fn oldest(&self) -> u64 {
        self.segments().by_first.first_key_value().map_or(u64::MAX, |(first, _)| *first)
    }

    /// The entries after the number `after`, at most `entries_max` and, but for the first, about
    /// `bytes_max` encoded bytes; `None` if some of them are held no more. No transaction outlives
    /// the call.
    ///
    /// # Errors
    /// If the disk refuses, or a row is not what was written.
    pub fn entries(
        &self,
        after: u64,
        entries_max: usize,
        bytes_max: usize,
    ) -> Result<Option<EntryRange>, StoreError> {
        let shown = self.shown();
        let mut range = EntryRange { entries: Vec::new(), upto: after };
        if after >= shown {
            return Ok(Some(range));
        }
        let (mut bytes, mut full) = (0, false);
        let held = self.scan(after, shown, |raw| {
            let fits = bytes == 0 || bytes + raw.bytes.len() <= bytes_max;
            if range.entries.len() >= entries_max || !fits {
                full = true;
                return Ok(ControlFlow::Break(()));
            }
            bytes += raw.bytes.len();
            let entry = Entry::decode(raw.bytes).ok_or_else(|| undecoded(raw.number))?;
            range.entries.push((raw.number, entry));
            range.upto = raw.number;
            Ok(ControlFlow::Continue(()))
        })?;
        if !full {
            range.upto = shown;
        }
        Ok(held.then_some(range))
    }

    /// Gives the entries after the number `after` and up to `upto`, as they are stored and in
    /// order, to `each`, until that breaks; `false`, and none, if some of them are held no more.
    ///
    /// # Errors
    /// If the disk refuses, or a row is not what was written, or those of `each`.
    pub fn scan(
        &self,
        after: u64,
        upto: u64,
        mut each: impl FnMut(RawEntry<'_>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<bool, StoreError> {
        let Some(segments) = self.retaining(after + 1) else {
            return Ok(false);
        };
        let mut broken = false;
        for (segment, end) in segments {
            let from = segment.first.max(after + 1);
            let scanned = segment.scan(&*self.disk, from, end.min(upto + 1), |raw| {
                let flow = each(raw)?;
                broken = flow.is_break();
                Ok(flow)
            });
            self.opened(&segment);
            scanned?;
            if broken {
                break;
            }
        }
        Ok(true)
    }

    /// The segments from the one that holds `number` on, each with the number where it ends.
    fn retaining(&self, number: u64) -> Option<Vec<(Arc<Segment>, u64)>> {
        let segments = self.segments();
        let (first, _) = segments.by_first.range(..=number).next_back()?;
        let held: Vec<_> = segments.by_first.range(first..).map(|(_, held)| held).collect();
        let ends = held.iter().skip(1).map(|next| next.first).chain([u64::MAX]);
        Some(held.iter().map(|held| Arc::clone(held)).zip(ends).collect())
    }

    /// Keeps few sealed segments open.
    fn opened(&self, segment: &Arc<Segment>) {
        if !segment.is_reading() {
            return;
        }
        let mut close = None;
        {
            let mut segments = self.segments();
            if !segments.reading.iter().any(|open| Arc::ptr_eq(open, segment)) {
                segments.reading.push_back(Arc::clone(segment));
                if segments.reading.len() > SEALED_OPEN_MAX {
                    close = segments.reading.pop_front();
                }
            }
        }
        // Outside the lock: it waits for whoever reads the segment.
        if let Some(closing) = close
            && closing.close().is_err()
        {
            tracing::warn!(file = closing.name(), "a segment read only did not close");
        }
    }

    /// Drops the segments that are folded, everything in them being at most `archived_upto`, and
    /// that no replay reaches any more, `replay_max` entries back.
    ///
    /// # Errors
    /// If the disk refuses; what could not be dropped is tried again at the next call.
    pub fn drop_archived(&self, archived_upto: u64, replay_max: u64) -> Result<(), StoreError> {
        let reach = (archived_upto + 1).min((self.shown() + 1).saturating_sub(replay_max));
        let mut dropped = Vec::new();
        {
            let mut segments = self.segments();
            let reach = segments.retained.keys().next().map_or(reach, |held| reach.min(*held));
            loop {
                let mut firsts = segments.by_first.keys();
                let (Some(&first), Some(&next)) = (firsts.next(), firsts.next()) else {
                    break;
                };
                if next > reach {
                    break;
                }
                dropped.extend(segments.by_first.remove(&first));
            }
            if dropped.is_empty() {
                return Ok(());
            }
            segments
                .reading
                .retain(|open| !dropped.iter().any(|segment| Arc::ptr_eq(open, segment)));
        }
        let mut result = Ok(());
        for segment in dropped {
            let file = segment.name();
            if let Err(error) = self.disk.remove(&file) {
                result = Err(StoreError::io(file, error));
                self.segments().by_first.insert(segment.first, segment);
            }
        }
        result?;
        self.disk.sync().map_err(|error| StoreError::io("log", error))
    }
}

fn undecoded(number: u64) -> StoreError {
    StoreError::damaged("the log", format!("entry {number} cannot be read"))
}
