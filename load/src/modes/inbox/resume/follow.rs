//! A listener that resumes from a cursor, again after each refusal or close.

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

/// Delay before the next attempt.
const AGAIN: Duration = Duration::from_millis(500);

/// The progress of all listeners.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of listeners that are caught up.
    pub caught_up: AtomicU64,
    /// Number of `awaiting` frames of all listeners.
    pub frames: AtomicU64,
}

impl Progress {
    /// Waits until `counter` reaches `count`, or `patience` is over.
    pub async fn wait(&self, count: u64, counter: &AtomicU64, patience: Duration) {
        let until = clock::now() + patience;
        while counter.load(Ordering::Relaxed) < count && clock::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A listener with its received frames.
#[derive(Debug)]
pub struct ResumingListener {
    progress: Arc<Progress>,
    checker: FeedChecker,
    /// Numbers of the messages in `awaiting` frames, in the order of arrival.
    pub received: Vec<u64>,
    /// Seconds until the first `caught_up`.
    pub caught_up: Option<f64>,
    /// Number of attempts after the first.
    pub retries: u64,
    /// Violations.
    pub violations: Vec<String>,
}

/// Connects and returns the cursor of `hello`.
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
    /// A listener that has handled everything up to `cursor`.
    pub fn new(cursor: String, progress: Arc<Progress>) -> Self {
        let mut checker = FeedChecker::default();
        checker.cursor = cursor;
        let (received, violations) = (Vec::new(), Vec::new());
        Self { progress, checker, received, caught_up: None, retries: 0, violations }
    }

    /// Resumes, again after each refusal or close, until `stop` changes.
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

    /// Reads one connection until its end.
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
                (_, _, Err(violations)) => self.violations.push(violations),
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
