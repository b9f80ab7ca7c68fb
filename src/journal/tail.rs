//! What is committed and not yet folded, in order for reading.
//!
//! Persistent maps: a clone is a handful of counters and stays as it is while the tail goes on.
//! The tail holds every entry after the archive's `archived_upto`: whoever joins the two lets the
//! tail's heads, claims and questions stand for the archive's, and takes acts and artifacts after
//! `archived_upto` from the tail alone. It only grows; once a slice is folded, a new one takes its
//! place.

use std::sync::Arc;

use imbl::{HashMap, OrdMap, Vector};
use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Due, Entry, Published};
use parley_protocol::identity::Identity;
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::thread_summary::ThreadSummary;

use super::Committed;
use super::archive::{self, Retraction};

/// A thread that has acts in the tail.
#[derive(Clone, Debug)]
pub(super) struct TailThread {
    /// As it stands.
    pub summary: Arc<ThreadSummary>,
    /// Its acts, in order.
    pub acts: Vector<Arc<Committed>>,
    /// Its claims that were made or changed, with the entry of the last change.
    pub claims: OrdMap<ClaimId, (u64, Arc<Claim>)>,
    /// Its messages that were taken back.
    pub retracted: OrdMap<MessageId, Retraction>,
}

/// The tail.
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
    /// What came under an idempotency key, by its digest.
    pub outcomes: HashMap<[u8; 16], Arc<Committed>>,
    /// Artifacts by entry.
    pub artifacts: OrdMap<u64, Arc<Committed>>,
    /// Artifacts by identifier.
    pub artifact_ids: OrdMap<[u8; 32], u64>,
    /// (referred to, entry) → what refers, and whether it objects.
    pub artifact_refs: OrdMap<([u8; 32], u64), ([u8; 32], bool)>,
    /// (thread, entry) of artifacts published about a thread.
    pub artifact_threads: OrdMap<(ThreadId, u64), ()>,
}

impl Tail {
    /// Takes the next entry.
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
                self.unlist(old);
            }
            self.list(summary);
        }
    }

    /// Lists the question of `summary` that stands, if any.
    fn list(&mut self, summary: &ThreadSummary) {
        match summary.awaiting.as_ref().map(|awaiting| &awaiting.due) {
            Some(Due::Anyone) => {
                self.board.insert(summary.awaiting_entry, summary.id);
            }
            Some(Due::Participant(due)) => {
                let key = (Arc::clone(&due.identity), summary.awaiting_entry);
                self.directed.insert(key, summary.id);
            }
            None => {}
        }
    }

    fn unlist(&mut self, summary: &ThreadSummary) {
        match summary.awaiting.as_ref().map(|awaiting| &awaiting.due) {
            Some(Due::Anyone) => {
                self.board.remove(&summary.awaiting_entry);
            }
            Some(Due::Participant(due)) => {
                self.directed.remove(&(Arc::clone(&due.identity), summary.awaiting_entry));
            }
            None => {}
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

    /// Whether the tail says how `thread` stands.
    pub fn holds(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }
}

impl TailThread {
    fn take(&mut self, committed: &Arc<Committed>, act: &Act) {
        self.acts.push_back(Arc::clone(committed));
        for claim in &committed.claims {
            self.claims.insert(claim.id, (committed.number, Arc::clone(claim)));
        }
        if let Some((message, retraction)) = archive::retraction(act) {
            self.retracted.insert(message, retraction);
        }
    }
}

/// The entry that set the question which stands, if one does.
fn standing(summary: &ThreadSummary) -> Option<u64> {
    summary.awaiting.as_ref().map(|_| summary.awaiting_entry)
}

/// What an entry weighs in memory, in bytes, roughly: enough to bound the tail by.
pub(super) fn weight(committed: &Committed) -> u64 {
    /// An act, its summary, and their places in the maps.
    const ACT: usize = 1_200;
    /// A claim with its evidence, as a rule.
    const CLAIM: usize = 1_000;
    let bytes = match &committed.entry {
        Entry::Act(act) => {
            let body = act.message().map_or(0, |message| message.body.len());
            ACT + body + CLAIM * committed.claims.len()
        }
        Entry::Artifact(published) => {
            let answer = published.key.as_ref().map_or(0, |(_, answer)| answer.len());
            ACT + published.bytes.len() + answer + 160 * published.references.len()
        }
        Entry::Outcome(..) => ACT,
    };
    bytes as u64
}
