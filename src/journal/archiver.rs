//! Moves committed entries from the tail into the archive, a slice at a time, behind the writer and
//! without delaying it.
//!
//! Most slices are committed without a sync; at intervals one is durable, and only durable entries
//! are dropped from the tail and from the log. If the archive's disk fails, the archive is
//! reopened, so that reading goes on, and entries that it lacks return to the tail. While the disk
//! refuses the writes that reopening needs, the archive is read through an overlay in memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parley_protocol::thread::Thread;

use super::archive::{Archive, SyncMode, damaged};
use super::view::Views;
use crate::clock::{Clock, Stopwatch};
use crate::storage::error::StoreResult;

/// Entries of one slice, at least and at most.
///
/// A slice copies every page that it touches once: acts of many threads cost about a page each in
/// a small slice, and share pages in a large one (docs/PERFORMANCE.md).
const SLICE_MIN: usize = 32;
const SLICE_MAX: usize = 65_536;
/// The target duration of one slice: it has a file and a thread of its own and delays no caller.
const SLICE_SECONDS: f64 = 1.0;
/// Entries that are archived and not durable, at most.
const UNSYNCED_MAX: u64 = 65_536;
/// How long archived entries may wait to become durable.
const UNSYNCED_FOR: Duration = Duration::from_secs(1);
/// How long a small slice waits for more entries.
const LINGER_FOR: Duration = Duration::from_secs(3);
/// Between attempts while the disk refuses writes.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// Snapshots kept until the act that they end with is archived.
const SNAPSHOTS_KEPT: usize = 256;
/// Attempts of closing while the disk refuses writes: entries that are not archived are in the log.
const CLOSING_ATTEMPTS: u32 = 3;

/// What the archiver depends on.
pub struct ArchiverDeps {
    /// The tail, and the view to update.
    pub views: Arc<Views>,
    /// The clock by which remembered outcomes expire.
    pub clock: Arc<dyn Clock>,
    /// Opens the archive for writing.
    pub reopen: Box<dyn FnMut() -> StoreResult<Archive> + Send>,
    /// Opens the archive for reading only, also while it is open for writing: its file is not
    /// written.
    pub rescue: Box<dyn FnMut() -> StoreResult<Archive> + Send>,
    /// Checks the free space, before each slice: a database whose write has failed refuses reads
    /// too.
    pub free_space: Box<dyn FnMut() -> StoreResult<()> + Send>,
    /// Bytes of one slice, exceeded by at most one entry.
    pub slice_bytes_max: u64,
}

/// Archives the tail: [`Archiver::run`] on a thread of its own, or [`Archiver::step`] repeatedly
/// and [`Archiver::finish`] at the end.
///
/// Entries are archived in order and each once: `archived_upto` only rises, except that reopening
/// after a failure takes it back to the last durable slice. After an error the tail still has the
/// entries, and the next step tries again.
pub struct Archiver {
    deps: ArchiverDeps,
    /// `None` while it cannot be opened.
    archive: Option<Archive>,
    /// Read while `archive` cannot be opened; never written.
    rescued: Option<Archive>,
    /// Snapshots whose last act is not archived yet.
    snapshots: Vec<Thread>,
    slice: usize,
    since_sync: Stopwatch,
}

impl Archiver {
    /// An archiver that goes on after the last entry of `archive`.
    pub fn new(deps: ArchiverDeps, archive: Archive) -> Self {
        let since_sync = deps.clock.stopwatch();
        Self {
            deps,
            archive: Some(archive),
            rescued: None,
            snapshots: Vec::new(),
            slice: SLICE_MAX,
            since_sync,
        }
    }

    /// An archiver that only reads `archive` until its file can be opened for writing.
    pub fn rescued(deps: ArchiverDeps, archive: Archive) -> Self {
        let since_sync = deps.clock.stopwatch();
        let (snapshots, slice) = (Vec::new(), SLICE_MAX);
        Self { deps, archive: None, rescued: Some(archive), snapshots, slice, since_sync }
    }

    /// Archives the oldest slice of the tail, or makes the archived entries durable if that is due;
    /// returns whether there was anything to do.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn step(&mut self) -> StoreResult<bool> {
        self.step_with(false)
    }

    /// Archives all entries and makes them durable.
    ///
    /// # Errors
    /// As [`Archiver::step`].
    pub fn finish(&mut self) -> StoreResult<()> {
        while self.step_with(true)? {}
        Ok(())
    }

    /// Archives entries until [`Views::close`], then the remaining ones. Blocks: for a thread of
    /// its own.
    pub fn run(mut self) {
        let views = Arc::clone(&self.deps.views);
        let mut failures = 0;
        loop {
            let closing = self.wait();
            match self.guarded_step(closing) {
                Ok(true) => {
                    if failures > 0 {
                        tracing::info!(failures, "archiving goes on");
                    }
                    failures = 0;
                }
                Ok(false) if closing => return,
                Ok(false) => {}
                Err(error) => {
                    if failures == 0 {
                        tracing::error!(%error, "archiving failed");
                    }
                    failures += 1;
                    if closing && failures >= CLOSING_ATTEMPTS {
                        return;
                    }
                    views.pause(RETRY_AFTER);
                }
            }
        }
    }

    /// A step that a panic of the database, which a damaged file may cause, does not end.
    fn guarded_step(&mut self, all: bool) -> StoreResult<bool> {
        catch_unwind(AssertUnwindSafe(|| self.step_with(all))).unwrap_or_else(|_| {
            let reopened = catch_unwind(AssertUnwindSafe(|| self.reopen()));
            Err(match reopened {
                Ok(Err(error)) => error,
                _ => damaged("the database panicked"),
            })
        })
    }

    /// Waits for work; returns whether the views are closing.
    fn wait(&self) -> bool {
        let views = &self.deps.views;
        let backlog = views.backlog();
        match (backlog.waiting, backlog.unsynced) {
            (0, 0) => views.wait(None),
            (0, _) => {
                let passed = Duration::from_secs_f64(self.since_sync.seconds());
                views.wait(Some(UNSYNCED_FOR.saturating_sub(passed)))
            }
            _ => views.linger(SLICE_MAX, self.deps.slice_bytes_max, LINGER_FOR),
        }
    }

    fn step_with(&mut self, all: bool) -> StoreResult<bool> {
        if self.archive.is_none() {
            self.reopen()?;
        }
        let views = Arc::clone(&self.deps.views);
        let slice = views.slice(self.slice, self.deps.slice_bytes_max);
        let backlog = views.backlog();
        let last = all && slice.len() == backlog.waiting;
        let is_durable = last || self.is_sync_due(slice.len() + backlog.unsynced);
        let sync = if is_durable { SyncMode::Durable } else { SyncMode::Later };
        let upto = slice.last().map_or(backlog.archived_upto, |committed| committed.number);
        let snapshots = self.take_snapshots(upto);
        let has_to_sync = is_durable && backlog.unsynced > 0;
        if slice.is_empty() && snapshots.is_empty() && !has_to_sync {
            return Ok(false);
        }
        (self.deps.free_space)()?;
        let now = self.deps.clock.now();
        let stopwatch = self.deps.clock.stopwatch();
        let archive = self.archive.as_ref().expect("opened above");
        let appended = archive.append(&slice, &snapshots, now, sync);
        let appended = appended.and_then(|progress| Ok((progress, archive.read()?)));
        let (progress, read) = match appended {
            Ok(appended) => appended,
            Err(error) => {
                if let Err(again) = self.reopen() {
                    tracing::debug!(error = %again, "the archive cannot be opened");
                }
                return Err(error);
            }
        };
        let is_full = slice.len() == self.slice;
        self.adapt(stopwatch.seconds(), is_full, sync);
        views.show(read);
        if is_durable {
            views.synced(progress.archived_upto);
            self.since_sync = self.deps.clock.stopwatch();
        }
        Ok(true)
    }

    /// Whether the archived entries are to become durable, once they are `unsynced` many.
    fn is_sync_due(&self, unsynced: usize) -> bool {
        let (entries_max, bytes_max) = self.deps.views.unsynced_max();
        unsynced as u64 >= entries_max.min(UNSYNCED_MAX)
            || self.deps.views.tail_bytes() >= bytes_max
            || self.since_sync.seconds() >= UNSYNCED_FOR.as_secs_f64()
    }

    /// The offered snapshots that may be stored with the entry `upto`. Later ones wait for theirs;
    /// of more than are kept, the oldest are dropped.
    fn take_snapshots(&mut self, upto: u64) -> Vec<Thread> {
        self.snapshots.extend(self.deps.views.take_snapshots());
        let entry = |thread: &Thread| thread.summary().position.entry();
        let ready = self.snapshots.extract_if(.., |thread| entry(thread) <= upto).collect();
        let excess = self.snapshots.len().saturating_sub(SNAPSHOTS_KEPT);
        self.snapshots.drain(..excess);
        ready
    }

    /// Adapts the size of the next slice to the duration of this one.
    fn adapt(&mut self, seconds: f64, is_full: bool, sync: SyncMode) {
        if sync == SyncMode::Durable {
            return;
        }
        if seconds > SLICE_SECONDS {
            self.slice = (self.slice / 2).max(SLICE_MIN);
        } else if is_full && seconds < SLICE_SECONDS / 2.0 {
            self.slice = (self.slice * 2).min(SLICE_MAX);
        }
    }

    /// Reopens the archive and shows it: after a failure the database refuses reads too. Entries
    /// that were not durable may return to the tail.
    ///
    /// # Errors
    /// Those of the disk; then the archive cannot be read until a step has opened it.
    pub fn reopen(&mut self) -> StoreResult<()> {
        if self.archive.is_some() {
            // Shown before the failed one is closed, so that reading goes on.
            match self.rescue() {
                Ok(rescued) => self.rescued = Some(rescued),
                Err(error) => tracing::error!(%error, "the archive cannot be read"),
            }
            // Closed before it is reopened: one file has one writer.
            self.archive = None;
        }
        let archive = (self.deps.reopen)()?;
        self.deps.views.show(archive.read()?);
        self.archive = Some(archive);
        self.rescued = None;
        Ok(())
    }

    fn rescue(&mut self) -> StoreResult<Archive> {
        let rescued = (self.deps.rescue)()?;
        self.deps.views.show(rescued.read()?);
        Ok(rescued)
    }
}
