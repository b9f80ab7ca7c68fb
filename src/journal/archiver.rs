//! Folding: what the log has committed goes into the archive, a slice at a time, behind the
//! writer and without holding it up (hard-places.md 2).
//!
//! Most slices are committed without a sync; now and then one is durable, and only what is durable
//! leaves the tail's memory and frees the log. If the archive's disk fails, the archive is opened
//! anew, so that reading goes on, and what it lacks comes back into the tail. As long as the disk
//! takes no writes, which opening needs, it is read through a memory that keeps them from it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parley_protocol::thread::Thread;

use super::archive::{Archive, SyncMode, damaged};
use super::view::Views;
use crate::clock::{Clock, Stopwatch};
use crate::storage::error::StoreError;

/// Entries of one slice, at least and at most.
///
/// A slice copies every page that it touches, once: acts spread over many threads cost about a
/// page each in a small slice, and share pages in a large one (docs/PERFORMANCE.md).
const SLICE_MIN: usize = 32;
const SLICE_MAX: usize = 65_536;
/// Work of one slice that is aimed at: it has a file and a thread of its own and holds up nobody.
const SLICE_SECONDS: f64 = 1.0;
/// Entries that may be folded and not durable.
const UNSYNCED_MAX: u64 = 65_536;
/// How long what is folded may wait to become durable.
const UNSYNCED_FOR: Duration = Duration::from_secs(1);
/// How long a small slice waits for more.
const LINGER_FOR: Duration = Duration::from_secs(3);
/// Between attempts while the disk refuses.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// Attempts that closing makes while the disk refuses: what is not folded is in the log.
const CLOSING_ATTEMPTS: u32 = 3;

/// What the folder needs from outside.
pub struct ArchiverDeps {
    /// Where the views are kept.
    pub views: Arc<Views>,
    /// The clock that ages the outcomes remembered.
    pub clock: Arc<dyn Clock>,
    /// Opens the archive anew.
    pub reopen: Box<dyn FnMut() -> Result<Archive, StoreError> + Send>,
    /// Opens it for reading only, beside whoever has it open: nothing gets to its file.
    pub rescue: Box<dyn FnMut() -> Result<Archive, StoreError> + Send>,
    /// Whether there is room to fold. Asked before each slice: a database whose write has failed
    /// refuses reads too, so a full disk must be seen before it is met.
    pub free_space: Box<dyn FnMut() -> Result<(), StoreError> + Send>,
    /// Bytes of one slice, roughly; one entry more may be in it.
    pub slice_bytes_max: u64,
}

/// Folds the tail into the archive.
pub struct Archiver {
    deps: ArchiverDeps,
    /// `None` while it cannot be opened.
    archive: Option<Archive>,
    /// What is read meanwhile, and never folded into.
    rescued: Option<Archive>,
    /// Snapshots whose last act is not folded yet.
    snapshots: Vec<Thread>,
    slice: usize,
    since_sync: Stopwatch,
}

impl Archiver {
    /// A folder that goes on from what `archive` holds.
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

    /// Folds the oldest slice of the tail, or makes durable what is folded if that is due;
    /// returns whether there was anything to do.
    ///
    /// # Errors
    /// What the disk says. The tail keeps what is not folded; calling again tries again.
    pub fn step(&mut self) -> Result<bool, StoreError> {
        self.step_with(false)
    }

    /// Opens the archive anew: what it did not hold durably may come back into the tail.
    ///
    /// # Errors
    /// What the disk says; then the archive cannot be read until a step has opened it.
    pub fn reopen_now(&mut self) -> Result<(), StoreError> {
        self.reopen()
    }

    /// Folds everything and makes it durable.
    ///
    /// # Errors
    /// As [`Archiver::step`].
    pub fn finish(&mut self) -> Result<(), StoreError> {
        while self.step_with(true)? {}
        Ok(())
    }

    /// Folds whatever comes until [`Views::close`], then the rest. On a thread of its own.
    pub fn run(mut self) {
        let views = Arc::clone(&self.deps.views);
        let mut failures = 0;
        loop {
            let closing = self.wait();
            match self.guarded_step(closing) {
                Ok(true) => {
                    if failures > 0 {
                        tracing::info!(failures, "folding goes on");
                    }
                    failures = 0;
                }
                Ok(false) if closing => return,
                Ok(false) => {}
                Err(error) => {
                    if failures == 0 {
                        tracing::error!(%error, "folding into the archive failed");
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

    /// A step; a damaged file may make the database panic, which must not end folding.
    fn guarded_step(&mut self, all: bool) -> Result<bool, StoreError> {
        catch_unwind(AssertUnwindSafe(|| self.step_with(all))).unwrap_or_else(|_| {
            let reopened = catch_unwind(AssertUnwindSafe(|| self.reopen()));
            Err(match reopened {
                Ok(Err(error)) => error,
                _ => damaged("the database panicked"),
            })
        })
    }

    /// Waits for something to do; returns whether the views are closing.
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

    fn step_with(&mut self, all: bool) -> Result<bool, StoreError> {
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
        let snapshots = self.take_snapshots(upto, backlog.last);
        let has_to_sync = is_durable && backlog.unsynced > 0;
        if slice.is_empty() && snapshots.is_empty() && !has_to_sync {
            return Ok(false);
        }
        (self.deps.free_space)()?;
        let now = self.deps.clock.now();
        let work = self.deps.clock.stopwatch();
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
        self.adapt(work.seconds(), is_full, sync);
        views.show(read);
        if is_durable {
            views.synced(progress.archived_upto);
            self.since_sync = self.deps.clock.stopwatch();
        }
        Ok(true)
    }

    /// Whether what is folded has waited long enough to become durable, once it is `unsynced`
    /// entries.
    fn is_sync_due(&self, unsynced: usize) -> bool {
        let (entries_max, bytes_max) = self.deps.views.unsynced_max();
        unsynced as u64 >= entries_max.min(UNSYNCED_MAX)
            || self.deps.views.tail_bytes() >= bytes_max
            || self.since_sync.seconds() >= UNSYNCED_FOR.as_secs_f64()
    }

    /// The snapshots offered that may be stored once the archive is true up to `upto`. Those that
    /// are ahead of it wait; those ahead of `last` show what was never committed.
    fn take_snapshots(&mut self, upto: u64, last: u64) -> Vec<Thread> {
        self.snapshots.extend(self.deps.views.take_snapshots());
        let entry = |thread: &Thread| thread.summary().position.entry();
        let ready = self.snapshots.extract_if(.., |thread| entry(thread) <= upto).collect();
        self.snapshots.retain(|thread| entry(thread) <= last);
        ready
    }

    /// Fits the next slice to the work that this one was.
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

    /// Opens the archive anew and shows it: after a failure the database refuses reads too.
    fn reopen(&mut self) -> Result<(), StoreError> {
        if self.archive.is_some() {
            // Shown before the failed one is closed, so that reading does not stop.
            match self.rescue() {
                Ok(rescued) => self.rescued = Some(rescued),
                Err(error) => tracing::error!(%error, "the archive cannot be read"),
            }
            // Closed before it is opened again: no two may write one file.
            self.archive = None;
        }
        let archive = (self.deps.reopen)()?;
        self.deps.views.show(archive.read()?);
        self.archive = Some(archive);
        self.rescued = None;
        Ok(())
    }

    fn rescue(&mut self) -> Result<Archive, StoreError> {
        let rescued = (self.deps.rescue)()?;
        self.deps.views.show(rescued.read()?);
        Ok(rescued)
    }
}
