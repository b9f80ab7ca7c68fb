//! Random histories of threads, made by the core's own `admit` and `apply`, as the writer would
//! push them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley::journal::Committed;
use parley_kit::Rng;
use parley_kit::acts::{assertion, message, principal};
use parley_kit::artifact::named;
use parley_kit::numbers::Counters;
use parley_protocol::act::Kind;
use parley_protocol::artifact::Identifier;
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{ClaimProof, Command, Mark};
use parley_protocol::entry::{Act, Entry, KeyUse, Published, StoredOutcome};
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::limits::Limits;
use parley_protocol::refusal::StoredRefusal;
use parley_protocol::state::State;
use parley_protocol::thread::{Context, Thread};
use parley_protocol::time::Millis;
use serde_json::json;

/// The identities that take part.
pub const IDENTITIES: [&str; 4] = ["local:ada", "local:bob", "local:a", "human:eve"];
/// Their extensions; none is the bare line.
pub const EXTENSIONS: [Option<&str>; 3] = [None, Some("w1"), Some("w2")];

/// The participant of an identity and an extension.
pub fn participant(identity: &str, extension: Option<&str>) -> Participant {
    Participant { identity: identity.into(), extension: extension.map(Into::into) }
}

/// Threads as they stand, and every entry so far.
#[derive(Default)]
pub struct World {
    /// What decides.
    pub rng: Rng,
    /// The threads as their actors have them.
    pub threads: BTreeMap<ThreadId, Thread>,
    /// Every entry, in order.
    pub entries: Vec<Arc<Committed>>,
    /// The clock.
    pub now: Millis,
    messages: BTreeMap<ThreadId, Vec<MessageId>>,
    artifacts: Vec<[u8; 32]>,
    counters: Counters,
    last: u64,
    /// Whether numbers have gaps, as a commit that failed leaves them.
    gaps: bool,
    limits: Limits,
}

impl World {
    /// A world from a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            now: Millis(1_800_000_000_000),
            gaps: true,
            limits: Limits { consecutive_max: 1_000, exchange_max: 1_000, ..Limits::default() },
            ..Self::default()
        }
    }

    /// The same, every number given: where no commit ever failed.
    pub fn without_gaps(seed: u64) -> Self {
        Self { gaps: false, ..Self::new(seed) }
    }

    /// Lets something happen `times` times; returns the entries that came of it.
    pub fn acts(&mut self, times: u64) -> &[Arc<Committed>] {
        let before = self.entries.len();
        (0..times).for_each(|_| drop(self.act()));
        &self.entries[before..]
    }

    /// Lets things happen until there are `count` entries; returns the new ones.
    pub fn grow_to(&mut self, count: usize) -> &[Arc<Committed>] {
        let before = self.entries.len();
        while self.entries.len() < count {
            self.act();
        }
        &self.entries[before..]
    }

    /// Lets something happen; returns the entry, if one came of it.
    pub fn act(&mut self) -> Option<Arc<Committed>> {
        self.now.0 += self.rng.number() % 50;
        match self.rng.below(20) {
            0 | 1 => return Some(self.open()),
            2 => return Some(self.publish()),
            _ => {}
        }
        let ids: Vec<_> = self.threads.keys().copied().collect();
        if ids.is_empty() {
            return Some(self.open());
        }
        // Some threads are busier than others.
        let id = if self.rng.once_in(2) { ids[0] } else { self.rng.pick(&ids) };
        let (principal, command) = (self.principal(), self.command(id));
        self.command_on(id, &principal, &command)
    }

    /// Opens a thread.
    pub fn open(&mut self) -> Arc<Committed> {
        let principal = self.principal();
        let extension = self.extension();
        self.open_by(&principal, extension)
    }

    /// Opens a thread as `principal` with `extension`.
    pub fn open_by(
        &mut self,
        principal: &Principal,
        extension: Option<Arc<str>>,
    ) -> Arc<Committed> {
        let id = ThreadId(self.threads.len() as u64 + 1);
        let command = message(Kind::Ask, None, None, extension, &format!("question of {id}"));
        let key = self.key();
        let (now, limits, numbers) = (self.now, &self.limits, &mut self.counters);
        let mut context = Context { now, principal, limits, numbers, key };
        let act = Thread::opening(&mut context, id, &command);
        let thread = Thread::open(&act).expect("an opening opens");
        self.threads.insert(id, thread);
        self.commit(act)
    }

    /// A command on the thread `id`; the entry, if it changed something or is remembered.
    pub fn command_on(
        &mut self,
        id: ThreadId,
        principal: &Principal,
        command: &Command,
    ) -> Option<Arc<Committed>> {
        let key = self.key();
        let (now, limits, numbers) = (self.now, &self.limits, &mut self.counters);
        let mut context = Context { now, principal, limits, numbers, key };
        let thread = self.threads.get_mut(&id).expect("the thread is there");
        match (thread.admit(&mut context, command), key) {
            (Ok(Some(act)), _) => {
                thread.apply(&act);
                Some(self.commit(act))
            }
            (Ok(None), Some(key)) => Some(self.remember(key, StoredOutcome::Unchanged(id))),
            (Err(refusal), Some(key)) => {
                let refused = StoredOutcome::Refused(StoredRefusal::from(&refusal));
                Some(self.remember(key, refused))
            }
            (_, None) => None,
        }
    }

    fn remember(&mut self, key: KeyUse, outcome: StoredOutcome) -> Arc<Committed> {
        self.place(Entry::Outcome(self.now, key, outcome))
    }

    fn commit(&mut self, act: Act) -> Arc<Committed> {
        if let Some(message) = act.message() {
            self.messages.entry(act.thread).or_default().push(message.id);
        }
        self.place(Entry::Act(Box::new(act)))
    }

    fn place(&mut self, entry: Entry) -> Arc<Committed> {
        self.last += if self.gaps && self.rng.once_in(10) { 3 } else { 1 };
        let number = self.last;
        let (mut head, mut claims) = (None, Vec::new());
        if let Entry::Act(act) = &entry {
            let thread = self.threads.get_mut(&act.thread).expect("an act has its thread");
            thread.stamp(act, number);
            head = Some(Arc::new(thread.summary().clone()));
            claims = act.claims().filter_map(|id| thread.claim(id).cloned()).collect();
        }
        let committed = Arc::new(Committed { number, entry, summary: head, claims });
        self.entries.push(Arc::clone(&committed));
        committed
    }

    fn publish(&mut self) -> Arc<Committed> {
        let mut references = Vec::new();
        for _ in 0..self.rng.below(4) {
            // Some refer to what is not there.
            let known = self.artifacts.clone();
            let other = if known.is_empty() { [7; 32] } else { self.rng.pick(&known) };
            if !references.contains(&other) {
                references.push(other);
            }
        }
        let kind = self.rng.pick(&["CLAIM", "OBJECTION", "DECISION"]);
        let written = references.iter().enumerate().map(|(place, id)| {
            let relation = if place % 2 == 0 { "objects-to" } else { "considers" };
            json!({ "artifact_id": Identifier::from_digest(*id), "relation": relation })
        });
        let written: Vec<_> = written.collect();
        let nonce = self.rng.number().to_string();
        let artifact = named(json!({ "nonce": nonce, "references": written }));
        let id: Identifier = artifact["artifact_id"].as_str().unwrap().parse().unwrap();
        let id = *id.digest();
        let ids: Vec<_> = self.threads.keys().copied().collect();
        let thread = (!ids.is_empty() && self.rng.once_in(2)).then(|| self.rng.pick(&ids));
        let key = self.key().map(|key| (key, Box::from(&b"{}"[..])));
        self.artifacts.push(id);
        self.place(Entry::Artifact(Box::new(Published {
            id,
            at: self.now,
            bytes: artifact.to_string().into_bytes().into(),
            references,
            kind: kind.into(),
            thread,
            key,
        })))
    }

    fn key(&mut self) -> Option<KeyUse> {
        self.rng.once_in(4).then(|| {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&self.rng.number().to_le_bytes());
            KeyUse { key, content: [key[0]; 16] }
        })
    }

    fn principal(&mut self) -> Principal {
        principal(self.rng.pick(&IDENTITIES))
    }

    fn extension(&mut self) -> Option<Arc<str>> {
        self.rng.pick(&EXTENSIONS).map(Into::into)
    }

    fn command(&mut self, id: ThreadId) -> Command {
        match self.rng.below(12) {
            0 => self.mark(),
            1 | 2 => self.assertion(id),
            3 => Command::Attest(self.proof(id)),
            4 => Command::Refute(self.proof(id)),
            _ => self.post(id),
        }
    }

    fn mark(&mut self) -> Command {
        let state = self.rng.pick(&State::ALL);
        let mark = Mark { state, reason: None, extension: self.extension() };
        match self.rng.below(4) {
            0 => Command::Reopen(Mark { state: State::Open, ..mark }),
            1 => Command::Confirm(mark),
            _ => Command::Mark(mark),
        }
    }

    fn post(&mut self, id: ThreadId) -> Command {
        let kind = self.rng.pick(&Kind::ALL);
        let messages = &self.messages[&id];
        let parent =
            (!self.rng.once_in(3) || kind == Kind::Retract).then(|| self.rng.pick(messages));
        message(kind, Some(id), parent, self.extension(), "words")
    }

    fn claim_of(&mut self, id: ThreadId) -> Option<ClaimId> {
        let claims: Vec<_> = self.threads[&id].claims().map(|claim| claim.id).collect();
        (!claims.is_empty()).then(|| self.rng.pick(&claims))
    }

    fn assertion(&mut self, id: ThreadId) -> Command {
        let supersedes = if self.rng.once_in(3) { self.claim_of(id) } else { None };
        assertion("so it is", supersedes, self.extension())
    }

    fn proof(&mut self, id: ThreadId) -> ClaimProof {
        let reference = "https://example.org/".into();
        ClaimProof {
            claim: self.claim_of(id).unwrap_or(ClaimId(1)),
            evidence: vec![Evidence { kind: EvidenceKind::Url, reference, note: None }],
            seal: false,
            extension: self.extension(),
        }
    }
}
