//! The log, decoded in chunks that listeners share: ten thousand that come back at once cost one
//! reading of what they all missed, and each looks up only what concerns it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parley_protocol::entry::{Act, Due, Entry};
use parley_protocol::feed::Scope;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::who::Identity;
use tokio::sync::Mutex;

use super::outlet::Subscription;
use crate::journal::Journal;

/// Entries of a whole chunk.
pub const CHUNK_ENTRIES: u64 = 1_024;
/// Chunks kept decoded: about 1 KiB an entry, so at most some 32 MiB.
pub const CHUNKS_MAX: usize = 32;
/// Bytes of the log that one reading takes at most.
const CHUNK_BYTES_MAX: usize = 16 << 20;

/// Some entries of the log, and who is concerned by which.
pub struct Chunk {
    /// They come after this one.
    after: u64,
    /// Everything up to this one has been looked at.
    pub upto: u64,
    acts: Vec<(u64, Act)>,
    by_identity: HashMap<Identity, Vec<u32>>,
    by_thread: HashMap<ThreadId, Vec<u32>>,
    anyone: Vec<u32>,
}

impl Chunk {
    fn of(after: u64, upto: u64, entries: Vec<(u64, Entry)>) -> Self {
        let mut chunk = Self {
            after,
            upto,
            acts: Vec::new(),
            by_identity: HashMap::new(),
            by_thread: HashMap::new(),
            anyone: Vec::new(),
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
        let now = act.awaiting.as_ref().filter(|_| act.awaiting_set);
        for awaiting in [now, act.awaiting_was.as_ref()].into_iter().flatten() {
            let rows = match &awaiting.due {
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
        let all = |(number, act): &'a (u64, Act)| (*number, act);
        let begun = self.acts.partition_point(|(number, _)| *number <= after);
        if subscription.scope == Scope::All {
            return self.acts[begun..].iter().map(all).collect();
        }
        let mut rows: Vec<u32> = Vec::new();
        if subscription.scope == Scope::Threads {
            rows.extend(threads.iter().filter_map(|thread| self.by_thread.get(thread)).flatten());
        } else {
            let identity = &subscription.participant.identity;
            rows.extend(self.by_identity.get(identity).into_iter().flatten());
            if subscription.anyone {
                rows.extend(&self.anyone);
            }
        }
        rows.sort_unstable();
        rows.dedup();
        let rows = rows.into_iter().map(|row| row as usize).filter(|row| *row >= begun);
        rows.map(|row| all(&self.acts[row])).collect()
    }
}

/// The chunks kept. One is read at a time; whoever waits for the same finds it here.
pub struct Chunks {
    journal: Arc<Journal>,
    kept: Mutex<VecDeque<Arc<Chunk>>>,
}

impl Chunks {
    /// No chunk yet.
    pub fn new(journal: Arc<Journal>) -> Self {
        Self { journal, kept: Mutex::default() }
    }

    /// The chunk that holds the entry after `after`, looked at up to `upto_min` at least if it is
    /// the last.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the log holds it no more, 503 if it cannot be read.
    pub async fn at(&self, after: u64, upto_min: u64) -> Result<Arc<Chunk>> {
        let begin = after / CHUNK_ENTRIES * CHUNK_ENTRIES;
        let wanted = upto_min.min(begin + CHUNK_ENTRIES);
        let mut kept = self.kept.lock().await;
        if let Some(place) = kept.iter().position(|chunk| chunk.after == begin) {
            if kept[place].upto >= wanted {
                return Ok(Arc::clone(&kept[place]));
            }
            kept.remove(place);
        }
        let journal = Arc::clone(&self.journal);
        let read = tokio::task::spawn_blocking(move || read(&journal, begin, after)).await;
        let chunk = Arc::new(read.map_err(|_| crate::thread::internal())??);
        if chunk.after == begin {
            if kept.len() >= CHUNKS_MAX {
                kept.pop_front();
            }
            kept.push_back(Arc::clone(&chunk));
        }
        Ok(chunk)
    }
}

fn read(journal: &Journal, begin: u64, after: u64) -> Result<Chunk> {
    let entries = usize::try_from(CHUNK_ENTRIES).unwrap_or(usize::MAX);
    // The log may begin within the chunk: then what it holds of it is read for this listener.
    let from = match journal.log().entries(begin, entries, CHUNK_BYTES_MAX)? {
        Some(stretch) => Some((begin, stretch)),
        None => {
            journal.log().entries(after, entries, CHUNK_BYTES_MAX)?.map(|stretch| (after, stretch))
        }
    };
    let (from, mut stretch) = from.ok_or_else(too_old)?;
    let end = begin + CHUNK_ENTRIES;
    stretch.entries.retain(|(number, _)| *number <= end);
    Ok(Chunk::of(from, stretch.upto.min(end), stretch.entries))
}

/// 400 `invalid_cursor` of a cursor that lies too far back to be replayed.
pub fn too_old() -> Refusal {
    let detail = "The cursor is too old for a feed. Read the inbox and begin the feed from the \
                  cursor that it gives.";
    Refusal::new(Reason::InvalidCursor, detail)
}
