//! The tail: committed entries that are not archived yet, in memory, ordered for reading.
//!
//! Its maps are persistent: a clone costs a few counters and does not change. The tail holds every
//! entry after the archive's `archived_upto`. To join the two, the tail's summaries, claims and
//! questions replace the archive's, and acts and artifacts after `archived_upto` come from the tail
//! alone. A tail only grows; once a slice is archived, a new tail replaces it.

use std::sync::Arc;

use imbl::{HashMap, OrdMap, Vector};
use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Due, Entry, Published};
use parley_protocol::identity::Identity;
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::thread_summary::ThreadSummary;

use super::Committed;
use super::archive::{self, Retraction, standing};

/// A thread that has acts in the tail.
#[derive(Clone, Debug)]
pub(super) struct TailThread {
    /// Its summary after its last act.
    pub summary: Arc<ThreadSummary>,
    /// Its acts, in order.
    pub acts: Vector<Arc<Committed>>,
    /// Its claims that were made or changed.
    pub claims: OrdMap<ClaimId, Arc<Claim>>,
    /// Its retracted messages.
    pub retracted: OrdMap<MessageId, Retraction>,
}

/// The entries, indexed as the archive's tables are.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    /// The threads that have acts here.
    pub threads: OrdMap<ThreadId, Arc<TailThread>>,
    /// These threads by the entry of their last change.
    pub updated: OrdMap<u64, ThreadId>,
    /// Those with a question to anyone, by the entry that set it.
    pub board: OrdMap<u64, ThreadId>,
    /// Those with something due to a participant, by its identity and the entry that set it.
    pub directed: OrdMap<(Identity, u64), ThreadId>,
    /// The threads of the claims here.
    pub claim_threads: OrdMap<ClaimId, ThreadId>,
    /// Entries under an idempotency key, by its digest.
    pub outcomes: HashMap<[u8; 16], Arc<Committed>>,
    /// Artifacts by entry.
    pub artifacts: OrdMap<u64, Arc<Committed>>,
    /// Artifacts by identifier.
    pub artifact_ids: OrdMap<[u8; 32], u64>,
    /// (artifact referred to, entry) → the artifact that refers to it, and whether it objects.
    pub artifact_refs: OrdMap<([u8; 32], u64), ([u8; 32], bool)>,
    /// (thread, entry) of artifacts published about a thread.
    pub artifact_threads: OrdMap<(ThreadId, u64), ()>,
}

impl Tail {
    /// Adds the next entry.
    pub fn push(&mut self, committed: &Arc<Committed>) {
        match &committed.entry {
            Entry::Act(act) => self.push_act(committed, act),
            Entry::Artifact(published) => self.push_artifact(committed, published),
            Entry::Outcome(..) => {}
        }
        if let Some(key) = committed.entry.key() {
            self.outcomes.insert(key.key, Arc::clone(committed));
        }
    }

    fn push_act(&mut self, committed: &Arc<Committed>, act: &Act) {
        let summary = committed.summary.as_ref().expect("an act is committed with its head");
        let old = match self.threads.get_mut(&act.thread) {
            Some(thread) => {
                let thread = Arc::make_mut(thread);
                let old = std::mem::replace(&mut thread.summary, Arc::clone(summary));
                thread.take(committed, act);
                Some(old)
            }
            None => {
                let mut thread = TailThread {
                    summary: Arc::clone(summary),
                    acts: Vector::new(),
                    claims: OrdMap::new(),
                    retracted: OrdMap::new(),
                };
                thread.take(committed, act);
                self.threads.insert(act.thread, Arc::new(thread));
                None
            }
        };
        for claim in &committed.claims {
            self.claim_threads.insert(claim.id, act.thread);
        }
        if let Some(old) = &old {
            self.updated.remove(&old.position.entry());
        }
        self.updated.insert(summary.position.entry(), act.thread);
        if old.as_deref().and_then(standing) != standing(summary) {
            if let Some(old) = &old {
                self.list(old, false);
            }
            self.list(summary, true);
        }
    }

    /// Lists the open question of `summary`, if it has one, or unlists it.
    fn list(&mut self, summary: &ThreadSummary, is_open: bool) {
        let Some(awaiting) = &summary.awaiting else { return };
        match &awaiting.due {
            Due::Anyone => change(&mut self.board, summary.awaiting_entry, summary.id, is_open),
            Due::Participant(due) => {
                let key = (Arc::clone(&due.identity), summary.awaiting_entry);
                change(&mut self.directed, key, summary.id, is_open);
            }
        }
    }

    fn push_artifact(&mut self, committed: &Arc<Committed>, published: &Published) {
        let entry = committed.number;
        self.artifacts.insert(entry, Arc::clone(committed));
        self.artifact_ids.insert(published.id, entry);
        let objected = archive::objections(published);
        for id in &published.references {
            let objects = objected.contains(id);
            self.artifact_refs.insert((*id, entry), (published.id, objects));
        }
        if let Some(thread) = published.thread {
            self.artifact_threads.insert((thread, entry), ());
        }
    }

    /// Whether `thread` has acts in the tail, so that its rows in the archive are out of date.
    pub fn holds(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }
}

impl TailThread {
    fn take(&mut self, committed: &Arc<Committed>, act: &Act) {
        self.acts.push_back(Arc::clone(committed));
        for claim in &committed.claims {
            self.claims.insert(claim.id, Arc::clone(claim));
        }
        if let Some((message, retraction)) = archive::retraction(act) {
            self.retracted.insert(message, retraction);
        }
    }
}

fn change<K: Ord + Clone>(
    questions: &mut OrdMap<K, ThreadId>,
    key: K,
    thread: ThreadId,
    is_open: bool,
) {
    if is_open {
        questions.insert(key, thread);
    } else {
        questions.remove(&key);
    }
}
