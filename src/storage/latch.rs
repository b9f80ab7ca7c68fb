//! A file of the database, which may have a latch: then it is not written any more once a write to
//! it has failed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::StorageBackend;

/// Trips at the first failed write of a file, or by [`ErrorLatch::trip`]; every later write fails.
/// A clone is the same latch.
#[derive(Clone, Debug, Default)]
pub struct ErrorLatch(Arc<AtomicBool>);

impl ErrorLatch {
    /// Makes every later write fail.
    pub fn trip(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it has tripped.
    pub fn is_tripped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn guard(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.is_tripped() {
            return Err(io::Error::other("the file failed before and is not written any more"));
        }
        write().inspect_err(|_| self.trip())
    }
}

/// A file of a [`Disk`](super::disk::Disk) in the form that the database accepts, behind an
/// [`ErrorLatch`] if it has one: after an error it is unknown which bytes reached the disk, so
/// neither a later write nor an orderly close of the database may build on them.
#[derive(Debug)]
pub struct BoxedFile {
    inner: Box<dyn StorageBackend>,
    latch: Option<ErrorLatch>,
}

impl BoxedFile {
    /// `inner` without a latch.
    pub fn new(inner: Box<dyn StorageBackend>) -> Self {
        Self { inner, latch: None }
    }

    /// `inner` behind `latch`.
    pub fn latched(inner: Box<dyn StorageBackend>, latch: ErrorLatch) -> Self {
        Self { inner, latch: Some(latch) }
    }

    fn guard(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match &self.latch {
            Some(latch) => latch.guard(write),
            None => write(),
        }
    }
}

impl StorageBackend for BoxedFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.guard(|| self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.guard(|| self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.guard(|| self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}
