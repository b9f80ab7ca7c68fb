//! A record of every operation on a disk, so that each moment of a load can be had again.

use std::sync::{Arc, Mutex, MutexGuard};

use parley::storage::disk::Disk;
use redb::StorageBackend;

use crate::disk::{FaultyDisk, Op};

/// The operations on a disk, in order; a clone is the same record.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Vec<Op>>>);

impl Recorder {
    /// Records what is done to `disk` from now on.
    pub fn of(disk: &FaultyDisk) -> Self {
        let this = Self::default();
        let recorder = this.clone();
        disk.watch(Some(Arc::new(move |_, op| {
            recorder.ops().push(op);
            true
        })));
        this
    }

    /// The operations so far.
    pub fn ops(&self) -> MutexGuard<'_, Vec<Op>> {
        self.0.lock().unwrap()
    }

    /// Where the first removal after `from` stands, or the end.
    pub fn removal_after(&self, from: usize) -> usize {
        let ops = self.ops();
        let removal = ops[from..].iter().position(|op| matches!(op, Op::Remove(_)));
        removal.map_or(ops.len(), |at| from + at)
    }
}

/// Carries recorded operations out on a disk of its own.
#[derive(Debug, Default)]
pub struct Player {
    disk: FaultyDisk,
    handles: Vec<Box<dyn StorageBackend>>,
}

impl Player {
    /// The disk as the operations so far left it.
    pub fn disk(&self) -> &FaultyDisk {
        &self.disk
    }

    /// Carries out the next one.
    pub fn play(&mut self, op: &Op) {
        let disk = &self.disk;
        match op {
            Op::Open(name, true) => self.handles.push(disk.create(name).unwrap()),
            Op::Open(name, false) => self.handles.push(disk.open(name).unwrap()),
            Op::SetLen(handle, len) => self.handles[*handle].set_len(*len).unwrap(),
            Op::Write(handle, offset, data) => {
                self.handles[*handle].write(*offset, data).unwrap();
            }
            Op::Sync(handle) => self.handles[*handle].sync_data().unwrap(),
            Op::Remove(name) => disk.remove(name).unwrap(),
            Op::Rename(from, to) => disk.rename(from, to).unwrap(),
            Op::SyncNames => disk.sync().unwrap(),
        }
    }

    /// Does the first half of a write; the whole may be played after it.
    pub fn play_half(&self, op: &Op) {
        if let Op::Write(handle, offset, data) = op {
            self.handles[*handle].write(*offset, &data[..data.len() / 2]).unwrap();
        }
    }
}
