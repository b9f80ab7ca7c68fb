//! One feed, whatever carries it: what its listener is sent next, and how it ends.

use std::sync::Arc;

use metrics::Counter;
use parley_protocol::entry::Position;
use parley_protocol::feed::{Frame, Scope};
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::wire::frame::FrameType;

use super::client::{self, ClientFrame};
use super::replay::{FeedDeps, OutgoingFrame, Replay, ReplayStep};
use super::replay_cache::too_old;
use crate::feed::publication::Publication;
use crate::feed::subscriber::{CloseReason, FeedItem, Subscriber, Subscription, Taken};
use crate::interference::Flaw;
use crate::metric;

/// Frames that are given at a time: so many are written before the socket is flushed.
pub const BATCH_FRAMES: usize = 32;
/// Threads that one feed follows at most.
pub const FOLLOWED_MAX: usize = 1_000;

/// A feed. It gives its seat back when it is dropped.
pub struct Feed {
    deps: Arc<FeedDeps>,
    subscriber: Arc<Subscriber>,
    /// The threads followed, sorted.
    threads: Vec<ThreadId>,
    /// The position up to which the feed has looked.
    watermark: Position,
    /// The cursor of the last frame given.
    last: Position,
    /// Live items up to this entry were put there by a replay: they show the present.
    retold_upto: u64,
    /// How far it is behind, if it is.
    replay: Option<Box<Replay>>,
    /// Whether `caught_up` is still to come.
    replaying: bool,
    /// Changes of the threads followed whose answer lies in the queue.
    owed: usize,
}

impl Feed {
    /// A feed of everything after `since`, or from now on. Refuses in the order of parley.md §6:
    /// the cursor's age, the caps, then threads that are not there.
    ///
    /// # Errors
    /// 400 `invalid_cursor`, 429 `rate_limited`, 503, 404 `thread_not_found`.
    pub fn open(
        sources: Arc<FeedDeps>,
        subscription: Subscription,
        threads: Vec<ThreadId>,
        since: Option<Position>,
    ) -> Result<Self> {
        let head = sources.journal.committed();
        let age = since.map_or(0, |since| head.saturating_sub(since.entry()));
        if age > sources.replay_max {
            return Err(too_old());
        }
        let since = match since {
            Some(since) if sources.plants(Flaw::SkipCursor) => {
                Some(Position::after(since.entry() + 1))
            }
            since => since,
        };
        let subscriber = Subscriber::new(subscription, sources.hub.caps.buffer);
        sources.hub.register(&subscriber)?;
        let mut feed = Self {
            deps: sources,
            subscriber,
            threads,
            watermark: since.unwrap_or_default(),
            last: since.unwrap_or_default(),
            retold_upto: 0,
            replay: since.map(|since| Box::new(Replay::new(since, false))),
            replaying: since.is_some(),
            owed: 0,
        };
        feed.threads.sort_unstable();
        feed.threads.dedup();
        feed.find(&feed.threads)?;
        if since.is_none() {
            let joined = feed.deps.hub.join(&feed.subscriber, &feed.threads);
            feed.watermark = Position::after(joined);
            feed.last = feed.watermark;
        }
        Ok(feed)
    }

    /// Refuses threads that are not there.
    fn find(&self, threads: &[ThreadId]) -> Result<()> {
        if threads.is_empty() {
            return Ok(());
        }
        let view = self.deps.journal.view();
        for thread in threads {
            view.summary(*thread)?.ok_or_else(|| Refusal::no_thread(*thread))?;
        }
        Ok(())
    }

    /// The listener's queue.
    pub fn subscriber(&self) -> &Arc<Subscriber> {
        &self.subscriber
    }

    /// Whether the listener is still on its way to the present: it goes at its own pace then.
    pub fn is_replaying(&self) -> bool {
        self.replaying
    }

    /// The cursor of the last frame given.
    pub fn cursor(&self) -> String {
        self.deps.encoder.cursor(self.last)
    }

    /// The first frame.
    pub fn hello(&self, heartbeat_seconds: u64) -> OutgoingFrame {
        let Subscription { participant, scope, .. } = &self.subscriber.subscription;
        let encoder = &self.deps.encoder;
        let scope = scope.as_str();
        let text =
            encoder.hello(self.watermark, participant, scope, heartbeat_seconds, self.replaying);
        count(FrameType::Hello);
        OutgoingFrame { kind: FrameType::Hello, cursor: self.watermark, text }
    }

    /// The next frames, at least one. Loses nothing if it is dropped.
    ///
    /// # Errors
    /// Why the feed ends.
    pub async fn next(&mut self) -> Result<Vec<OutgoingFrame>, CloseReason> {
        loop {
            let frames = match &mut self.replay {
                Some(replay) => {
                    if let Some(close) = self.subscriber.closing() {
                        return Err(close);
                    }
                    // A long way without anything to tell is gone without holding up others.
                    tokio::task::coop::consume_budget().await;
                    let step = replay.step(&self.deps, &self.subscriber, &self.threads).await;
                    match step.map_err(|refusal| lost(&refusal))? {
                        ReplayStep::Given(frames) => {
                            self.watermark = replay.place.watermark().max(self.watermark);
                            frames
                        }
                        ReplayStep::Live(upto) => {
                            self.retold_upto = upto;
                            self.replay = None;
                            continue;
                        }
                    }
                }
                None => match self.subscriber.take(BATCH_FRAMES).await? {
                    Taken::Items(items) => self.live(items)?,
                    Taken::Behind => {
                        self.replay = Some(Box::new(Replay::new(self.watermark, true)));
                        // Their answers found no room. What they changed holds from here on.
                        let owed = std::mem::take(&mut self.owed);
                        (0..owed).map(|_| self.subscribed()).collect()
                    }
                },
            };
            if let Some(last) = frames.last() {
                self.last = last.cursor;
                for sent in &frames {
                    count(sent.kind);
                }
                return Ok(frames);
            }
        }
    }

    fn live(&mut self, items: Vec<FeedItem>) -> Result<Vec<OutgoingFrame>, CloseReason> {
        let mut frames = Vec::with_capacity(items.len());
        for item in items {
            match item {
                FeedItem::Frame(which, told) => frames.extend(self.frame(which, &told)?),
                FeedItem::Watermark(number) => {
                    if Position::after(number) > self.watermark {
                        frames.push(self.caught_up(number));
                    }
                }
                FeedItem::CaughtUp(number) => {
                    self.replaying = false;
                    frames.push(self.caught_up(number));
                }
                FeedItem::Following(number) => {
                    self.owed = self.owed.saturating_sub(1);
                    self.watermark = Position::after(number).max(self.watermark);
                    frames.push(self.subscribed());
                }
            }
        }
        Ok(frames)
    }

    /// A frame that was not given yet.
    fn frame(
        &mut self,
        which: Frame,
        told: &Publication,
    ) -> Result<Option<OutgoingFrame>, CloseReason> {
        let cursor = which.position(told.number());
        // An inbox actor may still tell what the listener has caught up with meanwhile.
        if cursor <= self.watermark {
            return Ok(None);
        }
        let FeedDeps { encoder, clock, .. } = &*self.deps;
        let text = if told.number() > self.retold_upto {
            told.text(which, encoder)
        } else {
            encoder.retold(told, which, clock.now()).map_err(|refusal| lost(&refusal))?
        };
        self.watermark = cursor;
        Ok(Some(OutgoingFrame::of(which, told.number(), text)))
    }

    fn caught_up(&mut self, number: u64) -> OutgoingFrame {
        self.watermark = Position::after(number).max(self.watermark);
        let text = self.deps.encoder.caught_up(self.watermark);
        OutgoingFrame { kind: FrameType::CaughtUp, cursor: self.watermark, text }
    }

    fn subscribed(&self) -> OutgoingFrame {
        let text = self.deps.encoder.subscribed(self.watermark, &self.threads);
        OutgoingFrame { kind: FrameType::Subscribed, cursor: self.watermark, text }
    }

    /// Does what a client's frame asks; gives the frame that answers at once, if one does.
    pub fn receive(&mut self, text: &str) -> Option<OutgoingFrame> {
        let heard = client::read(text).and_then(|frame| self.apply(frame));
        let answer = match heard {
            Ok(None) => return None,
            Ok(Some(answer)) => answer,
            Err(refusal) => return Some(self.notice(&refusal)),
        };
        self.last = answer.cursor;
        count(answer.kind);
        Some(answer)
    }

    /// Tells the client what is wrong with its frame.
    pub fn notice(&mut self, refusal: &Refusal) -> OutgoingFrame {
        let text = self.deps.encoder.notice(self.watermark, refusal);
        self.last = self.watermark;
        count(FrameType::Notice);
        OutgoingFrame { kind: FrameType::Notice, cursor: self.watermark, text }
    }

    fn apply(&mut self, frame: ClientFrame) -> Result<Option<OutgoingFrame>> {
        if self.subscriber.subscription.scope != Scope::Threads {
            return Err(client::only_in_threads());
        }
        let is_followed = |thread: &ThreadId| self.threads.binary_search(thread).is_ok();
        let (follow, changed) = match frame {
            ClientFrame::Subscribe(threads) => (true, threads),
            ClientFrame::Unsubscribe(threads) => (false, threads),
        };
        let new: Vec<_> = changed.iter().copied().filter(|thread| !is_followed(thread)).collect();
        self.find(&new)?;
        let is_live = self.replay.as_ref().is_none_or(|replay| replay.was_live);
        let FeedDeps { hub, .. } = &*self.deps;
        if follow {
            if self.threads.len() + new.len() > FOLLOWED_MAX {
                return Err(client::too_many(FOLLOWED_MAX));
            }
            self.threads.extend(&new);
            self.threads.sort_unstable();
            if is_live {
                hub.follow(&self.subscriber, &new);
            }
        } else {
            self.threads.retain(|thread| !changed.contains(thread));
            if is_live {
                hub.unfollow(&self.subscriber, &changed);
            }
        }
        // On the way to the present, what follows is told from the place reached on.
        if self.replay.is_some() {
            return Ok(Some(self.subscribed()));
        }
        self.owed += 1;
        Ok(None)
    }
}

impl Feed {
    /// Gives the seat back; nothing more is told.
    pub fn leave(&mut self) {
        self.deps.hub.leave(&self.subscriber, &self.threads);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.leave();
    }
}

/// How a feed ends that cannot read on.
fn lost(refusal: &Refusal) -> CloseReason {
    match refusal.reason {
        // It took so long that the log does not reach back to it any more.
        Reason::InvalidCursor => CloseReason::SlowConsumer,
        _ => CloseReason::Failed,
    }
}

/// Counts a frame sent.
fn count(kind: FrameType) {
    static COUNTERS: std::sync::OnceLock<[Counter; FrameType::ALL.len()]> =
        std::sync::OnceLock::new();
    let counters = COUNTERS.get_or_init(|| {
        FrameType::ALL.map(|kind| metrics::counter!(metric::FEED_FRAMES, "type" => kind.as_str()))
    });
    counters[kind as usize].increment(1);
}
