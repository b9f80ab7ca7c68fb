//! One listener that resumes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::sync::watch;

use crate::clock;
use crate::scan;
use crate::socket::{Feed, Frame, Request};
use crate::verify::feed::{FeedChecker, FrameKind};

/// How long one that was refused waits before it tries again.
const AGAIN: Duration = Duration::from_millis(500);

/// How far all listeners are.
#[derive(Debug, Default)]
pub struct Progress {
    /// Those that are caught up.
    pub caught_up: AtomicU64,
    /// Frames that came in all.
    pub frames: AtomicU64,
}

impl Progress {
    /// Waits until one of the counters has got so far, or the time is over.
    pub async fn wait(&self, count: u64, counter: &AtomicU64, patience: Duration) {
        let until = clock::now() + patience;
        while counter.load(Ordering::Relaxed) < count && clock::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A listener and what it heard.
#[derive(Debug)]
pub struct ResumingListener {
    progress: Arc<Progress>,
    checker: FeedChecker,
    /// Numbers of the messages that it was told to wait for it, in the order in which they came.
    pub received: Vec<u64>,
    /// Seconds until it was caught up.
    pub caught_up: Option<f64>,
    /// How often it was refused, or cut off, and came again.
    pub retries: u64,
    /// What was wrong with what it heard.
    pub violations: Vec<String>,
}

/// Connects and gives the cursor from which the feed would go on.
pub async fn cursor_now(request: &Request) -> anyhow::Result<String> {
    let mut feed = Feed::open(request).await?;
    let mut checker = FeedChecker::default();
    if let Frame::Text(hello) = feed.next().await? {
        checker.remember(hello);
    }
    anyhow::ensure!(!checker.cursor.is_empty(), "a feed begins without a cursor");
    Ok(checker.cursor)
}

impl ResumingListener {
    /// One that has handled everything up to this cursor.
    pub fn new(cursor: String, progress: Arc<Progress>) -> Self {
        let mut checker = FeedChecker::default();
        checker.cursor = cursor;
        let (heard, wrong) = (Vec::new(), Vec::new());
        Self { progress, checker, received: heard, caught_up: None, retries: 0, violations: wrong }
    }

    /// Resumes, however often it is sent away, and listens until told to stop.
    pub async fn follow(
        mut self,
        request: Request,
        begun: Instant,
        mut stop: watch::Receiver<bool>,
    ) -> Self {
        loop {
            let mut request = request.clone();
            request.path.push_str("&since=");
            request.path.push_str(&self.checker.cursor);
            tokio::select! {
                ended = self.listen(&request, begun) => {
                    if let Err(error) = ended
                        && error.kind() == io::ErrorKind::InvalidData
                    {
                        self.violations.push(error.to_string());
                    }
                }
                _ = stop.changed() => return self,
            }
            self.retries += 1;
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                _ = stop.changed() => return self,
            }
        }
    }

    /// Listens on one connection until it ends.
    async fn listen(&mut self, request: &Request, begun: Instant) -> io::Result<()> {
        let mut feed = Feed::open(request).await?;
        let mut first = true;
        loop {
            let Frame::Text(frame) = feed.next().await? else { return Ok(()) };
            let kind = self.checker.frame(frame);
            self.checker.remember(frame);
            let name = scan::frame_type(frame).unwrap_or_default();
            match (first, name, kind) {
                (true, "hello", Ok(FrameKind::Control)) => {}
                (false, "caught_up", Ok(FrameKind::Control)) => {
                    if self.caught_up.is_none() {
                        self.caught_up = Some(clock::seconds(clock::now() - begun));
                        self.progress.caught_up.fetch_add(1, Ordering::Relaxed);
                    }
                }
                (false, "awaiting", Ok(FrameKind::Item)) => {
                    self.progress.frames.fetch_add(1, Ordering::Relaxed);
                    match awaited(frame) {
                        Some(message) => self.received.push(message),
                        None => {
                            self.violations.push("an awaiting frame without a message".to_owned());
                        }
                    }
                }
                (_, _, Err(wrong)) => self.violations.push(wrong),
                (first, name, Ok(_)) => {
                    self.violations.push(format!("a frame {name}, first: {first}"));
                }
            }
            first = false;
        }
    }
}

/// The number of the message in an `awaiting` frame.
fn awaited(frame: &[u8]) -> Option<u64> {
    let opening = b"\"message\":{\"id\":\"msg_";
    let at = memmem::find(frame, opening)? + opening.len();
    scan::number(&frame[at..]).map(|(number, _)| number)
}
