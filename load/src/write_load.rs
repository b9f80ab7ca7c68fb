//! The write load: connections that post to many threads, the participants in turn.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use indicatif::ProgressBar;

use crate::body::{push_body, push_number};
use crate::clock;
use crate::fanout_tracker::FanoutTracker;
use crate::http::{Answer, Connection};
use crate::measure::{Latencies, Tally};
use crate::pace::{Pace, wait_until_due};
use crate::participants::Participants;
use crate::rng::{self, Rng};
use crate::scan;
use crate::verify::Findings;
use crate::verify::audit::ThreadRecord;
use crate::wire::{Binding, Outcome, outcome};

use crate::round::{RoundOutcome, RoundSpec};

/// Messages below the limit of a thread at which a new thread replaces it.
const MESSAGES_SPARE: u32 = 200;
/// How long calls may be under way after the end of a round.
const GRACE: Duration = Duration::from_secs(60);
/// A connection stops writing after more consecutive failures than this.
const FAILURES_MAX: u32 = 20;

/// A slot for one active thread; a full thread is replaced by a new one.
#[derive(Debug, Default)]
struct ThreadSlot {
    thread: AtomicU64,
    sent: AtomicU32,
    records: Mutex<Vec<ThreadRecord>>,
}

/// The state that writers share over all rounds.
#[derive(Debug)]
pub struct WriteLoad {
    address: SocketAddr,
    participants: Arc<Participants>,
    slots: Vec<ThreadSlot>,
    messages_max: u32,
    body: usize,
    seed: u64,
    serial: AtomicU64,
    /// Whether the address is that of a forum; a ceiling keeps no threads.
    forum: bool,
    /// The tracker of listeners, if there are any.
    tracker: Mutex<Option<Arc<FanoutTracker>>>,
    /// Bytes of the last acknowledgement over HTTP; 0 before the first.
    pub answer_bytes: AtomicUsize,
    /// Outcomes of all rounds.
    pub tally: Arc<Tally>,
    /// Violations of all rounds.
    pub findings: Arc<Findings>,
}

impl WriteLoad {
    /// A load on a forum.
    pub fn forum(
        address: SocketAddr,
        participants: Arc<Participants>,
        threads: usize,
        body: usize,
        seed: u64,
    ) -> Self {
        Self {
            address,
            participants,
            slots: (0..threads).map(|_| ThreadSlot::default()).collect(),
            messages_max: 10_000,
            body,
            seed,
            serial: AtomicU64::new(0),
            forum: true,
            tracker: Mutex::new(None),
            answer_bytes: AtomicUsize::new(0),
            tally: Arc::default(),
            findings: Arc::default(),
        }
    }

    /// The same load on a ceiling.
    pub fn ceiling(
        address: SocketAddr,
        participants: Arc<Participants>,
        threads: usize,
        body: usize,
    ) -> Self {
        let mut load = Self::forum(address, participants, threads, body, 0);
        load.forum = false;
        load.messages_max = u32::MAX;
        for (index, slot) in load.slots.iter().enumerate() {
            slot.thread.store(index as u64 + 1, Ordering::Relaxed);
        }
        load
    }

    /// Sets the limit of messages of a thread.
    #[must_use]
    pub fn with_messages_max(mut self, messages_max: u32) -> Self {
        self.messages_max = messages_max;
        self
    }

    /// Sets the tracker of listeners, from the next round on.
    pub fn track(&self, tracker: Option<Arc<FanoutTracker>>) {
        if let Ok(mut place) = self.tracker.lock() {
            *place = tracker;
        }
    }

    /// The serial number of the next body.
    pub fn next_serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// The acknowledgements of all threads, to be read back.
    pub fn records(&self) -> Vec<ThreadRecord> {
        let records = self.slots.iter().filter_map(|slot| slot.records.lock().ok());
        records.flat_map(|records| records.clone()).collect()
    }

    /// Opens every thread, then posts `prefill` messages to each.
    pub async fn open_threads(
        self: &Arc<Self>,
        connections: usize,
        prefill: usize,
        bar: &ProgressBar,
    ) -> anyhow::Result<()> {
        let slots = self.slots.len();
        // Two writers must not open the thread of one slot.
        self.post_to_slots(connections.min(slots), (0..slots).collect(), true, bar).await?;
        let empty = self.slots.iter().filter(|it| it.thread.load(Ordering::Relaxed) == 0).count();
        ensure!(empty == 0, "{empty} threads could not be opened: {}", self.tally.summary());
        let steps = (0..slots * prefill).map(|step| step % slots).collect();
        self.post_to_slots(connections, steps, false, bar).await.map(drop)
    }

    /// Posts once to each of these slots, over concurrent connections; returns the time it took.
    pub async fn post_to_slots(
        self: &Arc<Self>,
        connections: usize,
        places: Vec<usize>,
        opens: bool,
        bar: &ProgressBar,
    ) -> anyhow::Result<Duration> {
        let next = Arc::new(AtomicUsize::new(0));
        let places = Arc::new(places);
        let mut writers = Vec::new();
        for index in 0..connections {
            writers.push(Writer::new(Arc::clone(self), index, None).await?);
        }
        let begun = clock::now();
        let mut tasks = Vec::new();
        for mut writer in writers {
            let (next, places, bar) = (Arc::clone(&next), Arc::clone(&places), bar.clone());
            tasks.push(tokio::spawn(async move {
                while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    writer.post(*place, opens).await?;
                    bar.inc(1);
                }
                anyhow::Ok(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(clock::now() - begun)
    }

    /// Posts once to each of these slots, one after the other; returns the latency of each, in
    /// milliseconds.
    pub async fn post_timed(self: &Arc<Self>, places: &[usize]) -> anyhow::Result<Vec<f64>> {
        let mut writer = Writer::new(Arc::clone(self), 0, None).await?;
        let mut millis = Vec::with_capacity(places.len());
        for place in places {
            let begun = clock::now();
            let acknowledged = writer.post(*place, false).await?;
            ensure!(acknowledged, "an act was not taken: {}", self.tally.summary());
            millis.push(clock::micros_since(begun) as f64 / 1000.0);
        }
        Ok(millis)
    }

    /// The thread of each slot, in order.
    pub fn threads(&self) -> Vec<u64> {
        self.slots.iter().map(|slot| slot.thread.load(Ordering::Relaxed)).collect()
    }

    /// Connects the writers of one round and runs it.
    pub async fn run_round(
        self: &Arc<Self>,
        spec: RoundSpec,
        bar: &ProgressBar,
    ) -> anyhow::Result<RoundOutcome> {
        let connected = self.connect(spec.connections, bar).await?;
        self.run_connected(connected, spec).await
    }

    /// Connects this many writers.
    pub async fn connect(
        self: &Arc<Self>,
        connections: usize,
        bar: &ProgressBar,
    ) -> anyhow::Result<ConnectedWriters> {
        let mut writers = Vec::new();
        for index in 0..connections {
            writers.push(Writer::new(Arc::clone(self), index, Some(bar.clone())).await?);
        }
        Ok(ConnectedWriters(writers))
    }

    /// Posts once on each connection, so that the server has accepted it.
    pub async fn post_once_each(
        self: &Arc<Self>,
        connected: ConnectedWriters,
    ) -> anyhow::Result<ConnectedWriters> {
        let greeting = connected.0.into_iter().map(|mut writer| {
            tokio::spawn(async move {
                let slot = writer.index % writer.load.slots.len();
                writer.post(slot, false).await.map(|_| writer)
            })
        });
        let mut writers = Vec::new();
        for greeted in greeting.collect::<Vec<_>>() {
            writers.push(greeted.await??);
        }
        Ok(ConnectedWriters(writers))
    }

    /// Posts until one act is acknowledged; returns the time until then.
    pub async fn first_acknowledgement(self: &Arc<Self>) -> anyhow::Result<Duration> {
        let mut writer = Writer::new(Arc::clone(self), 0, None).await?;
        let begun = clock::now();
        while !writer.post(0, false).await? {}
        Ok(clock::now() - begun)
    }

    /// Runs one round on connected writers.
    pub async fn run_connected(
        self: &Arc<Self>,
        connected: ConnectedWriters,
        spec: RoundSpec,
    ) -> anyhow::Result<RoundOutcome> {
        let ConnectedWriters(writers) = connected;
        let latencies = Arc::new(Latencies::new(spec.slices));
        let refusals = Arc::new(Latencies::new(1));
        let before = self.tally.acknowledged.load(Ordering::Relaxed);
        let begun = clock::now();
        let tasks: Vec<_> = writers
            .into_iter()
            .map(|writer| {
                let counted = (Arc::clone(&latencies), Arc::clone(&refusals));
                tokio::spawn(writer.run(spec, begun, counted))
            })
            .collect();
        let until = tokio::time::Instant::from_std(begun + spec.duration + GRACE);
        let mut ended = begun;
        for task in tasks {
            match tokio::time::timeout_at(until, task).await {
                Ok(Ok(end)) => ended = ended.max(end),
                Ok(Err(error)) => bail!("a writer failed: {error}"),
                Err(_) => bail!("calls are without an answer {GRACE:?} after the end of the round"),
            }
        }
        let acknowledged = self.tally.acknowledged.load(Ordering::Relaxed) - before;
        Ok(RoundOutcome { acknowledged, elapsed: ended - begun, latencies, refusals })
    }
}

/// Writers that are connected.
pub struct ConnectedWriters(Vec<Writer>);

/// One connection.
struct Writer {
    load: Arc<WriteLoad>,
    index: usize,
    connection: Connection,
    rng: Rng,
    request: Vec<u8>,
    envelope: Vec<u8>,
    bar: Option<ProgressBar>,
    tracker: Option<Arc<FanoutTracker>>,
}

/// A message that is about to be sent.
struct Sent {
    slot: usize,
    thread: u64,
    hash: u64,
    speaker: usize,
    serial: u64,
}

impl Writer {
    async fn new(
        load: Arc<WriteLoad>,
        index: usize,
        bar: Option<ProgressBar>,
    ) -> anyhow::Result<Self> {
        let connection = Connection::open(load.address).await?;
        let rng = Rng::new(load.seed, index as u64);
        let tracker = load.tracker.lock().ok().and_then(|tracker| tracker.clone());
        let (request, envelope) = (Vec::new(), Vec::new());
        Ok(Self { load, index, connection, rng, request, envelope, bar, tracker })
    }

    async fn run(
        mut self,
        spec: RoundSpec,
        begun: Instant,
        (latencies, refusals): (Arc<Latencies>, Arc<Latencies>),
    ) -> Instant {
        let until = begun + spec.duration;
        let slice = spec.duration.div_f64(spec.slices.max(1) as f64);
        let mut pace =
            spec.rate.map(|rate| Pace::new(begun, rate, spec.burst, self.index, spec.connections));
        let mut failures = 0;
        let mut counted = 0;
        loop {
            let due = match &mut pace {
                Some(pace) => wait_until_due(pace.next(), until).await,
                None => Some(clock::now()),
            };
            let Some(due) = due.filter(|due| *due < until) else { break };
            if let Some(tracker) = &self.tracker {
                tracker.wait_for_window().await;
            }
            let slot = self.rng.below(self.load.slots.len() as u64) as usize;
            match self.post(slot, false).await {
                Ok(true) => {
                    let at = (due - begun).div_duration_f64(slice) as usize;
                    latencies.record(self.index, at, clock::micros_since(due));
                    failures = 0;
                    counted += 1;
                }
                Ok(false) => refusals.record(self.index, 0, clock::micros_since(due)),
                Err(_) => failures += 1,
            }
            if failures > FAILURES_MAX {
                break;
            }
            if counted == 64 {
                self.progress(counted);
                counted = 0;
            }
        }
        self.progress(counted);
        clock::now()
    }

    fn progress(&self, counted: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(counted);
        }
    }

    /// Posts once; true if the act was acknowledged. On an error the connection was replaced.
    async fn post(&mut self, slot: usize, opens: bool) -> anyhow::Result<bool> {
        let sent = self.compose(slot, opens);
        let load = Arc::clone(&self.load);
        let member = &load.participants.members[sent.speaker];
        member.caller.write_message(&mut self.request, &self.envelope);
        let answer = match self.connection.call(&self.request).await {
            Ok(answer) => answer,
            Err(error) => {
                load.record_doubtful(&sent);
                load.tally.fail(error.to_string());
                tokio::time::sleep(Duration::from_millis(20)).await;
                self.connection = Connection::open(load.address).await?;
                return Err(error.into());
            }
        };
        let acknowledged = load.check_answer(&sent, member.caller.binding(), answer);
        match &self.tracker {
            Some(tracker) if acknowledged => tracker.acknowledge(sent.serial),
            Some(tracker) => tracker.withdraw(),
            None => {}
        }
        Ok(acknowledged)
    }

    /// Writes the envelope for a slot: the next message of its thread, or the opening of another.
    fn compose(&mut self, slot: usize, opens: bool) -> Sent {
        let load = &self.load;
        let place = &load.slots[slot];
        let count = place.sent.fetch_add(1, Ordering::Relaxed);
        let limit = load.messages_max.saturating_sub(MESSAGES_SPARE);
        // If the new thread is refused, every 64th message tries again.
        let full = count >= limit && (count - limit).is_multiple_of(64);
        let thread = if opens || full { 0 } else { place.thread.load(Ordering::Relaxed) };
        let speaker = (slot + count as usize) % load.participants.members.len();
        let member = &load.participants.members[speaker];
        self.envelope.clear();
        if thread == 0 {
            self.envelope.extend_from_slice(b"{\"kind\":\"ask\"");
        } else {
            self.envelope.extend_from_slice(b"{\"kind\":\"inform\",\"thread\":\"th_");
            push_number(&mut self.envelope, thread);
            self.envelope.push(b'"');
        }
        if let Some(extension) = &member.extension {
            self.envelope.extend_from_slice(b",\"from\":{\"extension\":\"");
            self.envelope.extend_from_slice(extension.as_bytes());
            self.envelope.extend_from_slice(b"\"}");
        }
        self.envelope.extend_from_slice(b",\"body\":\"");
        let from = self.envelope.len();
        let serial = load.serial.fetch_add(1, Ordering::Relaxed);
        push_body(&mut self.envelope, load.seed, serial, load.body);
        let hash = rng::hash(&self.envelope[from..]);
        self.envelope.extend_from_slice(b"\"}");
        Sent { slot, thread, hash, speaker, serial }
    }
}

impl WriteLoad {
    fn check_answer(&self, sent: &Sent, binding: Binding, answer: Answer<'_>) -> bool {
        if let Some(found) =
            scan::acknowledgement(answer.body).filter(|_| matches!(answer.status, 200 | 201))
        {
            let same_thread = sent.thread == 0 || found.thread == sent.thread;
            if !same_thread || rng::hash(found.body) != sent.hash {
                self.findings.add(format!("msg_{} was acknowledged with a change", found.message));
            }
            if self.forum {
                self.record(sent, found.thread, found.message);
                if binding == Binding::Http {
                    self.answer_bytes.store(answer.body.len(), Ordering::Relaxed);
                }
            }
            self.tally.acknowledge();
            return true;
        }
        match outcome(binding, answer) {
            Outcome::Refused { reason, status, .. } => {
                if status >= 500 {
                    self.record_doubtful(sent);
                }
                self.tally.refuse(&reason);
            }
            Outcome::Done(_) => {
                self.record_doubtful(sent);
                self.tally.fail("an answer without a message");
            }
            Outcome::Broken(text) => {
                self.record_doubtful(sent);
                self.tally.fail(text);
            }
        }
        false
    }

    fn record(&self, sent: &Sent, thread: u64, message: u64) {
        let slot = &self.slots[sent.slot];
        let Ok(mut records) = slot.records.lock() else { return };
        if sent.thread == 0 {
            records.push(ThreadRecord::opened(thread, message, sent.hash));
            slot.sent.store(1, Ordering::Relaxed);
            slot.thread.store(thread, Ordering::Relaxed);
        } else if let Some(record) = records.iter_mut().rev().find(|it| it.thread == thread) {
            record.acknowledged.push((message, sent.hash));
        }
    }

    fn record_doubtful(&self, sent: &Sent) {
        if !self.forum || sent.thread == 0 {
            return;
        }
        let Ok(mut records) = self.slots[sent.slot].records.lock() else { return };
        if let Some(record) = records.iter_mut().rev().find(|it| it.thread == sent.thread) {
            record.doubtful.push(sent.hash);
        }
    }
}
