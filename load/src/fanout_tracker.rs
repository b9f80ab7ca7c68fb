//! Many listeners of everything: order, completeness and latency of every frame, at little cost.

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

/// In a closed loop, so many acts may be on their way to the slowest listener. A quarter of the
/// frames that a server holds for each.
const WINDOW: u64 = 64;
/// One frame in so many is parsed whole.
const PARSED_EVERY: u64 = 100;
/// Acts that a round may have at most; their times of acknowledgement are kept.
const ACTS_MAX: usize = 1 << 22;

/// What writers and listeners of one round share.
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
    /// From acknowledgement to arrival.
    pub latencies: Latencies,
    findings: Arc<Findings>,
}

impl FanoutTracker {
    /// For so many listeners; `first` is the serial number of the round's first body.
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

    /// Waits until the slowest listener has caught up enough for one more act.
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

    /// An act that was posted did not come to be.
    pub fn withdraw(&self) {
        self.posted.fetch_sub(1, Ordering::Relaxed);
    }

    /// The act with the body of this serial number has been acknowledged.
    pub fn acknowledge(&self, serial: u64) {
        let nanos = (clock::now() - self.begun).as_nanos() as u64;
        if let Some(at) = self.acknowledged_at.get((serial - self.first) as usize) {
            at.store(nanos, Ordering::Release);
        }
    }

    /// Looks after the slowest, until the round is over.
    pub async fn watch_slowest(self: Arc<Self>) {
        while !self.ended.load(Ordering::Relaxed) {
            let slowest = self.counts.iter().map(|it| it.load(Ordering::Relaxed)).min();
            self.slowest.store(slowest.unwrap_or(u64::MAX), Ordering::Relaxed);
            self.window_open.notify_waiters();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until every listener has so many frames, or nothing more comes for a while.
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

    /// Takes a message frame of listener `index`.
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
        // A frame may well arrive before the answer; the act took no time to arrive then.
        let nanos = (clock::now() - self.begun).as_nanos() as u64;
        let late = match at.load(Ordering::Acquire) {
            0 => 0,
            acknowledged => nanos.saturating_sub(acknowledged),
        };
        self.latencies.record(index, 0, late / 1000);
        if count.is_multiple_of(PARSED_EVERY) {
            let parsed = serde_json::from_slice::<Posted<'_>>(frame);
            if let Err(error) = parsed {
                self.findings.add(format!("a message frame that cannot be read: {error}"));
            }
        }
    }
}

/// What a listener has to show at the end.
#[derive(Debug, Default)]
pub struct Received {
    /// Order and bytes.
    pub checker: FeedChecker,
    /// Numbers of the messages, kept by the first listener only.
    pub messages: Vec<u64>,
    /// The last message frame, kept by the first listener only.
    pub sample: Vec<u8>,
    /// How the server ended it, if it did.
    pub closed: Option<(u16, String)>,
}

/// A listener that has connected.
pub struct FanoutListener {
    feed: Feed,
    checker: FeedChecker,
}

impl FanoutListener {
    /// Connects and hears the greeting.
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

    /// Goes on where another connection ended.
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

    /// Listens until told to stop, or until the server ends it.
    pub fn listen(
        mut self,
        tracker: Arc<FanoutTracker>,
        index: usize,
        mut stop: watch::Receiver<bool>,
    ) -> JoinHandle<Received> {
        tokio::spawn(async move {
            let mut heard = Received::default();
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
                                heard.keep(text);
                            }
                        }
                        Ok(_) => {}
                        Err(wrong) => tracker.findings.add(wrong),
                    },
                    Ok(Frame::Closed(code, reason)) => {
                        heard.closed = Some((code, reason));
                        break;
                    }
                    Err(error) => {
                        heard.closed = Some((1006, error.to_string()));
                        break;
                    }
                }
            }
            heard.checker = self.checker;
            heard
        })
    }

    /// Reads until it has as many items as are wanted in the end, or the connection ends;
    /// remembers where.
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
                    if let Err(wrong) = self.checker.frame(text) {
                        return (None, Err(wrong));
                    }
                    self.checker.remember(text);
                }
                Ok(Frame::Closed(code, reason)) => return (Some((code, reason)), Ok(())),
                Err(error) => return (Some((1006, error.to_string())), Ok(())),
            }
        }
    }

    /// Its place in the order.
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
