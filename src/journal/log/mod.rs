//! The log: acknowledged entries in the one order, in segments with rising keys only.
//!
//! A segment is the authority for the numbers from its name to below the name of the next one.
//! After an error it is unknown which bytes of a file are on the disk, and a later sync may succeed
//! without writing those that an earlier one lost. So a file that failed, or was not closed in good
//! order, is never written again: a new segment takes over with a copy of the entries that are
//! acknowledged and not archived, and its name invalidates every later entry of the old one.

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
use crate::storage::error::{StoreError, StoreResult};
use segment::Segment;

pub use chunk::RawEntry;
pub(crate) use refill::refill;
pub use retention_guard::RetentionGuard;
pub use segment::{FILE_FORMAT, failed_name, name, parse_name};
pub use writing::{LogWriter, begin, open};

/// Entries read from the log.
#[derive(Debug, Default)]
pub struct EntryRange {
    /// In order, each with its number.
    pub entries: Vec<(u64, Entry)>,
    /// All entries up to this number are in `entries`.
    pub upto: u64,
}

/// The log as readers see it: entries up to [`Log::shown`], from [`Log::oldest`] on.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    /// The last entry that is committed and in the view; readers see no later one.
    shown: AtomicU64,
    segments: Mutex<SegmentSet>,
}

#[derive(Debug, Default)]
struct SegmentSet {
    by_first: BTreeMap<u64, Arc<Segment>>,
    /// Sealed segments open for reading, the longest open first.
    reading: VecDeque<Arc<Segment>>,
    /// The first numbers that the guards keep from being dropped, and the guards of each.
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

    /// Lets readers see the entries up to `number`. Called once the view has them; never goes back.
    pub fn show(&self, number: u64) {
        self.shown.store(number, Ordering::Release);
    }

    /// The first number from which on no entry was dropped.
    pub fn oldest(&self) -> u64 {
        self.segments().by_first.first_key_value().map_or(u64::MAX, |(first, _)| *first)
    }

    /// The entries after the number `after`, at most `entries_max` and, except for the first, about
    /// `bytes_max` encoded bytes; `None` if some of them were dropped. No transaction outlives the
    /// call.
    ///
    /// # Errors
    /// Those of the disk, and [`StoreError::Damaged`] for an altered row.
    pub fn entries(
        &self,
        after: u64,
        entries_max: usize,
        bytes_max: usize,
    ) -> StoreResult<Option<EntryRange>> {
        let shown = self.shown();
        let mut range = EntryRange { entries: Vec::new(), upto: after };
        if after >= shown {
            return Ok(Some(range));
        }
        let (mut bytes, mut full) = (0, false);
        let is_complete = self.scan(after, shown, |raw| {
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
        Ok(is_complete.then_some(range))
    }

    /// Calls `each` with the entries after the number `after` and up to `upto`, as they are stored
    /// and in order, until it breaks; `false`, and no call, if some of them were dropped.
    ///
    /// # Errors
    /// Those of the disk and of `each`, and [`StoreError::Damaged`] for an altered row.
    pub fn scan(
        &self,
        after: u64,
        upto: u64,
        mut each: impl FnMut(RawEntry<'_>) -> StoreResult<ControlFlow<()>>,
    ) -> StoreResult<bool> {
        let Some(segments) = self.segments_from(after + 1) else {
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

    /// The segments from the one that has `number` on, each with the number before which it ends;
    /// `None` if that one was dropped.
    fn segments_from(&self, number: u64) -> Option<Vec<(Arc<Segment>, u64)>> {
        let segments = self.segments();
        let (first, _) = segments.by_first.range(..=number).next_back()?;
        let found: Vec<_> = segments.by_first.range(first..).map(|(_, found)| found).collect();
        let ends = found.iter().skip(1).map(|next| next.first).chain([u64::MAX]);
        Some(found.iter().map(|found| Arc::clone(found)).zip(ends).collect())
    }

    /// Bounds the sealed segments that are open, after `segment` was read.
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
        // Outside the lock: it waits for the readers of the segment.
        if let Some(closing) = close
            && closing.close().is_err()
        {
            tracing::warn!(file = closing.name(), "a segment read only did not close");
        }
    }

    /// Drops the segments whose entries are all archived, up to `archived_upto`, and beyond the
    /// reach of a replay, `replay_max` entries back.
    ///
    /// # Errors
    /// Those of the disk; the next call tries again.
    pub fn drop_archived(&self, archived_upto: u64, replay_max: u64) -> StoreResult<()> {
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
