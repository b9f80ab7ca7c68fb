//! A flat set of named files, on a file system or in memory. All durable state goes through
//! [`Disk`], so that a test can supply one that loses, tears, refuses or delays writes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use redb::backends::{FileBackend, InMemoryBackend};

use super::error::{StoreError, StoreResult};

/// The file whose lock the process that uses the data folder holds.
pub const LOCK_NAME: &str = "lock";
/// Bytes of a block, the unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;
/// The file that marks a data folder while a restore fills it: its other files are no store yet.
pub const UNFINISHED_NAME: &str = "restore.unfinished";

/// A flat set of named files.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Opens the file `name`.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>>;

    /// Opens the file `name`, making an empty one if there is none.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>>;

    /// The names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Removes the file `name`; handles that are open stay valid.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Renames the file `from` to `to`, replacing a file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Syncs the directory: which files there are, and their names, are durable then.
    fn sync(&self) -> io::Result<()>;

    /// Bytes that are free.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Bytes that all files occupy.
    fn bytes(&self) -> io::Result<u64>;
}

/// The names of all files on `disk`, sorted.
///
/// # Errors
/// [`StoreError::Io`].
pub fn names(disk: &dyn Disk) -> StoreResult<Vec<String>> {
    let mut names = disk.list().map_err(|error| StoreError::io("the data folder", error))?;
    names.sort();
    Ok(names)
}

/// Makes the file `name` if there is none: `fill` writes it under another name, so that a crash
/// leaves no partial file under `name`.
///
/// # Errors
/// Those of the disk and of `fill`.
pub fn make(
    disk: &dyn Disk,
    name: &str,
    fill: impl FnOnce(Box<dyn StorageBackend>) -> StoreResult<()>,
) -> StoreResult<()> {
    let error = |error| StoreError::io(name, error);
    let names = disk.list().map_err(error)?;
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let draft = format!("{name}.draft");
    if names.contains(&draft) {
        disk.remove(&draft).map_err(error)?;
    }
    fill(disk.create(&draft).map_err(error)?)?;
    disk.rename(&draft, name).map_err(error)?;
    disk.sync().map_err(error)
}

/// Opens the file `name`, which [`make`] has made. An empty one has lost its contents and must not
/// be initialized again.
///
/// # Errors
/// [`StoreError::Damaged`] if it is empty, [`StoreError::Io`].
pub fn open_made(disk: &dyn Disk, name: &str) -> StoreResult<Box<dyn StorageBackend>> {
    let error = |error| StoreError::io(name, error);
    let file = disk.open(name).map_err(error)?;
    if file.len().map_err(error)? == 0 {
        return Err(StoreError::damaged(name, "it is empty"));
    }
    Ok(file)
}

/// A directory, held by one process at a time.
#[derive(Debug)]
pub struct FolderDisk {
    path: PathBuf,
    is_read_only: bool,
    /// Locked as long as it is open; a directory that is only read may have none.
    _lock: Option<File>,
}

impl FolderDisk {
    /// Takes the directory at `path`, making it with mode 0700 if there is none.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process holds it, at once; [`StoreError::Unfinished`],
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> StoreResult<Self> {
        let error = |error| StoreError::io(path.display().to_string(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(error)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = options.open(path.join(LOCK_NAME)).map_err(error)?;
        take_lock(path, &lock)?;
        Ok(Self { path: path.to_owned(), is_read_only: false, _lock: Some(lock) })
    }

    /// Takes the directory at `path` for reading only: nothing in it is changed or made.
    ///
    /// # Errors
    /// [`StoreError::NoStore`] if there is no such directory, else as [`FolderDisk::open`].
    pub fn open_read_only(path: &Path) -> StoreResult<Self> {
        if !path.is_dir() {
            return Err(StoreError::NoStore { folder: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), is_read_only: true, _lock: Self::lock(path)? })
    }

    /// Takes the lock of the directory at `path` without changing anything in it; `None` if there
    /// is no lock file, and so no server that could hold it.
    ///
    /// # Errors
    /// As [`FolderDisk::open`].
    pub fn lock(path: &Path) -> StoreResult<Option<File>> {
        let lock = match File::open(path.join(LOCK_NAME)) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(path.display().to_string(), error)),
        };
        take_lock(path, &lock)?;
        Ok(Some(lock))
    }

    fn open_with(&self, name: &str, options: &OpenOptions) -> io::Result<Box<dyn StorageBackend>> {
        let file = options.open(self.path.join(name))?;
        Ok(Box::new(FileBackend::new(file).map_err(io::Error::other)?))
    }

    fn require_writable(&self) -> io::Result<()> {
        if self.is_read_only { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks the directory at `path`, and refuses one that an interrupted restore left.
fn take_lock(path: &Path, lock: &File) -> StoreResult<()> {
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::Locked { folder: path.to_owned() });
        }
        Err(TryLockError::Error(error)) => {
            return Err(StoreError::io(path.display().to_string(), error));
        }
    }
    if path.join(UNFINISHED_NAME).exists() {
        return Err(StoreError::Unfinished { folder: path.to_owned() });
    }
    Ok(())
}

impl Disk for FolderDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.open_with(name, OpenOptions::new().read(true).write(!self.is_read_only))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.require_writable()?;
        let mut options = OpenOptions::new();
        // Readable by the owner alone: files hold hashed tokens too.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        self.open_with(name, &options)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names =
            fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(io::Result::transpose).collect()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.require_writable()?;
        fs::remove_file(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.require_writable()?;
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn bytes(&self) -> io::Result<u64> {
        let mut sum = 0;
        for entry in fs::read_dir(&self.path)? {
            // A file may be removed meanwhile.
            if let Ok(metadata) = entry?.metadata() {
                // Allocated ones: the database extends its files ahead.
                sum += metadata.blocks() * BLOCK_BYTES;
            }
        }
        Ok(sum)
    }
}

/// Files in memory, for tests and for [`ReadOnlyDisk`](super::read_only::ReadOnlyDisk). A clone is
/// the same disk, so that its files outlive a restart of the journal. A write is durable at once.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, MemoryFile>>>,
}

/// One file in memory.
#[derive(Clone, Debug, Default)]
struct MemoryFile(Arc<InMemoryBackend>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn absent(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{name} is not there"))
}

impl Disk for MemoryDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        let file = lock(&self.files).get(name).cloned();
        file.map(|file| -> Box<dyn StorageBackend> { Box::new(file) }).ok_or_else(|| absent(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(lock(&self.files).entry(name.into()).or_default().clone()))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.files).keys().cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.files).remove(name).map(drop).ok_or_else(|| absent(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = lock(&self.files);
        let file = files.remove(from).ok_or_else(|| absent(from))?;
        files.insert(to.into(), file);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn bytes(&self) -> io::Result<u64> {
        lock(&self.files).values().map(StorageBackend::len).sum()
    }
}

impl StorageBackend for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}
