//! A data folder that is only read: whoever opens the store in it may mend and recover as a start
//! does, and nothing of that reaches the folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::journal::recovery::ARCHIVE_NAME;
use crate::storage::disk::{Disk, FolderDisk, MemoryDisk};
use crate::storage::error::StoreError;
use crate::storage::overlay::Overlay;

/// A disk beneath a memory that takes what is written.
#[derive(Debug)]
pub struct ReadOnlyDisk {
    below: Arc<dyn Disk>,
    /// Files made here; they stand before those below.
    made: MemoryDisk,
    /// Files below that were removed here.
    gone: Mutex<BTreeSet<String>>,
}

impl ReadOnlyDisk {
    /// The store on the disk `below`, which lies in `folder`.
    ///
    /// # Errors
    /// [`StoreError::NoStore`], [`StoreError::Io`].
    pub fn over(below: Arc<dyn Disk>, folder: &Path) -> Result<Self, StoreError> {
        let names = below.list().map_err(|error| StoreError::io("the data folder", error))?;
        if !names.iter().any(|name| name == ARCHIVE_NAME) {
            return Err(StoreError::NoStore { folder: folder.to_owned() });
        }
        Ok(Self { below, made: MemoryDisk::default(), gone: Mutex::default() })
    }

    fn gone(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_made(&self, name: &str) -> io::Result<bool> {
        Ok(self.made.list()?.iter().any(|made| made == name))
    }
}

impl Disk for ReadOnlyDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        if self.has_made(name)? {
            return self.made.open(name);
        }
        if self.gone().contains(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(Overlay::new(self.below.open(name)?)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        match self.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.made.create(name),
            opened => opened,
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names: BTreeSet<_> = self.made.list()?.into_iter().collect();
        let below = self.below.list()?;
        names.extend(below.into_iter().filter(|name| !self.gone().contains(name)));
        Ok(names.into_iter().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if self.has_made(name)? {
            self.made.remove(name)?;
        }
        self.gone().insert(name.to_owned());
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if !self.has_made(from)? {
            return Err(io::Error::other("only what was made here is renamed"));
        }
        self.made.rename(from, to)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn bytes(&self) -> io::Result<u64> {
        self.made.bytes()
    }
}

/// A folder whose files are opened for reading only, and which no server can take meanwhile.
#[derive(Debug)]
pub struct ReadOnlyFolder {
    path: PathBuf,
    /// Locked as long as it is open; there may be none.
    _lock: Option<File>,
}

impl ReadOnlyFolder {
    /// The folder at `path`, in which nothing is changed, the lock neither.
    ///
    /// # Errors
    /// [`StoreError::NoStore`] if there is no such folder, [`StoreError::Locked`],
    /// [`StoreError::Unfinished`], [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.is_dir() {
            return Err(StoreError::NoStore { folder: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), _lock: FolderDisk::look(path)? })
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::PermissionDenied.into())
}

impl Disk for ReadOnlyFolder {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(ReadOnlyFile(File::open(self.path.join(name))?)))
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn StorageBackend>> {
        refused()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.path)?;
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(0)
    }
}

/// A file that is open for reading only.
#[derive(Debug)]
struct ReadOnlyFile(File);

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, offset)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, _: u64, _: &[u8]) -> io::Result<()> {
        refused()
    }
}
