//! The engine of `swarm` and `crash`: agents with a connection each pass conversations on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::ProgressBar;
use tokio::sync::mpsc;

use crate::clock;
use crate::conversation::{Conversation, RolePool};
use crate::http::Connection;
use crate::listener::ExpectedFeed;
use crate::measure::{Latencies, Tally};
use crate::objects::{self, List, Waiting};
use crate::pace::Pace;
use crate::participants::Participants;
use crate::script::Step;
use crate::verify::Findings;
use crate::wire::{Operation, Outcome, outcome};

/// How long the last steps may take once the run is over.
const PARK_MAX: Duration = Duration::from_secs(90);
/// How long a step is tried again while the server is away.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// What the agents share.
#[derive(Debug)]
pub struct Swarm {
    /// The server.
    pub address: std::net::SocketAddr,
    /// Who speaks.
    pub participants: Arc<Participants>,
    /// Their parts.
    pub roles: RolePool,
    /// Who listens.
    pub expected_feeds: Vec<Arc<ExpectedFeed>>,
    /// What was counted.
    pub tally: Tally,
    /// What was wrong.
    pub findings: Arc<Findings>,
    /// How long steps took.
    pub latencies: Latencies,
    /// Whether steps carry keys and are tried again, as when the server is killed.
    pub retry: bool,
    /// Steps a second in all, if the loop is open.
    pub rate: Option<f64>,
    /// Where chance starts.
    pub seed: u64,
    /// The next conversation.
    pub serial: AtomicU64,
    /// Takes finished conversations away to be read back.
    pub finished: mpsc::Sender<Conversation>,
    /// Threads in which a step failed, so that what they owe is not known.
    pub tainted: Mutex<HashSet<u64>>,
    /// Numbers of all acknowledged messages.
    pub messages: Mutex<Vec<u64>>,
    /// How many conversations have come to their end.
    pub ended: AtomicU64,
    stop: AtomicBool,
}

/// What came of a step.
enum StepResult {
    /// On to the next.
    Done,
    /// The conversation cannot go on.
    Lost,
}

impl Swarm {
    /// Not running yet.
    pub fn new(
        address: std::net::SocketAddr,
        participants: Arc<Participants>,
        roles: RolePool,
        findings: Arc<Findings>,
        finished: mpsc::Sender<Conversation>,
    ) -> Self {
        Self {
            address,
            participants,
            roles,
            expected_feeds: Vec::new(),
            tally: Tally::default(),
            findings,
            latencies: Latencies::new(1),
            retry: false,
            rate: None,
            seed: 1,
            serial: AtomicU64::new(0),
            finished,
            tainted: Mutex::default(),
            messages: Mutex::default(),
            ended: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// A conversation that has not begun.
    pub fn new_conversation(&self) -> Conversation {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        Conversation::new(self.seed, serial, &self.roles)
    }

    /// Lets the agents work until `during` ends; gives back all conversations, at rest.
    pub async fn run(
        self: &Arc<Self>,
        conversations: Vec<Conversation>,
        bar: &ProgressBar,
        during: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<Vec<Conversation>> {
        self.stop.store(false, Ordering::Relaxed);
        let count = conversations.len();
        let (park, mut parked) = mpsc::channel(count + 1);
        let (senders, mailboxes): (Vec<_>, Vec<_>) =
            self.participants.members.iter().map(|_| mpsc::channel(count + 1)).unzip();
        let senders = Arc::new(senders);
        let begun = clock::now();
        let mut agents = Vec::new();
        for (place, mailbox) in mailboxes.into_iter().enumerate() {
            let connection = Connection::open(self.address).await?;
            let agent = Agent {
                swarm: Arc::clone(self),
                place,
                connection,
                mailbox,
                mailboxes: Arc::clone(&senders),
                resting: park.clone(),
                request: Vec::new(),
                bar: bar.clone(),
            };
            agents.push(tokio::spawn(agent.run(begun)));
        }
        for conversation in conversations {
            senders[conversation.speaker()].send(conversation).await?;
        }
        let outcome = during.await;
        self.stop.store(true, Ordering::Relaxed);
        let mut rested = Vec::with_capacity(count);
        let until = tokio::time::Instant::now() + PARK_MAX;
        while rested.len() < count {
            match tokio::time::timeout_at(until, parked.recv()).await {
                Ok(Some(conversation)) => rested.push(conversation),
                _ => {
                    bail!("{} steps are without an answer after {PARK_MAX:?}", count - rested.len())
                }
            }
        }
        for agent in agents {
            agent.abort();
        }
        outcome?;
        Ok(rested)
    }

    fn record(&self, conversation: &Conversation, before: &Before) {
        let thread = conversation.record.thread;
        let after = conversation.awaiting();
        let spoke = conversation.record.acknowledged.len() > before.acknowledged;
        for watch in &self.expected_feeds {
            watch.expect(&self.participants, thread, before.awaiting, after);
            if spoke {
                watch.expect_message();
            }
        }
        if spoke
            && let Some((id, _)) = conversation.record.acknowledged.last()
            && let Ok(mut messages) = self.messages.lock()
        {
            messages.push(*id);
        }
    }

    fn taint(&self, conversation: &mut Conversation) {
        conversation.record_doubtful();
        if let Ok(mut tainted) = self.tainted.lock() {
            tainted.insert(conversation.record.thread);
        }
    }
}

/// What stood before a step.
struct Before {
    awaiting: Option<crate::verify::shadow::ExpectedAwaiting>,
    acknowledged: usize,
}

struct Agent {
    swarm: Arc<Swarm>,
    place: usize,
    connection: Connection,
    mailbox: mpsc::Receiver<Conversation>,
    mailboxes: Arc<Vec<mpsc::Sender<Conversation>>>,
    resting: mpsc::Sender<Conversation>,
    request: Vec<u8>,
    bar: ProgressBar,
}

impl Agent {
    async fn run(mut self, begun: Instant) {
        let count = self.swarm.participants.members.len();
        let mut pace = self.swarm.rate.map(|rate| Pace::new(begun, rate, 1.0, self.place, count));
        while let Some(mut conversation) = self.mailbox.recv().await {
            if let Some(pace) = &mut pace {
                let due = tokio::time::Instant::from_std(pace.next());
                tokio::time::sleep_until(due).await;
            }
            if !self.swarm.stop.load(Ordering::Relaxed) {
                let start = clock::now();
                match self.step(&mut conversation).await {
                    StepResult::Done => {
                        let micros = clock::micros_since(start);
                        self.swarm.latencies.record(self.place, 0, micros);
                        self.bar.inc(1);
                    }
                    StepResult::Lost => {
                        self.swarm.taint(&mut conversation);
                        conversation = self.swarm.new_conversation();
                    }
                }
                if conversation.step().is_none() {
                    let next = self.swarm.new_conversation();
                    let done = std::mem::replace(&mut conversation, next);
                    self.swarm.ended.fetch_add(1, Ordering::Relaxed);
                    let _ = self.swarm.finished.send(done).await;
                }
            }
            let stopped = self.swarm.stop.load(Ordering::Relaxed);
            let mailbox =
                if stopped { &self.resting } else { &self.mailboxes[conversation.speaker()] };
            // There is room for all conversations in each, so this never waits.
            let _ = mailbox.send(conversation).await;
        }
    }

    /// Takes the step, again and again if the server is away and steps are tried again.
    async fn step(&mut self, conversation: &mut Conversation) -> StepResult {
        let begun = clock::now();
        // Where the server is away, the call itself finds out.
        let _ = self.connection.refresh(self.swarm.address).await;
        loop {
            let outcome = match conversation.step() {
                Some(Step::Inbox(_)) => self.inbox(conversation).await,
                _ => self.call(conversation).await,
            };
            let again = match outcome {
                Ok(Some(done)) => return done,
                Ok(None) => true,
                Err(error) => {
                    if !self.swarm.retry {
                        self.swarm.tally.fail(error.to_string());
                    }
                    if let Ok(connection) = Connection::open(self.swarm.address).await {
                        self.connection = connection;
                    }
                    self.swarm.retry
                }
            };
            if !again || clock::now() - begun > AWAY_MAX {
                self.swarm.tally.fail(conversation.at_step("given up"));
                return StepResult::Lost;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// One call; none: the server asks to come back later.
    async fn call(
        &mut self,
        conversation: &mut Conversation,
    ) -> anyhow::Result<Option<StepResult>> {
        let swarm = Arc::clone(&self.swarm);
        let Some(operation) = conversation.operation(&swarm.participants, swarm.retry) else {
            return Ok(Some(StepResult::Lost));
        };
        let caller = &swarm.participants.members[self.place].caller;
        caller.write(&mut self.request, &operation);
        let answer = self.connection.call(&self.request).await?;
        let before = Before {
            awaiting: conversation.awaiting(),
            acknowledged: conversation.record.acknowledged.len(),
        };
        match outcome(caller.binding(), answer) {
            Outcome::Done(json) => {
                swarm.tally.acknowledge();
                let absorbed = conversation.accept(json, &swarm.participants);
                let lawful = absorbed.is_ok();
                swarm.findings.check(absorbed);
                swarm.record(conversation, &before);
                Ok(Some(if lawful { StepResult::Done } else { StepResult::Lost }))
            }
            Outcome::Refused { status, reason, detail } => {
                swarm.tally.refuse(&reason);
                if conversation.refused(&reason) {
                    return Ok(Some(StepResult::Done));
                }
                if matches!(status, 429 | 503) {
                    return Ok(None);
                }
                let text = format!("a lawful act was refused: {reason}: {detail}");
                swarm.findings.add(conversation.at_step(&text));
                Ok(Some(StepResult::Lost))
            }
            Outcome::Broken(text) => bail!(text),
        }
    }

    /// Reads the own inbox, which must show this thread: it waits, and nobody else moves it now.
    async fn inbox(
        &mut self,
        conversation: &mut Conversation,
    ) -> anyhow::Result<Option<StepResult>> {
        let swarm = Arc::clone(&self.swarm);
        let Some(awaiting) = conversation.awaiting() else { return Ok(Some(StepResult::Lost)) };
        let wanted = (conversation.record.thread, awaiting.message);
        match read_inbox(&swarm.participants, self.place, false, &mut self.connection).await? {
            Ok(shown) => {
                if !shown.contains(&wanted) {
                    let text = format!("the inbox hides msg_{}, which waits", awaiting.message);
                    swarm.findings.add(conversation.at_step(&text));
                }
                conversation.next_step();
                Ok(Some(StepResult::Done))
            }
            Err(reason) => {
                swarm.tally.refuse(&reason);
                Ok(None)
            }
        }
    }
}

/// Reads an inbox whole: thread and message of each item; or the reason of a refusal.
pub async fn read_inbox(
    participants: &Participants,
    place: usize,
    anyone: bool,
    connection: &mut Connection,
) -> anyhow::Result<Result<Vec<(u64, u64)>, String>> {
    let member = &participants.members[place];
    let mut shown = Vec::new();
    let mut since = String::new();
    let mut request = Vec::new();
    loop {
        let read = Operation::inbox(member.extension.as_deref(), 200, anyone, &since);
        member.caller.write(&mut request, &read);
        let answer = connection.call(&request).await?;
        let json = match outcome(member.caller.binding(), answer) {
            Outcome::Done(json) => json,
            Outcome::Refused { reason, .. } => return Ok(Err(reason)),
            Outcome::Broken(text) => bail!(text),
        };
        let list: List<'_, Waiting<'_>> = serde_json::from_slice(json)?;
        for item in &list.items {
            let thread = objects::number(&item.thread.id, "th_");
            let message = objects::number(&item.message.id, "msg_");
            shown.extend(thread.zip(message));
        }
        if !list.more {
            return Ok(Ok(shown));
        }
        since = list.cursor.into_owned();
    }
}
