//! Opening a journal: the archive, and the entries of the log after it, replayed into the view.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::archive::{Archive, ArchiveMeta};
use super::archiver::{Archiver, ArchiverDeps};
use super::cursor::Cursors;
use super::numbers::Counters;
use super::options::{ACTIVE_CACHE_BYTES, JournalOptions, PUBLISH_QUEUE};
use super::publisher::{BatchListeners, Publisher};
use super::queue::{FirstNumbers, JournalQueue};
use super::replay::replay;
use super::view::{TailMax, Views};
use super::writer::Writer;
use super::{Journal, archive, log};
use crate::clock::Clock;
use crate::storage::disk::{self, Disk};
use crate::storage::error::{StoreError, StoreResult};
use crate::storage::free_space::FreeSpace;
use crate::storage::migration::migrate;
use crate::storage::overlay::Overlay;
use crate::storage::panic_guard::panic_guard;

/// A journal and the tasks that it needs. It works while all three run.
pub struct OpenedJournal {
    /// The interface.
    pub journal: Arc<Journal>,
    /// To be run on a thread of its own.
    pub writer: Writer,
    /// To be run as a task.
    pub publisher: Publisher,
    /// To be run on a thread of its own; ends after the writer.
    pub archiver: Archiver,
    /// What never changes while the forum runs.
    pub meta: ArchiveMeta,
}

impl Journal {
    /// Opens the journal on `disk`, initializing an empty one.
    ///
    /// # Errors
    /// [`StoreError::NewerFormat`], [`StoreError::Damaged`], or those of the disk.
    pub fn open(
        options: JournalOptions,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> StoreResult<OpenedJournal> {
        panic_guard(archive::FILE_NAME, || {
            migrate(&*disk, &[archive::FILE_FORMAT, log::FILE_FORMAT])?;
            Self::open_current(options, disk, clock)
        })
    }

    /// Opens files of the current format.
    fn open_current(
        options: JournalOptions,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> StoreResult<OpenedJournal> {
        let cache_bytes = (options.cache_bytes as usize).saturating_sub(ACTIVE_CACHE_BYTES);
        let cache_bytes = cache_bytes.max(ACTIVE_CACHE_BYTES);
        disk::make(&*disk, archive::FILE_NAME, |file| Archive::open(file, cache_bytes).map(drop))?;
        let free_space =
            FreeSpace::new(Arc::clone(&disk), Arc::clone(&clock), options.free_bytes_min);
        // The clone, since a check that found enough counts for a while.
        let has_room = free_space.clone().check().is_ok();
        let opened = OpenedArchive::open(&*disk, cache_bytes)?;
        let (read, meta) = (opened.archive.read()?, opened.archive.meta().clone());
        let (archived_upto, maxima) = (read.upto(), read.progress().maxima);
        let max = TailMax { entries: options.tail_entries_max, ..TailMax::default() };
        let views = Arc::new(Views::new(read, max));
        let segment_bytes = options.segment_bytes;
        let (log, entries) = log::open(Arc::clone(&disk), segment_bytes, archived_upto, has_room)?;
        let (committed, maxima) = replay(&views.view(), entries, maxima)?;
        views.push(&committed);
        let last = log.last();
        log.log().show(last);

        let start = FirstNumbers { entry: maxima.entry.max(last), thread: maxima.thread };
        let queue_max = options.queue_max as usize;
        let queue = Arc::new(JournalQueue::new(queue_max, start, Arc::clone(&clock)));
        let listeners = Arc::new(BatchListeners::new(last));
        let (outbox, inbox) = mpsc::channel(PUBLISH_QUEUE);
        let journal = Arc::new(Journal {
            queue: Arc::clone(&queue),
            counters: Counters::new(maxima.message, maxima.event, maxima.claim),
            views: Arc::clone(&views),
            log: Arc::clone(log.log()),
            listeners: Arc::clone(&listeners),
            cursors: Cursors::new(&meta, Arc::clone(&views)),
        });
        let publisher = Publisher { inbox, listeners, queue: Arc::clone(&queue) };
        let mut archiver_free_space = free_space.clone();
        let rescue_disk = Arc::clone(&disk);
        let deps = ArchiverDeps {
            views: Arc::clone(&views),
            clock: Arc::clone(&clock),
            reopen: Box::new(move || open_archive(&*disk, cache_bytes)),
            rescue: Box::new(move || read_archive(&*rescue_disk, cache_bytes)),
            free_space: Box::new(move || archiver_free_space.check()),
            slice_bytes_max: slice_bytes_max(options.cache_bytes, max),
        };
        let archiver = match opened {
            OpenedArchive { archive, is_rescued: false } => Archiver::new(deps, archive),
            OpenedArchive { archive, is_rescued: true } => Archiver::rescued(deps, archive),
        };
        let writer = Writer::new(queue, log, views, free_space, clock, options, outbox);
        Ok(OpenedJournal { journal, writer, publisher, archiver, meta })
    }
}

/// Bytes of one slice of the archiver: its pages are to fit into the cache, and until it is durable
/// as many bytes again may be added to the tail.
fn slice_bytes_max(cache_bytes: u64, tail: TailMax) -> u64 {
    (cache_bytes / 4 * 3).min(tail.bytes / 3)
}

/// The archive as a start finds it.
struct OpenedArchive {
    archive: Archive,
    /// Whether its file takes no writes, for want of room: it is only read then.
    is_rescued: bool,
}

impl OpenedArchive {
    fn open(disk: &dyn Disk, cache_bytes: usize) -> StoreResult<Self> {
        match open_archive(disk, cache_bytes) {
            Err(error) if error.is_full() => {
                tracing::warn!(%error, "there is no room to write the archive");
                Ok(Self { archive: read_archive(disk, cache_bytes)?, is_rescued: true })
            }
            opened => Ok(Self { archive: opened?, is_rescued: false }),
        }
    }
}

fn open_archive(disk: &dyn Disk, cache_bytes: usize) -> StoreResult<Archive> {
    Archive::open(disk::open_made(disk, archive::FILE_NAME)?, cache_bytes)
}

/// Opens the archive without writing to its file: for a disk that refuses writes.
fn read_archive(disk: &dyn Disk, cache_bytes: usize) -> StoreResult<Archive> {
    let error = |error| StoreError::io(archive::FILE_NAME, error);
    let file = Overlay::new(disk.open(archive::FILE_NAME).map_err(error)?).map_err(error)?;
    Archive::open(Box::new(file), cache_bytes)
}
