//! Decodes the log in chunks that replays share: ten thousand listeners that come back at once cost
//! one reading of the entries that they missed, and each looks up only the acts that concern it.

use std::collections::{BTreeMap, HashMap};
use std::mem::size_of;
use std::sync::{Arc, Mutex};

use parley_protocol::entry::{Act, Due, Entry};
use parley_protocol::feed::Scope;
use parley_protocol::identity::Identity;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};

use crate::feed::subscriber::Subscription;
use crate::feed::{dues, lock};
use crate::journal::Journal;

/// Entries of a chunk, at most.
pub const CHUNK_ENTRIES: u64 = 512;
/// Bytes of the log read for one chunk, about; its first entry may be larger.
const CHUNK_BYTES_MAX: usize = 2 << 20;
/// Bytes of memory that the kept chunks take, about.
pub const KEPT_BYTES_MAX: usize = 96 << 20;
/// Bytes of memory that an act takes beside its body, about.
const ACT_BYTES: usize = size_of::<(u64, Act)>() + 256;

/// The acts of some consecutive entries of the log, indexed by the listeners that they concern.
#[derive(Default)]
pub struct ReplayChunk {
    /// The entry before its first.
    after: u64,
    /// Its last entry.
    pub upto: u64,
    acts: Vec<(u64, Act)>,
    by_identity: HashMap<Identity, Vec<u32>>,
    by_thread: HashMap<ThreadId, Vec<u32>>,
    anyone: Vec<u32>,
    bytes: usize,
}

impl ReplayChunk {
    fn of(after: u64, upto: u64, entries: Vec<(u64, Entry)>, bytes: usize) -> Self {
        let mut chunk = Self {
            after,
            upto,
            acts: Vec::with_capacity(entries.len()),
            bytes: bytes + entries.len() * ACT_BYTES,
            ..Self::default()
        };
        for (number, entry) in entries {
            if let Entry::Act(act) = entry {
                chunk.add(number, *act);
            }
        }
        chunk
    }

    fn add(&mut self, number: u64, act: Act) {
        let row = u32::try_from(self.acts.len()).unwrap_or(u32::MAX);
        self.by_thread.entry(act.thread).or_default().push(row);
        for due in dues(&act) {
            let rows = match due {
                Due::Anyone => &mut self.anyone,
                Due::Participant(due) => {
                    self.by_identity.entry(Arc::clone(&due.identity)).or_default()
                }
            };
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
        self.acts.push((number, act));
    }

    /// The acts after the entry `after` that may concern a listener which follows `threads`.
    pub fn concerning<'a>(
        &'a self,
        subscription: &Subscription,
        threads: &[ThreadId],
        after: u64,
    ) -> Vec<(u64, &'a Act)> {
        let pair = |(number, act): &'a (u64, Act)| (*number, act);
        let begun = self.acts.partition_point(|(number, _)| *number <= after);
        let mut rows: Vec<u32> = Vec::new();
        match subscription.scope {
            Scope::All => return self.acts[begun..].iter().map(pair).collect(),
            Scope::Threads => {
                let known = threads.iter().filter_map(|thread| self.by_thread.get(thread));
                rows.extend(known.flatten());
            }
            Scope::Inbox => {
                let identity = &subscription.participant.identity;
                rows.extend(self.by_identity.get(identity).into_iter().flatten());
                rows.extend(self.anyone.iter().filter(|_| subscription.anyone));
            }
        }
        rows.sort_unstable();
        rows.dedup();
        let rows = rows.into_iter().map(|row| row as usize).filter(|row| *row >= begun);
        rows.map(|row| pair(&self.acts[row])).collect()
    }
}

/// The kept chunks; the one used longest ago is dropped first.
#[derive(Default)]
struct CachedChunks {
    /// By the entry after which they begin, each with the moment of its last use.
    chunks: BTreeMap<u64, (Arc<ReplayChunk>, u64)>,
    uses: u64,
    bytes: usize,
    /// How many chunks were read.
    reads: u64,
}

impl CachedChunks {
    /// The chunk that holds the entry after `after`.
    fn find(&mut self, after: u64) -> Option<Arc<ReplayChunk>> {
        let (_, (chunk, used)) = self.chunks.range_mut(..=after).next_back()?;
        if chunk.upto <= after {
            return None;
        }
        self.uses += 1;
        *used = self.uses;
        Some(Arc::clone(chunk))
    }

    fn keep(&mut self, chunk: &Arc<ReplayChunk>) {
        self.reads += 1;
        self.uses += 1;
        self.bytes += chunk.bytes;
        let before = self.chunks.insert(chunk.after, (Arc::clone(chunk), self.uses));
        self.bytes -= before.map_or(0, |(before, _)| before.bytes);
        while self.bytes > KEPT_BYTES_MAX && self.chunks.len() > 1 {
            let oldest = self.chunks.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(after, _)| *after) else { break };
            let gone = self.chunks.remove(&oldest);
            self.bytes -= gone.map_or(0, |(gone, _)| gone.bytes);
        }
    }
}

struct ReplayCacheInner {
    journal: Arc<Journal>,
    cached: Mutex<CachedChunks>,
}

/// The thread on which the log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// One for blocking work: the disk holds up no task.
    Aside,
    /// That of the listener's task: for a disk in memory, and a run that must repeat exactly.
    Here,
}

/// The cache of decoded chunks. One chunk is read at a time; listeners that wait for the same one
/// find it in the cache.
pub struct ReplayCache {
    inner: Arc<ReplayCacheInner>,
    reading: Arc<tokio::sync::Mutex<()>>,
    place: ReadMode,
}

impl ReplayCache {
    /// An empty cache of the log of `journal`.
    pub fn new(journal: Arc<Journal>) -> Self {
        let inner = Arc::new(ReplayCacheInner { journal, cached: Mutex::default() });
        Self { inner, reading: Arc::default(), place: ReadMode::Aside }
    }

    /// The same, with the log read in this mode.
    pub fn read_at(self, place: ReadMode) -> Self {
        Self { place, ..self }
    }

    /// The chunk of the entry after `after`, which must be committed.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the log no longer holds the entry, 503 if it cannot be read.
    pub async fn at(&self, after: u64) -> Result<Arc<ReplayChunk>> {
        if let Some(chunk) = lock(&self.inner.cached).find(after) {
            return Ok(chunk);
        }
        let reading = Arc::clone(&self.reading).lock_owned().await;
        if let Some(chunk) = lock(&self.inner.cached).find(after) {
            return Ok(chunk);
        }
        let inner = Arc::clone(&self.inner);
        // A chunk whose reading has begun is kept even if this listener goes away meanwhile.
        let read = move || {
            let chunk = inner.read(after)?;
            lock(&inner.cached).keep(&chunk);
            drop(reading);
            Ok(chunk)
        };
        match self.place {
            ReadMode::Here => read(),
            ReadMode::Aside => {
                let reading = tokio::task::spawn_blocking(read);
                reading.await.map_err(|_| Refusal::internal())?
            }
        }
    }

    /// How many chunks were read from the log so far.
    pub fn reads(&self) -> u64 {
        lock(&self.inner.cached).reads
    }
}

impl ReplayCacheInner {
    /// Reads the chunk of the entry after `after`. Chunks begin at multiples of [`CHUNK_ENTRIES`]
    /// where the log has them, so that replays from different places share them.
    fn read(&self, after: u64) -> Result<Arc<ReplayChunk>> {
        let fixed = after / CHUNK_ENTRIES * CHUNK_ENTRIES;
        let mut from = fixed;
        loop {
            let end = fixed + CHUNK_ENTRIES;
            let entries = usize::try_from(CHUNK_ENTRIES).unwrap_or(usize::MAX);
            let log = self.journal.log();
            let Some(mut stretch) = log.entries(from, entries, CHUNK_BYTES_MAX)? else {
                // The log may begin within the chunk.
                if from == after {
                    return Err(Refusal::cursor_too_old());
                }
                from = after;
                continue;
            };
            stretch.entries.retain(|(number, _)| *number <= end);
            let upto = stretch.upto.min(end);
            if upto > after {
                let bytes = stretch.entries.iter().map(|(_, entry)| entry.weight()).sum();
                return Ok(Arc::new(ReplayChunk::of(from, upto, stretch.entries, bytes)));
            }
            if upto <= from {
                return Err(Refusal::internal());
            }
            // Large entries fill chunks before their end.
            from = upto;
        }
    }
}
