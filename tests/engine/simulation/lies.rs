//! The disk of a run: as it is, or one that says of some syncs that they are done and does nothing.

use std::io;
use std::sync::Arc;

use parley::storage::disk::Disk;
use parley_kit::disk::FaultyDisk;
use redb::StorageBackend;

use super::meddler::{Fault, Meddler};

/// The file of the tokens.
const TOKENS_NAME: &str = "tokens.redb";

/// A disk that lies as its meddler says.
#[derive(Debug)]
pub struct LyingDisk {
    disk: FaultyDisk,
    meddler: Arc<Meddler>,
}

impl LyingDisk {
    /// The disk `disk`, as `meddler` wants it.
    pub fn new(disk: FaultyDisk, meddler: Arc<Meddler>) -> Self {
        Self { disk, meddler }
    }

    fn file(&self, name: &str, file: Box<dyn StorageBackend>) -> Box<dyn StorageBackend> {
        let fault = match name {
            TOKENS_NAME => Some(Fault::ForgetRevocation),
            _ if name.starts_with("log-") => Some(Fault::AcknowledgeBeforeSync),
            _ => None,
        };
        Box::new(LyingFile { file, fault, meddler: Arc::clone(&self.meddler) })
    }
}

impl Disk for LyingDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        Ok(self.file(name, self.disk.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        Ok(self.file(name, self.disk.create(name)?))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }

    fn bytes(&self) -> io::Result<u64> {
        self.disk.bytes()
    }
}

/// A file of it.
#[derive(Debug)]
struct LyingFile {
    file: Box<dyn StorageBackend>,
    /// The fault that its syncs may have.
    fault: Option<Fault>,
    meddler: Arc<Meddler>,
}

impl StorageBackend for LyingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let lies = match self.fault {
            Some(Fault::ForgetRevocation) => self.meddler.forgets_tokens(),
            Some(fault) => self.meddler.plants(fault),
            None => false,
        };
        if lies { Ok(()) } else { self.file.sync_data() }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
