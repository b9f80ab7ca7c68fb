//! A disk in memory that outlives the database on it, forgets what was not synced, and fails.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// A file in memory; a clone is the same file.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<File>);

#[derive(Debug, Default)]
struct File {
    live: Mutex<Vec<u8>>,
    synced: Mutex<Vec<u8>>,
    refuses: AtomicBool,
}

impl Disk {
    /// From now on every write and sync fails, or none does.
    pub fn refuse(&self, refuses: bool) {
        self.0.refuses.store(refuses, Ordering::SeqCst);
    }

    /// The same contents beside this disk: nothing that is written there gets here.
    pub fn beside(&self) -> Self {
        let live = self.0.live.lock().unwrap().clone();
        Self(Arc::new(File { live: Mutex::new(live), ..File::default() }))
    }

    /// A disk with only what was synced: what a power cut leaves.
    pub fn after_power_cut(&self) -> Self {
        let synced = self.0.synced.lock().unwrap().clone();
        let file = File { live: Mutex::new(synced.clone()), ..File::default() };
        *file.synced.lock().unwrap() = synced;
        Self(Arc::new(file))
    }

    fn check(&self) -> io::Result<()> {
        if self.0.refuses.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk refuses"));
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.live.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        let live = self.0.live.lock().unwrap();
        let bytes = live.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.0.live.lock().unwrap().resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.0.synced.lock().unwrap().clone_from(&self.0.live.lock().unwrap());
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        let start = usize::try_from(offset).unwrap();
        self.0.live.lock().unwrap()[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }
}
