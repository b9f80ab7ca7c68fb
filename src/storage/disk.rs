//! Where the journal's files lie. All durable state goes through [`Disk`], so that a test can hand
//! in one that forgets, tears, fails or stalls.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::storage::error::StoreError;

/// The file whose lock says that the folder is held.
pub const LOCK_NAME: &str = "lock";
/// The file that stands in a folder as long as a restore fills it: what else lies there is no
/// store.
pub const UNFINISHED_NAME: &str = "restore.unfinished";

/// A flat set of named files.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Opens the file `name`.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>>;

    /// Opens the file `name`, an empty one if there is none.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>>;

    /// The names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Removes the file `name`. Whoever holds it open may go on using it.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives the file `from` the name `to`, in the place of what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Makes durable which files there are and how they are named.
    fn sync(&self) -> io::Result<()>;

    /// Bytes that can still be written.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Bytes that all files take up.
    fn bytes(&self) -> io::Result<u64>;
}

/// A file as [`Disk`] gives it, as the database takes it.
#[derive(Debug)]
pub struct BoxedFile(pub Box<dyn StorageBackend>);

impl StorageBackend for BoxedFile {
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
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

/// Makes the file `name` if there is none: `fill` writes it under another name, so that no later
/// start finds half of one.
///
/// # Errors
/// What the disk says, or `fill`.
pub fn make(
    disk: &dyn Disk,
    name: &str,
    fill: impl FnOnce(Box<dyn StorageBackend>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
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

/// Opens the file `name`, which [`make`] has made: one that holds nothing lost what it held, and
/// must not be begun anew.
///
/// # Errors
/// [`StoreError::Damaged`], or what the disk says.
pub fn open_made(disk: &dyn Disk, name: &str) -> Result<Box<dyn StorageBackend>, StoreError> {
    let error = |error| StoreError::io(name, error);
    let file = disk.open(name).map_err(error)?;
    if file.len().map_err(error)? == 0 {
        return Err(StoreError::damaged(name, "it is empty"));
    }
    Ok(file)
}

/// A folder, held by one process at a time.
#[derive(Debug)]
pub struct FolderDisk {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl FolderDisk {
    /// Takes the folder at `path`, making it with mode 0700 if there is none.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process holds it, at once; [`StoreError::Unfinished`],
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let shown = || path.display().to_string();
        make_folder(path).map_err(|error| StoreError::io(shown(), error))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK_NAME))
            .map_err(|error| StoreError::io(shown(), error))?;
        hold(path, &lock)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Takes the lock of the folder at `path` without changing anything in it; `None` if there is
    /// no lock, and so no server that could have it.
    ///
    /// # Errors
    /// As [`FolderDisk::open`].
    pub fn look(path: &Path) -> Result<Option<File>, StoreError> {
        let lock = match File::open(path.join(LOCK_NAME)) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(path.display().to_string(), error)),
        };
        hold(path, &lock)?;
        Ok(Some(lock))
    }

    fn open_with(&self, name: &str, options: &OpenOptions) -> io::Result<Box<dyn StorageBackend>> {
        let file = options.open(self.path.join(name))?;
        Ok(Box::new(FileBackend::new(file).map_err(io::Error::other)?))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks the folder at `path`, and refuses one that a restore has not filled to its end.
fn hold(path: &Path, lock: &File) -> Result<(), StoreError> {
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

#[cfg(unix)]
fn make_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// Everything stored is the operator's alone: it holds hashed tokens too.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

impl Disk for FolderDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.open_with(name, OpenOptions::new().read(true).write(true))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        self.open_with(name, private(&mut options))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
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
        for entry in std::fs::read_dir(&self.path)? {
            // A file may go away while we look.
            if let Ok(metadata) = entry?.metadata() {
                sum += taken(&metadata);
            }
        }
        Ok(sum)
    }
}

/// What a file takes up: the database extends its files ahead, and what it has not written yet
/// takes no room.
#[cfg(unix)]
fn taken(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn taken(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

/// Files in memory, for tests and simulations: a clone is the same disk, so that what is written
/// outlives a restart of the journal. Everything written is durable at once.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, MemoryFile>>>,
}

/// One file in memory.
#[derive(Clone, Debug, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

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
        Ok(lock(&self.files).values().map(|file| lock(&file.0).len() as u64).sum())
    }
}

/// The part of `bytes` that begins at `offset` and is `len` long; an error beyond the end.
fn part(offset: u64, len: usize, of: usize) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok();
    let end = start.and_then(|start| start.checked_add(len));
    match (start, end) {
        (Some(start), Some(end)) if end <= of => Ok(start..end),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl StorageBackend for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = lock(&self.0);
        out.copy_from_slice(&bytes[part(offset, out.len(), bytes.len())?]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        lock(&self.0).resize(len, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = lock(&self.0);
        let range = part(offset, data.len(), bytes.len())?;
        bytes[range].copy_from_slice(data);
        Ok(())
    }
}
