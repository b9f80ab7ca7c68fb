//! Listeners that reconnect: checks each frame against the frames that acts make due.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::clock;
use crate::conversation::waits_for;
use crate::objects;
use crate::participants::Participants;
use crate::rng::Rng;
use crate::socket::{Feed, Frame, Request};
use crate::verify::Findings;
use crate::verify::feed::{FeedChecker, FrameKind};
use crate::verify::shadow::ExpectedAwaiting;

/// A listener stops after failing to reconnect for this long.
const AWAY_MAX: Duration = Duration::from_secs(90);

/// The scope of a listener's feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The inbox of a participant.
    Inbox {
        /// Index of the participant.
        place: usize,
        /// Whether questions to anyone are included.
        anyone: bool,
    },
    /// Everything.
    All,
}

/// The expected feed of one listener: frames that are due and frames that came.
#[derive(Debug)]
pub struct ExpectedFeed {
    /// The scope of the feed.
    pub scope: Scope,
    /// By thread and message (0: `settled`): frames due minus frames received.
    balance: Mutex<HashMap<(u64, u64), i64>>,
    owed_total: AtomicU64,
    received_total: AtomicU64,
    /// Numbers of the messages that came (scope all).
    pub messages: Mutex<Vec<u64>>,
    /// How many events came (scope all).
    pub events: AtomicU64,
    /// Number of resumed connections.
    pub resumed: AtomicU64,
}

impl ExpectedFeed {
    /// A feed without any frame yet.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            balance: Mutex::default(),
            owed_total: AtomicU64::new(0),
            received_total: AtomicU64::new(0),
            messages: Mutex::default(),
            events: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
        }
    }

    /// Adds the frame that an act in a thread makes due. `bindings.md` §6.
    pub fn expect(
        &self,
        participants: &Participants,
        thread: u64,
        before: Option<ExpectedAwaiting>,
        after: Option<ExpectedAwaiting>,
    ) {
        let Scope::Inbox { place, anyone } = self.scope else { return };
        if before == after {
            return;
        }
        if let Some(awaiting) = after.filter(|_| waits_for(participants, place, anyone, after)) {
            self.add_balance((thread, awaiting.message), 1);
        } else if waits_for(participants, place, anyone, before) {
            self.add_balance((thread, 0), 1);
        }
    }

    /// Adds a message that is due in scope `all`.
    pub fn expect_message(&self) {
        if self.scope == Scope::All {
            self.owed_total.fetch_add(1, Ordering::Release);
        }
    }

    fn add_balance(&self, key: (u64, u64), by: i64) {
        if let Ok(mut balance) = self.balance.lock() {
            let left = balance.entry(key).or_insert(0);
            *left += by;
            if *left == 0 {
                balance.remove(&key);
            }
        }
        let counter = if by > 0 { &self.owed_total } else { &self.received_total };
        counter.fetch_add(1, Ordering::Release);
    }

    fn is_settled(&self) -> bool {
        self.received_total.load(Ordering::Acquire) >= self.owed_total.load(Ordering::Acquire)
    }

    /// Reports frames that are missing or superfluous, except in threads where a step failed.
    pub fn check(&self, tainted: &HashSet<u64>, findings: &Findings) {
        let Ok(balance) = self.balance.lock() else { return };
        for ((thread, message), left) in balance.iter() {
            if tainted.contains(thread) {
                continue;
            }
            let what =
                if *message == 0 { "settled".into() } else { format!("awaiting msg_{message}") };
            let how = if *left > 0 { "a gap" } else { "a repeat, or what does not wait," };
            let scope = self.scope;
            findings.add(format!("{how} in a feed ({scope:?}): {what} of th_{thread}, {left}"));
        }
    }

    fn receive(&self, frame: &[u8]) -> Result<(), String> {
        #[derive(Deserialize)]
        struct ReceivedFrame<'a> {
            #[serde(rename = "type")]
            name: &'a str,
            #[serde(borrow)]
            thread: Option<&'a RawValue>,
            #[serde(borrow)]
            message: Option<&'a RawValue>,
        }
        let received: ReceivedFrame<'_> =
            serde_json::from_slice(frame).map_err(|error| error.to_string())?;
        let thread = received.thread.and_then(|raw| id_in(raw, "th_"));
        let message = received.message.and_then(|raw| id_in(raw, "msg_"));
        match (received.name, self.scope, thread, message) {
            ("awaiting", Scope::Inbox { .. }, Some(thread), Some(message)) => {
                self.add_balance((thread, message), -1);
            }
            ("settled", Scope::Inbox { .. }, Some(thread), _) => self.add_balance((thread, 0), -1),
            ("message", Scope::All, _, Some(message)) => {
                if let Ok(mut messages) = self.messages.lock() {
                    messages.push(message);
                }
                self.received_total.fetch_add(1, Ordering::Release);
            }
            ("event", Scope::All, ..) => {
                self.events.fetch_add(1, Ordering::Relaxed);
            }
            ("awaiting" | "settled" | "claim", Scope::All, ..) => {}
            (name, scope, ..) => return Err(format!("a frame {name} in scope {scope:?}")),
        }
        Ok(())
    }
}

fn id_in(raw: &RawValue, prefix: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Named<'a> {
        id: &'a str,
    }
    let text = raw.get();
    if text.starts_with('"') {
        return objects::number(text.trim_matches('"'), prefix);
    }
    let named: Named<'_> = serde_json::from_str(text).ok()?;
    objects::number(named.id, prefix)
}

/// All listeners of a run.
#[derive(Debug, Clone)]
pub struct ListenerGroup {
    /// The listeners.
    pub expected_feeds: Vec<Arc<ExpectedFeed>>,
    stop: watch::Sender<bool>,
    connected: Arc<AtomicU64>,
}

impl ListenerGroup {
    /// Connects all listeners and waits until each has connected once.
    pub async fn connect(
        expected_feeds: Vec<(Arc<ExpectedFeed>, Request)>,
        disconnects: bool,
        seed: u64,
        findings: &Arc<Findings>,
    ) -> anyhow::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let connected = Arc::new(AtomicU64::new(0));
        let refused = Arc::new(Mutex::new(String::new()));
        let count = expected_feeds.len() as u64;
        let mut all = Vec::new();
        for (index, (watch, request)) in expected_feeds.into_iter().enumerate() {
            all.push(Arc::clone(&watch));
            let listener = FeedFollower {
                expected: watch,
                request,
                stopped: stopped.clone(),
                findings: Arc::clone(findings),
                connected: Arc::clone(&connected),
                refused: Arc::clone(&refused),
                rng: Rng::new(seed ^ 0xfeed, index as u64),
                leave_now_and_then: disconnects,
                checker: FeedChecker::default(),
            };
            tokio::spawn(listener.follow());
        }
        let until = clock::now() + AWAY_MAX;
        while connected.load(Ordering::Relaxed) < count {
            let why = refused.lock().map(|why| why.clone()).unwrap_or_default();
            anyhow::ensure!(why.is_empty(), "a listener could not connect: {why}");
            anyhow::ensure!(clock::now() < until, "the listeners could not connect");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(Self { expected_feeds: all, stop, connected })
    }

    /// Waits until all frames that are due have come, or none has come for 15 s.
    pub async fn wait_settled(&self) {
        let came = || {
            self.expected_feeds
                .iter()
                .map(|it| it.received_total.load(Ordering::Acquire))
                .sum::<u64>()
        };
        let mut last = (came(), clock::now());
        while !self.expected_feeds.iter().all(|watch| watch.is_settled()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = came();
            if now != last.0 {
                last = (now, clock::now());
            } else if clock::now() - last.1 > Duration::from_secs(15) {
                return;
            }
        }
        // Superfluous frames get the time to arrive, so that they are reported.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    /// Stops all listeners.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Number of first connections.
    pub fn connections(&self) -> u64 {
        self.connected.load(Ordering::Relaxed)
    }
}

struct FeedFollower {
    expected: Arc<ExpectedFeed>,
    request: Request,
    stopped: watch::Receiver<bool>,
    findings: Arc<Findings>,
    connected: Arc<AtomicU64>,
    refused: Arc<Mutex<String>>,
    rng: Rng,
    leave_now_and_then: bool,
    checker: FeedChecker,
}

impl FeedFollower {
    async fn follow(mut self) {
        let mut away = clock::now();
        loop {
            let mut request = self.request.clone();
            if !self.checker.cursor.is_empty() {
                request.path.push_str("&since=");
                request.path.push_str(&self.checker.cursor);
            }
            match Feed::open(&request).await {
                Ok(feed) => {
                    if self.checker.cursor.is_empty() {
                        self.connected.fetch_add(1, Ordering::Relaxed);
                    } else {
                        self.expected.resumed.fetch_add(1, Ordering::Relaxed);
                    }
                    if self.listen(feed).await {
                        return;
                    }
                    away = clock::now();
                }
                Err(error) if clock::now() - away > AWAY_MAX => {
                    self.findings.add(format!("a listener cannot come back: {error}"));
                    return;
                }
                // `connect` reports a refusal of a first connection.
                Err(error) if self.checker.cursor.is_empty() => {
                    if let Ok(mut refused) = self.refused.lock() {
                        *refused = error.to_string();
                    }
                }
                Err(_) => {}
            }
            if *self.stopped.borrow() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Reads one connection; true when the run is over.
    async fn listen(&mut self, mut feed: Feed) -> bool {
        let mut replaying = !self.checker.cursor.is_empty();
        let mut first = true;
        loop {
            let frame = tokio::select! {
                frame = feed.next() => frame,
                _ = self.stopped.changed() => {
                    if replaying {
                        self.findings.add("a resumed feed never said caught_up");
                    }
                    return true;
                }
            };
            match frame {
                Ok(Frame::Text(text)) => {
                    let kind = self.checker.frame(text);
                    self.checker.remember(text);
                    let name = crate::scan::frame_type(text).unwrap_or_default();
                    if first != (name == "hello") {
                        self.findings.add(format!("a feed brings {name}, hello first: {first}"));
                    }
                    first = false;
                    replaying &= name != "caught_up";
                    let taken = match kind {
                        Ok(FrameKind::Item) => self.expected.receive(text),
                        Ok(FrameKind::Control) => Ok(()),
                        Err(wrong) => Err(wrong),
                    };
                    self.findings.check(taken);
                }
                Ok(Frame::Closed(code, reason)) => {
                    if code == 4001 {
                        self.findings.add(format!("a feed ended with {code} {reason}"));
                    }
                    return false;
                }
                Err(_) => return false,
            }
            if self.leave_now_and_then && self.rng.below(3000) == 0 {
                return false;
            }
        }
    }
}
