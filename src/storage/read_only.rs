//! A disk that is only read: a store opened on it is repaired and recovered as at a start, in
//! memory; nothing of that is written below.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::disk::{Disk, MemoryDisk};
use super::overlay::Overlay;

/// A disk of which only [`Disk::open`] and [`Disk::list`] are called; writes stay in memory.
#[derive(Debug)]
pub struct ReadOnlyDisk {
    below: Arc<dyn Disk>,
    /// Files created here; they hide those below.
    created: MemoryDisk,
    /// Names of files below that were removed here.
    removed: Mutex<BTreeSet<String>>,
}

impl ReadOnlyDisk {
    /// Over the disk `below`.
    pub fn over(below: Arc<dyn Disk>) -> Self {
        Self { below, created: MemoryDisk::default(), removed: Mutex::default() }
    }

    fn removed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_created(&self, name: &str) -> io::Result<bool> {
        Ok(self.created.list()?.iter().any(|created| created == name))
    }
}

impl Disk for ReadOnlyDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        if self.is_created(name)? {
            return self.created.open(name);
        }
        if self.removed().contains(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(Overlay::new(self.below.open(name)?)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        match self.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.created.create(name),
            opened => opened,
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names: BTreeSet<_> = self.created.list()?.into_iter().collect();
        let below = self.below.list()?;
        names.extend(below.into_iter().filter(|name| !self.removed().contains(name)));
        Ok(names.into_iter().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if self.is_created(name)? {
            self.created.remove(name)?;
        }
        self.removed().insert(name.to_owned());
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if !self.is_created(from)? {
            return Err(io::Error::other("only a file created here can be renamed"));
        }
        self.created.rename(from, to)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn bytes(&self) -> io::Result<u64> {
        self.created.bytes()
    }
}
