//! A tape of everything that was done to a disk, so that each moment of a load can be had again.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use parley::storage::disk::Disk;
use redb::StorageBackend;

use crate::disk::FaultyDisk;

/// One thing done to a disk. Files are named by the handle that they were opened as.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A file was opened, and made if there was none and this is true.
    Open(String, bool),
    SetLen(usize, u64),
    Write(usize, u64, Arc<[u8]>),
    Sync(usize),
    Remove(String),
    Rename(String, String),
    /// The names of all files were made durable.
    SyncNames,
}

impl Deed {
    /// Whether it makes anything durable.
    pub fn is_sync(&self) -> bool {
        matches!(self, Self::Sync(_) | Self::SyncNames)
    }

    /// Whether it puts bytes anywhere.
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Write(..))
    }
}

#[derive(Debug, Default)]
struct Taken {
    deeds: Vec<Deed>,
    handles: usize,
}

/// A disk that takes down what is done to it; a clone is the same one.
#[derive(Clone, Debug, Default)]
pub struct RecordedDisk {
    inner: FaultyDisk,
    taken: Arc<Mutex<Taken>>,
}

impl RecordedDisk {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap()
    }

    fn take(&self, change: Deed) {
        self.taken().deeds.push(change);
    }

    /// How much is on the tape.
    pub fn len(&self) -> usize {
        self.taken().deeds.len()
    }

    /// Where the first removal after `from` stands, or the end.
    pub fn removal_after(&self, from: usize) -> usize {
        let taken = self.taken();
        let removal = |change: &Deed| matches!(change, Deed::Remove(_));
        taken.deeds[from..].iter().position(removal).map_or(taken.deeds.len(), |at| from + at)
    }

    /// The tape.
    pub fn deeds(&self) -> Vec<Deed> {
        self.taken().deeds.clone()
    }

    fn opened(&self, name: &str, makes: bool) -> io::Result<Box<dyn StorageBackend>> {
        let file = if makes { self.inner.create(name) } else { self.inner.open(name) }?;
        let mut taken = self.taken();
        taken.deeds.push(Deed::Open(name.to_owned(), makes));
        let handle = taken.handles;
        taken.handles += 1;
        Ok(Box::new(RecordedFile { disk: self.clone(), file, handle }))
    }
}

impl Disk for RecordedDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.opened(name, false)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.opened(name, true)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.take(Deed::Remove(name.to_owned()));
        self.inner.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.take(Deed::Rename(from.to_owned(), to.to_owned()));
        self.inner.rename(from, to)
    }

    fn sync(&self) -> io::Result<()> {
        self.take(Deed::SyncNames);
        self.inner.sync()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }

    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }
}

#[derive(Debug)]
struct RecordedFile {
    disk: RecordedDisk,
    file: Box<dyn StorageBackend>,
    handle: usize,
}

impl StorageBackend for RecordedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.take(Deed::SetLen(self.handle, len));
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.take(Deed::Sync(self.handle));
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.take(Deed::Write(self.handle, offset, data.into()));
        self.file.write(offset, data)
    }
}

/// Plays a tape on a disk of its own, deed by deed.
#[derive(Debug, Default)]
pub struct Player {
    disk: FaultyDisk,
    handles: Vec<Box<dyn StorageBackend>>,
}

impl Player {
    /// The disk as the deeds played so far left it.
    pub fn disk(&self) -> &FaultyDisk {
        &self.disk
    }

    /// Does one thing more.
    pub fn play(&mut self, change: &Deed) {
        let disk = &self.disk;
        match change {
            Deed::Open(name, true) => self.handles.push(disk.create(name).unwrap()),
            Deed::Open(name, false) => self.handles.push(disk.open(name).unwrap()),
            Deed::SetLen(handle, len) => self.handles[*handle].set_len(*len).unwrap(),
            Deed::Write(handle, offset, data) => {
                self.handles[*handle].write(*offset, data).unwrap();
            }
            Deed::Sync(handle) => self.handles[*handle].sync_data().unwrap(),
            Deed::Remove(name) => disk.remove(name).unwrap(),
            Deed::Rename(from, to) => disk.rename(from, to).unwrap(),
            Deed::SyncNames => disk.sync().unwrap(),
        }
    }

    /// Does the first half of a write; the whole may be played after it.
    pub fn play_half(&self, change: &Deed) {
        if let Deed::Write(handle, offset, data) = change {
            self.handles[*handle].write(*offset, &data[..data.len() / 2]).unwrap();
        }
    }
}
