//! A journal that a test drives by hand: every step of the writer is taken when the test says so.

use std::sync::Arc;

use parley::clock::Clock;
use parley::journal::archiver::Archiver;
use parley::journal::options::JournalOptions;

use parley::journal::{
    Append, Committed, Journal, Lease, OpenedJournal, Publisher, ReplyPort, WriteOutcome, Writer,
    WriterStep,
};
use parley::storage::disk::Disk;
use parley::storage::error::StoreError;
use parley_protocol::act::Kind;
use parley_protocol::command::Command;
use parley_protocol::entry::{Entry, KeyUse};
use parley_protocol::ids::ThreadId;
use parley_protocol::limits::Limits;
use parley_protocol::refusal::{Reason, Refusal};
use parley_protocol::thread::{Context, Thread};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use tokio::sync::oneshot;

use crate::acts::{post, principal};
use crate::clock::TestClock;
use crate::disk::{Cut, FaultyDisk};
use crate::engine::generous;

/// A call that waits for its answer.
pub type Waiting = oneshot::Receiver<Result<WriteOutcome, Refusal>>;

/// What has come of a call so far.
#[derive(Debug)]
pub enum Came {
    /// Nothing yet.
    Nothing,
    /// It is stored.
    Stored(Arc<Committed>),
    /// It was answered without anything being stored.
    Unchanged,
    /// It is refused.
    Refused(Reason),
}

impl Came {
    /// The entry of a call that is stored.
    pub fn stored(self) -> Arc<Committed> {
        match self {
            Self::Stored(committed) => committed,
            other => panic!("{other:?}"),
        }
    }
}

/// What has come of `waiting` so far.
pub fn came(waiting: &mut Waiting) -> Came {
    match waiting.try_recv() {
        Err(_) => Came::Nothing,
        Ok(Ok(WriteOutcome::Committed(committed))) => Came::Stored(committed),
        Ok(Ok(WriteOutcome::Unchanged(_))) => Came::Unchanged,
        Ok(Err(refusal)) => Came::Refused(refusal.reason),
    }
}

/// Whether a call is stored; if not, it must be refused because the store takes no writes.
pub fn is_stored(waiting: &mut Waiting) -> bool {
    match came(waiting) {
        Came::Stored(_) => true,
        Came::Refused(Reason::StorageUnavailable) => false,
        other => panic!("{other:?}"),
    }
}

/// The journal and whatever drives it.
pub struct JournalHarness {
    /// The door.
    pub journal: Arc<Journal>,
    /// The writer.
    pub writer: Writer,
    /// The publisher.
    pub publisher: Publisher,
    /// The archiver.
    pub archiver: Archiver,
    /// The clock of all of them.
    pub clock: Arc<TestClock>,
    options: JournalOptions,
}

fn reply() -> (ReplyPort, Waiting) {
    let (sender, receiver) = oneshot::channel();
    (ReplyPort { sender, permit: None }, receiver)
}

impl JournalHarness {
    /// Opens what lies on `disk`.
    pub fn open(disk: &(impl Disk + Clone), options: JournalOptions) -> Result<Self, StoreError> {
        Self::open_on(Arc::new(disk.clone()), options)
    }

    /// Opens what lies on `disk`, which has no clone.
    pub fn open_on(disk: Arc<dyn Disk>, options: JournalOptions) -> Result<Self, StoreError> {
        let clock = Arc::new(TestClock::at(Millis(1_000_000)));
        let opened = Journal::open(options.clone(), disk, clock.clone())?;
        let OpenedJournal { journal, writer, publisher, archiver, .. } = opened;
        Ok(Self { journal, writer, publisher, archiver, clock, options })
    }

    /// Opens what lies on `disk`, with the usual options.
    pub fn start(disk: &(impl Disk + Clone)) -> Self {
        Self::open(disk, JournalOptions::default()).unwrap()
    }

    /// Cuts `disk` under it and opens what is left, with the same options.
    pub fn restart(self, disk: &FaultyDisk, cut: Cut) -> Result<Self, StoreError> {
        disk.cut(cut);
        let options = self.options.clone();
        drop(self);
        Self::open(disk, options)
    }

    /// Steps until there is nothing more to do now; gives the last step.
    pub fn work(&mut self) -> WriterStep {
        loop {
            let step = self.writer.step();
            self.publisher.drain();
            if !matches!(step, WriterStep::Worked | WriterStep::Behind) {
                return step;
            }
        }
    }

    /// Publishes what is there.
    pub fn publish(&mut self) {
        self.publisher.drain();
    }

    /// Ends it in good order.
    pub fn finish(mut self) {
        self.work();
        self.writer.finish();
        self.archiver.finish().unwrap();
    }

    /// Opens a thread.
    pub fn ask(&self, by: &str, body: &str) -> Waiting {
        ask(&self.journal, self.clock.now(), by, body)
    }

    /// Opens a thread and gives it once it is stored.
    pub fn opened(&mut self, by: &str, body: &str) -> ThreadId {
        let mut waiting = self.ask(by, body);
        self.work();
        came(&mut waiting).stored().entry.act().unwrap().thread
    }

    /// Takes the lease of a thread and reads it, as its actor does.
    pub fn load(&mut self, thread: ThreadId) -> Holder {
        let generation = self.journal.generation();
        let lease = self.acquire(thread);
        let thread = self.journal.view().thread(thread).unwrap().unwrap();
        Holder { thread, lease, generation }
    }

    /// Takes the lease of a thread.
    pub fn acquire(&mut self, thread: ThreadId) -> Lease {
        let mut lease = self.journal.acquire(thread);
        self.work();
        lease.try_recv().unwrap().unwrap()
    }

    /// Says something in a thread, as its actor does.
    pub fn say(&self, holder: &mut Holder, by: &str, kind: Kind, body: &str) -> Waiting {
        let command = post(kind, Some(holder.thread.summary().id), body);
        self.act(holder, by, &command, None)
    }

    /// Gives a command in a thread, as its actor does.
    pub fn act(
        &self,
        holder: &mut Holder,
        by: &str,
        command: &Command,
        key: Option<KeyUse>,
    ) -> Waiting {
        let (reply, waiting) = reply();
        let principal = principal(by);
        let mut numbers = self.journal.numbers();
        let (now, principal, limits) = (self.clock.now(), &principal, &generous());
        let mut ctx = Context { now, principal, limits, numbers: &mut numbers, key };
        let Holder { thread, lease, .. } = holder;
        let act = thread.admit(&mut ctx, command).unwrap().unwrap();
        thread.apply(&act);
        let _ = self.journal.append(|number| {
            thread.stamp(&act, number);
            let claims = act.claims().filter_map(|id| thread.claim(id).cloned()).collect();
            Append {
                lease: Some(*lease),
                summary: Some(Arc::new(thread.summary().clone())),
                claims,
                entry: Entry::Act(Box::new(act)),
                reply,
            }
        });
        waiting
    }

    /// An answer that changes nothing, behind what the holder has in flight.
    pub fn behind(&self, holder: &Holder) -> Waiting {
        let (reply, waiting) = reply();
        let head = Arc::new(holder.thread.summary().clone());
        let outcome = Ok(WriteOutcome::Unchanged(head));
        self.journal.barrier(Some(holder.lease), holder.generation, outcome, reply);
        waiting
    }

    /// The subjects of the threads that the view shows, in order.
    pub fn subjects(&self) -> Vec<String> {
        let view = self.journal.view();
        let heads = (1..=THREADS_MAX).filter_map(|id| view.summary(ThreadId(id)).unwrap());
        heads.map(|head| head.subject.to_string()).collect()
    }
}

/// Threads that a test opens at most, failing ones too.
const THREADS_MAX: u64 = 300;

/// Opens a thread.
fn ask(journal: &Journal, now: Millis, by: &str, body: &str) -> Waiting {
    let (reply, waiting) = reply();
    let principal = principal(by);
    let mut numbers = journal.numbers();
    let (principal, limits) = (&principal, &Limits::default());
    let mut ctx = Context { now, principal, limits, numbers: &mut numbers, key: None };
    let _ = journal.open_thread(|number, thread| {
        let act = Thread::opening(&mut ctx, thread, &post(Kind::Ask, None, body));
        let head = ThreadSummary::open(&act).map(|mut head| {
            head.stamp(&act, number);
            Arc::new(head)
        });
        let entry = Entry::Act(Box::new(act));
        Append { lease: None, entry, summary: head, claims: Vec::new(), reply }
    });
    waiting
}

/// Opens a thread and waits until it is stored.
pub async fn opening(journal: &Journal, body: &str) -> ThreadId {
    match ask(journal, Millis(1), "local:ada", body).await {
        Ok(Ok(WriteOutcome::Committed(committed))) => committed.entry.act().unwrap().thread,
        other => panic!("{other:?}"),
    }
}

/// What an actor holds of its thread.
pub struct Holder {
    /// The state, ahead of the disk.
    pub thread: Thread,
    /// The right to append.
    pub lease: Lease,
    /// The generation that the state belongs to.
    pub generation: u64,
}
