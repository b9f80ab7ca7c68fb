//! A file that is not written any more once a write to it has failed.

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

    fn guard<T>(&self, write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.is_tripped() {
            return Err(io::Error::other("the file failed before and is not written any more"));
        }
        write().inspect_err(|_| self.trip())
    }
}

/// A file behind an [`ErrorLatch`]: after an error it is unknown which bytes reached the disk, so
/// neither a later write nor an orderly close of the database may build on them.
#[derive(Debug)]
pub struct LatchedFile {
    inner: Box<dyn StorageBackend>,
    latch: ErrorLatch,
}

impl LatchedFile {
    /// `inner` behind `latch`.
    pub fn new(inner: Box<dyn StorageBackend>, latch: ErrorLatch) -> Self {
        Self { inner, latch }
    }
}

impl StorageBackend for LatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.latch.guard(|| self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.latch.guard(|| self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.latch.guard(|| self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}
