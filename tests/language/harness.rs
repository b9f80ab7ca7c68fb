//! A harness for one thread: admitted acts are applied and placed in an order.
//! No I/O: clock, numbers and order are counters, so that the same commands give the same acts.

use std::sync::Arc;

use parley_protocol::command::Command;
use parley_protocol::entry::{Act, Entry};
use parley_protocol::identity::{AuthorKind, Principal, Right, Rights};
use parley_protocol::ids::{ClaimId, EventId, MessageId, Numbers, ThreadId, TokenId};
use parley_protocol::limits::Limits;
use parley_protocol::refusal::Refusal;
use parley_protocol::thread::{Context, Thread};
use parley_protocol::time::Millis;

/// When a play begins.
pub const MORNING: Millis = Millis(1_796_000_000_000);

/// The thread that is played; not 1, so that a number taken for another one shows.
pub const THREAD: ThreadId = ThreadId(7);

/// Rising numbers with gaps, each sequence at a place of its own.
pub struct Counters {
    message: u64,
    event: u64,
    claim: u64,
}

impl Numbers for Counters {
    fn message(&mut self) -> MessageId {
        self.message += 1 + self.message % 3;
        MessageId(self.message)
    }

    fn event(&mut self) -> EventId {
        self.event += 1 + self.event % 2;
        EventId(self.event)
    }

    fn claim(&mut self) -> ClaimId {
        self.claim += 1 + self.claim % 4;
        ClaimId(self.claim)
    }
}

/// One thread and all that has happened on it.
pub struct ThreadHarness {
    /// The thread; `None` until it is opened.
    pub thread: Option<Thread>,
    /// What was admitted, in order, each with the entry that holds it.
    pub acts: Vec<(u64, Act)>,
    /// The limits in force.
    pub limits: Limits,
    /// The clock.
    pub now: Millis,
    numbers: Counters,
    entry: u64,
}

impl ThreadHarness {
    /// An empty harness.
    pub fn new(limits: Limits) -> Self {
        let numbers = Counters { message: 40, event: 900, claim: 300 };
        Self { thread: None, acts: Vec::new(), limits, now: MORNING, numbers, entry: 5 }
    }

    /// The thread, once opened.
    pub fn opened(&self) -> &Thread {
        self.thread.as_ref().expect("the play begins with an ask")
    }

    /// Judges `command` and, if it is admitted, applies it and places it in the order.
    pub fn act(
        &mut self,
        principal: &Principal,
        command: &Command,
    ) -> Result<Option<Act>, Refusal> {
        let numbers = &mut self.numbers;
        let (now, limits) = (self.now, &self.limits);
        let mut ctx = Context { now, principal, limits, numbers, key: None };
        let act = match &self.thread {
            None => Some(Thread::opening(&mut ctx, THREAD, command)),
            Some(thread) => thread.admit(&mut ctx, command)?,
        };
        let Some(act) = act else { return Ok(None) };
        match &mut self.thread {
            None => self.thread = Thread::open(&act),
            Some(thread) => thread.apply(&act),
        }
        // Entries of other threads lie between those of this one.
        self.entry += 1 + self.entry % 2;
        let entry = self.entry;
        let thread = self.thread.as_mut().expect("an opening opens");
        thread.stamp(&act, entry);
        self.acts.push((entry, act.clone()));
        Ok(Some(act))
    }
}

/// The token of someone in the cast. The first letter says what it is: `h` and `i` are humans,
/// `k` a lock holder whose label is `Kim`, `l` one without a label, `v` and `w` verifiers, every
/// other letter a model that may read and write.
pub fn token(name: &str) -> Principal {
    let first = name.chars().next().unwrap_or('a');
    let human = matches!(first, 'h' | 'i');
    let base = [Right::Read, Right::Write];
    let more = match first {
        'k' | 'l' => Some(Right::Lock),
        'v' | 'w' => Some(Right::Verify),
        _ => None,
    };
    let rights = if human { Rights::HUMAN } else { base.into_iter().chain(more).collect() };
    let realm = if human { "human" } else { "local" };
    Principal {
        token: TokenId(u64::from(first)),
        identity: format!("{realm}:{name}").into(),
        author_kind: if human { AuthorKind::Human } else { AuthorKind::Llm },
        rights,
        label: (first == 'k').then(|| Arc::from("Kim")),
    }
}

/// The acts as they come back from their stored form.
pub fn stored(acts: &[(u64, Act)]) -> Vec<(u64, Act)> {
    let back = |(number, act): &(u64, Act)| {
        let bytes = Entry::Act(Box::new(act.clone())).encode(Vec::new());
        match Entry::decode(&bytes) {
            Some(Entry::Act(act)) => (*number, *act),
            other => panic!("an act comes back as {other:?}"),
        }
    };
    acts.iter().map(back).collect()
}
