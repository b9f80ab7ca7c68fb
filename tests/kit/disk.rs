//! A disk that fails as disks do: it forgets what was not synced, refuses, tears, fills up, stalls
//! and lies. What it promises when none of that is asked of it is what a real one does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use parley::storage::disk::Disk;
use redb::StorageBackend;

use crate::Rng;

/// What a page of the machine's cache holds: synced and forgotten as a whole.
const PAGE: usize = 4_096;
/// What reaches a real disk whole or not at all.
const SECTOR: usize = 512;

/// What is to go wrong. Counts are from now on; 0 is never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// This write fails; half of it may have been done.
    pub write: u64,
    /// Whether the failing write leaves its first half behind.
    pub torn: bool,
    /// This sync fails, and what it should have made durable looks clean from then on.
    pub sync: u64,
    /// Whether the failing sync wrote everything all the same.
    pub sync_reached: bool,
    /// All that fails goes on failing until [`FaultyDisk::mend`].
    pub lasting: bool,
    /// Bytes that all files together may have.
    pub bytes_max: Option<u64>,
    /// Free bytes that are told, where they are not computed.
    pub free_bytes: Option<u64>,
    /// Asking for the free bytes panics.
    pub free_bytes_panic: bool,
    /// Syncs do nothing and say that all is well: a planted fault.
    pub sync_lies: bool,
}

impl Faults {
    /// From now on no write and no sync succeeds.
    pub fn refusing() -> Self {
        Self { write: 1, sync: 1, lasting: true, ..Self::default() }
    }
}

/// Which of the writes that were not synced a cut leaves behind.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// None.
    ForgetAll,
    /// All: the process was killed, the machine goes on, with what its cache holds.
    Kill,
    /// Some sectors of some, by a seed.
    KeepSome(u64),
}

/// An operation on a disk. Files are named by the handle that they were opened as, from 0 on.
#[derive(Clone, Debug)]
pub enum Op {
    /// A file is opened, and made if there is none and this is true.
    Open(String, bool),
    SetLen(usize, u64),
    Write(usize, u64, Arc<[u8]>),
    Sync(usize),
    Remove(String),
    Rename(String, String),
    /// The names of all files are made durable.
    SyncNames,
}

impl Op {
    /// Whether it makes anything durable.
    pub fn is_sync(&self) -> bool {
        matches!(self, Self::Sync(_) | Self::SyncNames)
    }

    /// Whether it puts bytes anywhere.
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Write(..))
    }
}

/// Called before each operation with the name of the file that it is on; an operation for which it
/// gives false is not carried out, and succeeds all the same.
pub type Watch = Arc<dyn Fn(&str, Op) -> bool + Send + Sync>;

#[derive(Clone, Debug, Default)]
struct File {
    /// What reading shows.
    seen: Vec<u8>,
    /// What is on the disk.
    stable: Vec<u8>,
    /// Pages that were written and not synced.
    dirty: BTreeSet<usize>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<File>,
    /// The names that listing shows, and which file they are.
    names: BTreeMap<String, usize>,
    /// The names on the disk.
    stable_names: BTreeMap<String, usize>,
    faults: Faults,
    writes: u64,
    syncs: u64,
    /// Rises with each cut: what was open before is dead.
    life: u64,
    stalled: bool,
    waiting: u64,
    /// Files opened so far.
    handles: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    moved: Condvar,
    watch: Mutex<Option<Watch>>,
}

/// The disk; a clone is the same one.
#[derive(Clone, Default)]
pub struct FaultyDisk(Arc<Shared>);

impl fmt::Debug for FaultyDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyDisk").finish_non_exhaustive()
    }
}

impl FaultyDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// From now on every operation is shown to `watch`, if there is one.
    pub fn watch(&self, watch: Option<Watch>) {
        *self.0.watch.lock().unwrap() = watch;
    }

    /// Whether an operation on the file `name` is to be carried out.
    fn is_carried_out(&self, name: &str, op: impl FnOnce() -> Op) -> bool {
        let watch = self.0.watch.lock().unwrap().clone();
        watch.is_none_or(|watch| watch(name, op()))
    }

    fn open_file(&self, name: &str, makes: bool) -> io::Result<Box<dyn StorageBackend>> {
        if !makes {
            self.state().id(name)?;
        }
        self.is_carried_out(name, || Op::Open(name.to_owned(), makes));
        let mut state = self.state();
        if makes && !state.names.contains_key(name) {
            let file = state.files.len();
            state.files.push(File::default());
            state.names.insert(name.to_owned(), file);
        }
        let (file, life, number) = (state.id(name)?, state.life, state.handles);
        state.handles += 1;
        Ok(Box::new(Handle { disk: self.clone(), name: name.to_owned(), number, file, life }))
    }

    /// What is to go wrong from now on.
    pub fn set(&self, faults: Faults) {
        let mut state = self.state();
        (state.faults, state.writes, state.syncs) = (faults, 0, 0);
    }

    /// All is well from now on.
    pub fn mend(&self) {
        self.set(Faults::default());
    }

    /// Syncs since the faults were set.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Writes since the faults were set.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// Whether the failing write or the failing sync has come.
    pub fn has_struck(&self) -> bool {
        let State { faults, writes, syncs, .. } = *self.state();
        faults.write > 0 && writes >= faults.write || faults.sync > 0 && syncs >= faults.sync
    }

    /// Lets every sync wait, or go on.
    pub fn stall(&self, stalled: bool) {
        self.state().stalled = stalled;
        self.0.moved.notify_all();
    }

    /// Waits until a sync waits.
    pub fn wait_for_stall(&self) {
        let state = self.state();
        drop(self.0.moved.wait_while(state, |state| state.waiting == 0).unwrap());
    }

    /// The power goes, or the process. What is open is dead: a late write of the old process
    /// changes nothing.
    pub fn cut(&self, cut: Cut) {
        let mut state = self.state();
        state.life += 1;
        state.faults = Faults::default();
        let rng = match cut {
            Cut::Kill => return,
            Cut::KeepSome(seed) => Some(Rng::new(seed)),
            Cut::ForgetAll => None,
        };
        for file in &mut state.files {
            if let Some(rng) = &rng {
                file.sync_some(rng);
            }
            file.seen = file.stable.clone();
            file.dirty.clear();
        }
        state.names = state.stable_names.clone();
    }

    /// Alters one bit of a file, where `chosen` says, on the disk too.
    pub fn flip(&self, name: &str, byte: usize) {
        let mut state = self.state();
        let file = state.names[name];
        state.files[file].seen[byte] ^= 1;
        state.files[file].stable[byte] ^= 1;
    }

    /// Another disk that holds the same, closed in good order.
    pub fn copy(&self) -> Self {
        let state = self.state();
        let copied = State {
            files: state.files.clone(),
            names: state.names.clone(),
            stable_names: state.stable_names.clone(),
            ..State::default()
        };
        Self(Arc::new(Shared { state: Mutex::new(copied), ..Shared::default() }))
    }

    /// What the file `name` holds, as reading shows it.
    pub fn bytes_of(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        state.files[state.names[name]].seen.clone()
    }
}

impl File {
    fn sync(&mut self) {
        self.stable.resize(self.seen.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            let range = page * PAGE..((page + 1) * PAGE).min(self.seen.len());
            if !range.is_empty() {
                self.stable[range.clone()].copy_from_slice(&self.seen[range]);
            }
        }
    }

    /// The length may have got there or not, and of each page some sectors.
    fn sync_some(&mut self, rng: &Rng) {
        if self.seen.len() > self.stable.len() || rng.number() & 1 == 0 {
            self.stable.resize(self.seen.len(), 0);
        }
        for page in std::mem::take(&mut self.dirty) {
            for sector in 0..PAGE / SECTOR {
                let start = page * PAGE + sector * SECTOR;
                let end = (start + SECTOR).min(self.seen.len()).min(self.stable.len());
                if start < end && rng.number() & 1 == 0 {
                    self.stable[start..end].copy_from_slice(&self.seen[start..end]);
                }
            }
        }
    }
}

impl State {
    fn due(count: u64, at: u64, lasting: bool) -> bool {
        at != 0 && (count == at || lasting && count > at)
    }

    fn size(&self) -> u64 {
        self.names.values().map(|file| self.files[*file].seen.len() as u64).sum()
    }

    fn id(&self, name: &str) -> io::Result<usize> {
        let id = self.names.get(name).copied();
        id.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, name.to_owned()))
    }

    /// Whether what is written next fails.
    fn write_fails(&mut self) -> bool {
        self.writes += 1;
        Self::due(self.writes, self.faults.write, self.faults.lasting)
    }

    fn sync_fails(&mut self) -> bool {
        self.syncs += 1;
        Self::due(self.syncs, self.faults.sync, self.faults.lasting)
    }
}

fn failed() -> io::Error {
    io::Error::other("the disk failed, as the test asked")
}

/// An open file.
#[derive(Debug)]
struct Handle {
    disk: FaultyDisk,
    name: String,
    number: usize,
    file: usize,
    life: u64,
}

impl Handle {
    fn alive(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if state.life != self.life {
            return Err(io::Error::other("the machine that had this open is gone"));
        }
        Ok(state)
    }
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.alive()?.files[self.file].seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.alive()?;
        let (seen, offset) = (&state.files[self.file].seen, offset as usize);
        let range = seen.get(offset..offset + out.len());
        out.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if !self.disk.is_carried_out(&self.name, || Op::SetLen(self.number, len)) {
            return Ok(());
        }
        let mut state = self.alive()?;
        let (len, old) = (len as usize, state.files[self.file].seen.len());
        let grown = state.size() + len.saturating_sub(old) as u64;
        if state.write_fails() {
            return Err(failed());
        }
        if len > old && state.faults.bytes_max.is_some_and(|max| grown > max) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = &mut state.files[self.file];
        file.seen.resize(len, 0);
        file.dirty.extend(old.min(len) / PAGE..len.div_ceil(PAGE));
        file.dirty.retain(|page| page * PAGE < len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        if !self.disk.is_carried_out(&self.name, || Op::Sync(self.number)) {
            return Ok(());
        }
        let mut state = self.alive()?;
        state.waiting += 1;
        self.disk.0.moved.notify_all();
        state = self.disk.0.moved.wait_while(state, |state| state.stalled).unwrap();
        state.waiting -= 1;
        if state.life != self.life {
            return Err(failed());
        }
        let (fails, faults) = (state.sync_fails(), state.faults);
        let file = &mut state.files[self.file];
        match (fails, faults.sync_lies) {
            (false, true) => {}
            (false, false) => file.sync(),
            (true, _) if faults.sync_reached => file.sync(),
            (true, _) => file.dirty.clear(),
        }
        if fails { Err(failed()) } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let op = || Op::Write(self.number, offset, data.into());
        if !self.disk.is_carried_out(&self.name, op) {
            return Ok(());
        }
        let mut state = self.alive()?;
        let fails = state.write_fails();
        let done = match (fails, state.faults.torn) {
            (false, _) => data.len(),
            (true, true) => data.len() / 2,
            (true, false) => 0,
        };
        let (file, offset) = (&mut state.files[self.file], offset as usize);
        let range = file.seen.get_mut(offset..offset + data.len());
        range.ok_or(io::ErrorKind::UnexpectedEof)?[..done].copy_from_slice(&data[..done]);
        if done > 0 {
            file.dirty.extend(offset / PAGE..(offset + done).div_ceil(PAGE));
        }
        if fails { Err(failed()) } else { Ok(()) }
    }
}

impl Disk for FaultyDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.open_file(name, false)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        self.open_file(name, true)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if !self.is_carried_out(name, || Op::Remove(name.to_owned())) {
            return Ok(());
        }
        let mut state = self.state();
        state.id(name)?;
        state.names.remove(name);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if !self.is_carried_out(from, || Op::Rename(from.to_owned(), to.to_owned())) {
            return Ok(());
        }
        let mut state = self.state();
        let file = state.id(from)?;
        if state.write_fails() {
            return Err(failed());
        }
        state.names.remove(from);
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        if !self.is_carried_out("", || Op::SyncNames) {
            return Ok(());
        }
        let mut state = self.state();
        if state.sync_fails() {
            return Err(failed());
        }
        if !state.faults.sync_lies {
            state.stable_names = state.names.clone();
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let state = self.state();
        if state.faults.free_bytes_panic {
            drop(state);
            panic!("{}", crate::panics::ASKED);
        }
        let left = state.faults.bytes_max.map(|max| max.saturating_sub(state.size()));
        Ok(state.faults.free_bytes.or(left).unwrap_or(u64::MAX))
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.state().size())
    }
}
