//! The fanout tracker: order, completeness and latency of every frame of many listeners.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::clock;
use crate::measure::Latencies;
use crate::objects::{self, Posted};
use crate::rng;
use crate::socket::{Feed, Frame, Request};
use crate::verify::Findings;
use crate::verify::feed::{FeedChecker, FrameKind};

/// Acts that may be under way to the slowest listener in a closed loop: a quarter of the frames
/// that a server queues for each listener.
const WINDOW: u64 = 64;
/// One frame in this many is parsed whole; parsing each would slow the generator.
const PARSED_EVERY: u64 = 100;
/// Most acts of a round; the time of acknowledgement of each is kept.
const ACTS_MAX: usize = 1 << 22;

/// The state that writers and listeners of one round share.
#[derive(Debug)]
pub struct FanoutTracker {
    begun: Instant,
    seed: u64,
    first: u64,
    acknowledged_at: Vec<AtomicU64>,
    posted: AtomicU64,
    counts: Vec<AtomicU64>,
    slowest: AtomicU64,
    window_open: Notify,
    closed_loop: bool,
    ended: AtomicBool,
    /// Time from acknowledgement to arrival of each frame.
    pub latencies: Latencies,
    findings: Arc<Findings>,
}

impl FanoutTracker {
    /// A tracker for `listeners`; `first` is the serial number of the round's first body.
    pub fn new(
        listeners: usize,
        seed: u64,
        first: u64,
        closed_loop: bool,
        findings: Arc<Findings>,
    ) -> Arc<Self> {
        Arc::new(Self {
            begun: clock::now(),
            seed,
            first,
            acknowledged_at: (0..ACTS_MAX).map(|_| AtomicU64::new(0)).collect(),
            posted: AtomicU64::new(0),
            counts: (0..listeners).map(|_| AtomicU64::new(0)).collect(),
            slowest: AtomicU64::new(0),
            window_open: Notify::new(),
            closed_loop,
            ended: AtomicBool::new(false),
            latencies: Latencies::new(1),
            findings,
        })
    }

    /// In a closed loop, waits until the window to the slowest listener has a place for one act.
    pub async fn wait_for_window(&self) {
        while self.closed_loop && !self.ended.load(Ordering::Relaxed) {
            let ahead = self.posted.load(Ordering::Relaxed) - self.slowest.load(Ordering::Relaxed);
            if ahead < WINDOW {
                break;
            }
            let _ =
                tokio::time::timeout(Duration::from_millis(5), self.window_open.notified()).await;
        }
        self.posted.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the place of an act that was not acknowledged.
    pub fn withdraw(&self) {
        self.posted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes the time at which the act with this serial number was acknowledged.
    pub fn acknowledge(&self, serial: u64) {
        let nanos = (clock::now() - self.begun).as_nanos() as u64;
        if let Some(at) = self.acknowledged_at.get((serial - self.first) as usize) {
            at.store(nanos, Ordering::Release);
        }
    }

    /// Updates the count of the slowest listener every millisecond until the round ends.
    pub async fn watch_slowest(self: Arc<Self>) {
        while !self.ended.load(Ordering::Relaxed) {
            let slowest = self.counts.iter().map(|it| it.load(Ordering::Relaxed)).min();
            self.slowest.store(slowest.unwrap_or(u64::MAX), Ordering::Relaxed);
            self.window_open.notify_waiters();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until every listener has `count` frames, or none arrives for 10 s; ends the round.
    pub async fn settle(&self, count: u64) {
        let sum = || self.counts.iter().map(|it| it.load(Ordering::Relaxed)).sum::<u64>();
        let mut last = (sum(), clock::now());
        while self.counts.iter().any(|it| it.load(Ordering::Relaxed) < count) {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if sum() != last.0 {
                last = (sum(), clock::now());
            } else if clock::now() - last.1 > Duration::from_secs(10) {
                break;
            }
        }
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Counts and checks a message frame of listener `index`.
    fn receive(&self, index: usize, frame: &[u8]) {
        let count = self.counts[index].fetch_add(1, Ordering::Relaxed);
        let serial = memmem::find(frame, b"\"body\":\"")
            .and_then(|at| frame.get(at + 8..at + 24))
            .and_then(|tag| u64::from_str_radix(std::str::from_utf8(tag).ok()?, 16).ok())
            .map(|tag| tag.wrapping_sub(rng::mix(self.seed ^ 0x706c)).wrapping_sub(self.first));
        let at = serial.and_then(|serial| self.acknowledged_at.get(serial as usize));
        let Some(at) = at else {
            self.findings.add("a feed brings a message that was never sent");
            return;
        };
        // A frame may arrive before the acknowledgement; its latency counts as zero.
        let nanos = (clock::now() - self.begun).as_nanos() as u64;
        let nanos_late = match at.load(Ordering::Acquire) {
            0 => 0,
            acknowledged => nanos.saturating_sub(acknowledged),
        };
        self.latencies.record(index, 0, nanos_late / 1000);
        if count.is_multiple_of(PARSED_EVERY) {
            let parsed = serde_json::from_slice::<Posted<'_>>(frame);
            if let Err(error) = parsed {
                self.findings.add(format!("a message frame that cannot be read: {error}"));
            }
        }
    }
}

/// The frames that one listener received.
#[derive(Debug, Default)]
pub struct Received {
    /// Order and hashes of the frames.
    pub checker: FeedChecker,
    /// Numbers of the messages, kept by the first listener only.
    pub messages: Vec<u64>,
    /// The last message frame, kept by the first listener only.
    pub sample: Vec<u8>,
    /// Close code and reason, if the server ended the connection.
    pub closed: Option<(u16, String)>,
}

/// A connected listener.
pub struct FanoutListener {
    feed: Feed,
    checker: FeedChecker,
}

impl FanoutListener {
    /// Connects and reads `hello`; `narrow` sets a small receive buffer.
    pub async fn open(request: &Request, narrow: bool) -> io::Result<Self> {
        let mut feed =
            if narrow { Feed::open_narrow(request).await? } else { Feed::open(request).await? };
        let mut checker = FeedChecker::default();
        let Frame::Text(hello) = feed.next().await? else {
            return Err(io::Error::other("a feed that begins with its end"));
        };
        checker.frame(hello).map_err(io::Error::other)?;
        checker.remember(hello);
        Ok(Self { feed, checker })
    }

    /// Resumes from the cursor of another connection.
    pub async fn resume(request: &Request, mut checker: FeedChecker) -> io::Result<Self> {
        let mut request = request.clone();
        request.path.push_str("&since=");
        request.path.push_str(&checker.cursor);
        let mut feed = Feed::open(&request).await?;
        if let Frame::Text(hello) = feed.next().await? {
            checker.frame(hello).map_err(io::Error::other)?;
        }
        Ok(Self { feed, checker })
    }

    /// Reads frames until `stop` changes or the server ends the connection.
    pub fn listen(
        mut self,
        tracker: Arc<FanoutTracker>,
        index: usize,
        mut stop: watch::Receiver<bool>,
    ) -> JoinHandle<Received> {
        tokio::spawn(async move {
            let mut received = Received::default();
            loop {
                let frame = tokio::select! {
                    biased;
                    frame = self.feed.next() => frame,
                    _ = stop.changed() => break,
                };
                match frame {
                    Ok(Frame::Text(text)) => match self.checker.frame(text) {
                        Ok(FrameKind::Item) if text.starts_with(b"{\"type\":\"message\"") => {
                            tracker.receive(index, text);
                            if index == 0 {
                                received.keep(text);
                            }
                        }
                        Ok(_) => {}
                        Err(error) => tracker.findings.add(error),
                    },
                    Ok(Frame::Closed(code, reason)) => {
                        received.closed = Some((code, reason));
                        break;
                    }
                    Err(error) => {
                        received.closed = Some((1006, error.to_string()));
                        break;
                    }
                }
            }
            received.checker = self.checker;
            received
        })
    }

    /// Reads until the listener has as many items as `wanted` says, or the connection ends; keeps
    /// the cursor. Returns the close code and reason of an ended connection, and a wrong frame.
    pub async fn drain_until(
        &mut self,
        wanted: &mut watch::Receiver<u64>,
    ) -> (Option<(u16, String)>, Result<(), String>) {
        loop {
            let items = *wanted.borrow_and_update();
            if self.checker.items >= items {
                return (None, Ok(()));
            }
            let frame = tokio::select! {
                biased;
                frame = self.feed.next() => frame,
                Ok(()) = wanted.changed() => continue,
            };
            match frame {
                Ok(Frame::Text(text)) => {
                    if let Err(error) = self.checker.frame(text) {
                        return (None, Err(error));
                    }
                    self.checker.remember(text);
                }
                Ok(Frame::Closed(code, reason)) => return (Some((code, reason)), Ok(())),
                Err(error) => return (Some((1006, error.to_string())), Ok(())),
            }
        }
    }

    /// The checker, to resume with.
    pub fn into_checker(self) -> FeedChecker {
        self.checker
    }
}

impl Received {
    fn keep(&mut self, frame: &[u8]) {
        let id = memmem::find(frame, b"{\"id\":\"msg_")
            .and_then(|at| crate::scan::number(&frame[at + 11..]))
            .map(|(id, _)| id)
            .or_else(|| {
                let posted: Posted<'_> = serde_json::from_slice(frame).ok()?;
                objects::number(&posted.message.id, "msg_")
            });
        self.messages.extend(id);
        frame.clone_into(&mut self.sample);
    }
}
