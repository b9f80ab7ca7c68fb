//! The engine of `swarm` and `crash`: agents, each with a connection, take the steps of
//! conversations.

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

/// How long the last steps may take after the end of the run.
const LAST_STEPS_MAX: Duration = Duration::from_secs(90);
/// How long a step is repeated while the server is down.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// The state that the agents share.
#[derive(Debug)]
pub struct Swarm {
    /// The address of the server.
    pub address: std::net::SocketAddr,
    /// The participants.
    pub participants: Arc<Participants>,
    /// The participants by rights.
    pub roles: RolePool,
    /// The expected feeds of the listeners.
    pub expected_feeds: Vec<Arc<ExpectedFeed>>,
    /// Outcomes of calls.
    pub tally: Tally,
    /// Violations.
    pub findings: Arc<Findings>,
    /// Latencies of steps.
    pub latencies: Latencies,
    /// Whether steps carry idempotency keys and are repeated, for servers that are killed.
    pub retry: bool,
    /// Steps a second in all, if the loop is open.
    pub rate: Option<f64>,
    /// Seed of the random choices.
    pub seed: u64,
    /// Serial number of the next conversation.
    pub serial: AtomicU64,
    /// Queue of ended conversations, to be read back.
    pub finished: mpsc::Sender<Conversation>,
    /// Threads in which a step failed, so that their due frames are unknown.
    pub tainted: Mutex<HashSet<u64>>,
    /// Numbers of all acknowledged messages.
    pub messages: Mutex<Vec<u64>>,
    /// Number of ended conversations.
    pub ended: AtomicU64,
    stop: AtomicBool,
}

/// The result of a step.
enum StepResult {
    /// The step ended.
    Done,
    /// The conversation cannot continue.
    Lost,
}

impl Swarm {
    /// A swarm that does not run yet.
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

    /// A new conversation.
    pub fn new_conversation(&self) -> Conversation {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        Conversation::new(self.seed, serial, &self.roles)
    }

    /// Runs the agents until `during` ends; returns all conversations, between two steps.
    pub async fn run(
        self: &Arc<Self>,
        conversations: Vec<Conversation>,
        bar: &ProgressBar,
        during: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<Vec<Conversation>> {
        self.stop.store(false, Ordering::Relaxed);
        let count = conversations.len();
        let (resting, mut rested_queue) = mpsc::channel(count + 1);
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
                resting: resting.clone(),
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
        let until = tokio::time::Instant::now() + LAST_STEPS_MAX;
        while rested.len() < count {
            match tokio::time::timeout_at(until, rested_queue.recv()).await {
                Ok(Some(conversation)) => rested.push(conversation),
                Ok(None) | Err(_) => {
                    bail!(
                        "{} steps are without an answer after {LAST_STEPS_MAX:?}",
                        count - rested.len()
                    )
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

/// The state of a conversation before a step.
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
            // Each queue can hold all conversations, so this never waits.
            let _ = mailbox.send(conversation).await;
        }
    }

    /// Takes the next step; repeats it while the server is down, if `retry` is set.
    async fn step(&mut self, conversation: &mut Conversation) -> StepResult {
        let begun = clock::now();
        // If the server is down, the call below fails.
        let _ = self.connection.refresh(self.swarm.address).await;
        loop {
            let outcome = match conversation.step() {
                Some(Step::Inbox(_)) => self.inbox(conversation).await,
                Some(
                    Step::Say(..)
                    | Step::Mark(..)
                    | Step::Confirm(..)
                    | Step::Reopen(_)
                    | Step::Assert(_)
                    | Step::Attest(..)
                    | Step::Refute(_)
                    | Step::Refused(..),
                )
                | None => self.call(conversation).await,
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
                self.swarm.tally.fail(conversation.at_step("abandoned"));
                return StepResult::Lost;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// One call; none if the server asks for a later repetition.
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
                let checked = conversation.accept(json, &swarm.participants);
                let accepted = checked.is_ok();
                swarm.findings.check(checked);
                swarm.record(conversation, &before);
                Ok(Some(if accepted { StepResult::Done } else { StepResult::Lost }))
            }
            Outcome::Refused { status, reason, detail } => {
                swarm.tally.refuse(&reason);
                if conversation.refused(&reason) {
                    return Ok(Some(StepResult::Done));
                }
                if matches!(status, 429 | 503) {
                    return Ok(None);
                }
                let text = format!("a permitted act was refused: {reason}: {detail}");
                swarm.findings.add(conversation.at_step(&text));
                Ok(Some(StepResult::Lost))
            }
            Outcome::Broken(text) => bail!(text),
        }
    }

    /// Reads the agent's inbox, which must show the thread: only this agent may act in it now.
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

/// Reads an inbox whole; returns thread and message of each item, or the reason of a refusal.
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
