//! A data folder that is only read: whoever opens the store in it may mend and recover as a start
//! does, and nothing of that reaches the folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::disk::{Disk, FolderDisk, MemoryDisk};
use super::error::StoreError;
use super::log::backend::Overlay;
use super::recovery::ARCHIVE_NAME;

/// A folder beneath a memory that takes what is written. Its files are opened for reading only.
#[derive(Debug)]
pub struct StillDisk {
    path: PathBuf,
    /// Files made here; they stand before the folder's.
    made: MemoryDisk,
    /// Files of the folder that were removed here.
    gone: Mutex<BTreeSet<String>>,
    _held: Held,
}

/// What keeps a server from the folder, for as long as it lives.
#[derive(Debug)]
enum Held {
    /// The lock, where there is one.
    Lock { _lock: Option<File> },
    /// Whoever has taken the folder.
    Folder { _disk: Arc<FolderDisk> },
}

impl StillDisk {
    /// The store in the folder at `path`, which no server may hold meanwhile.
    ///
    /// # Errors
    /// [`StoreError::NoStore`], [`StoreError::Locked`], [`StoreError::Unfinished`],
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let held = Held::Lock { _lock: FolderDisk::look(path)? };
        Self::of(path, held)
    }

    /// The store in a folder that is taken already.
    ///
    /// # Errors
    /// [`StoreError::NoStore`].
    pub fn over(disk: Arc<FolderDisk>) -> Result<Self, StoreError> {
        let path = disk.path().to_owned();
        Self::of(&path, Held::Folder { _disk: disk })
    }

    fn of(path: &Path, held: Held) -> Result<Self, StoreError> {
        if !path.join(ARCHIVE_NAME).is_file() {
            return Err(StoreError::NoStore { folder: path.to_owned() });
        }
        let (made, gone) = (MemoryDisk::default(), Mutex::default());
        Ok(Self { path: path.to_owned(), made, gone, _held: held })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn gone(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_made(&self, name: &str) -> io::Result<bool> {
        Ok(self.made.list()?.iter().any(|made| made == name))
    }

    /// The file `name` of the folder, as it is there.
    fn below(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        if self.gone().contains(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = ReadFile(File::open(self.path.join(name))?);
        Ok(Box::new(Overlay::new(Box::new(file))?))
    }
}

impl Disk for StillDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        if self.has_made(name)? { self.made.open(name) } else { self.below(name) }
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        match self.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.made.create(name),
            opened => opened,
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names: BTreeSet<_> = self.made.list()?.into_iter().collect();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name().into_string();
            names.extend(name.ok().filter(|name| !self.gone().contains(name)));
        }
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

/// A file that is open for reading only.
#[derive(Debug)]
struct ReadFile(File);

impl StorageBackend for ReadFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, offset)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}
