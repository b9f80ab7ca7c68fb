//! One feed, over a WebSocket or as server-sent events: the frames that its listener gets next, and
//! how it ends.

use std::collections::VecDeque;
use std::sync::Arc;

use metrics::Counter;
use parley_protocol::entry::Position;
use parley_protocol::feed::{Frame, Scope};
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::wire::JsonBuffer;
use parley_protocol::wire::frame::{self, FrameType};

use super::client::{self, ClientFrame};
use super::publication::Publication;
use super::replay::{FeedDeps, OutgoingFrame, Replay, ReplayStep};
use super::subscriber::{CloseReason, FeedItem, Subscriber, Subscription, Taken};
use crate::metric;

/// Live frames given at a time: so many are written before the socket is flushed.
pub const BATCH_FRAMES: usize = 32;
/// Changes of the threads followed whose answers may wait.
const OWED_MAX: usize = 8;
/// Threads that one feed may follow.
pub const FOLLOWED_MAX: usize = 1_000;

/// A feed: registered in the hub from [`Feed::open`] until [`Feed::leave`] or its drop.
///
/// Its carrier sends `hello` first, then what `next` and `receive` give, in that order, until
/// `next` fails. The cursors of the frames given never fall, and no frame of an act comes twice.
/// `next` may be dropped at any wait and called again.
pub struct Feed {
    deps: Arc<FeedDeps>,
    /// The listener's queue.
    pub subscriber: Arc<Subscriber>,
    /// The threads followed, sorted.
    threads: Arc<[ThreadId]>,
    /// The position up to which every frame was given.
    watermark: Position,
    /// The cursor of the last frame given.
    last: Position,
    /// Live items up to this entry were queued by a replay, and so show the present.
    retold_upto: u64,
    /// The replay under way, if it is not live.
    replay: Option<Box<Replay>>,
    /// Whether its `caught_up` is still to come: its listener sets the pace until then.
    pub replaying: bool,
    /// For each change whose answer is queued the threads followed from then on.
    owed: VecDeque<Arc<[ThreadId]>>,
}

impl Feed {
    /// A feed of the acts after `since`, or from now on. Refuses in the order of parley.md §6: the
    /// cursor's age, the caps, then unknown threads.
    ///
    /// # Errors
    /// 400 `invalid_cursor`, 429 `rate_limited`, 503, 404 `thread_not_found`.
    pub async fn open(
        deps: Arc<FeedDeps>,
        subscription: Subscription,
        threads: Vec<ThreadId>,
        since: Option<Position>,
    ) -> Result<Self> {
        let committed = deps.journal.committed();
        let age = since.map_or(0, |since| committed.saturating_sub(since.entry()));
        if age > deps.replay_max {
            return Err(Refusal::cursor_too_old());
        }
        let mut threads = threads;
        threads.sort_unstable();
        threads.dedup();
        let subscriber = Subscriber::new(subscription, deps.hub.caps.buffer);
        deps.hub.register(&subscriber)?;
        let mut feed = Self {
            deps,
            subscriber,
            threads: threads.into(),
            watermark: since.unwrap_or_default(),
            last: since.unwrap_or_default(),
            retold_upto: 0,
            replay: since.map(|since| Box::new(Replay::new(since, false))),
            replaying: since.is_some(),
            owed: VecDeque::new(),
        };
        feed.find(Arc::clone(&feed.threads)).await?;
        if since.is_none() {
            let joined = feed.deps.hub.join(&feed.subscriber, &feed.threads);
            feed.watermark = Position::after(joined);
            feed.last = feed.watermark;
        }
        Ok(feed)
    }

    /// Refuses unknown threads.
    async fn find(&self, threads: Arc<[ThreadId]>) -> Result<()> {
        let journal = Arc::clone(&self.deps.journal);
        let view = journal.view();
        if threads.iter().all(|thread| view.is_recent(*thread)) {
            return Ok(());
        }
        let found = move || {
            let view = journal.view();
            let mut threads = threads.iter();
            threads.try_for_each(|thread| {
                view.summary(*thread)?.map(drop).ok_or_else(|| Refusal::no_thread(*thread))
            })
        };
        let caller = &self.subscriber.subscription.participant.identity;
        // On the heap: most feeds follow no thread by name.
        Box::pin(self.deps.reads.run(caller, found)).await
    }

    /// Whether a live listener has not taken its frames in time.
    pub(super) fn is_behind(&self) -> bool {
        self.subscriber.is_behind() && !self.replaying
    }

    /// The cursor of the last frame given.
    pub fn cursor(&self) -> String {
        self.deps.encoder.cursor(self.last)
    }

    /// The first frame.
    pub fn hello(&self, heartbeat_seconds: u64) -> OutgoingFrame {
        let Subscription { participant, scope, .. } = &self.subscriber.subscription;
        let (scope, replaying) = (scope.as_str(), self.replaying);
        count(FrameType::Hello);
        self.control(FrameType::Hello, |out, cursor| {
            frame::hello(out, cursor, participant, scope, heartbeat_seconds, replaying);
        })
    }

    /// A frame of no act.
    fn control(&self, kind: FrameType, put: impl FnOnce(&mut JsonBuffer, &str)) -> OutgoingFrame {
        let text = self.deps.encoder.control(self.watermark, put);
        OutgoingFrame { kind, cursor: self.watermark, text }
    }

    /// The next frames, at least one. Loses no frame if it is dropped.
    ///
    /// # Errors
    /// The reason for which the feed ends.
    pub async fn next(&mut self) -> Result<Vec<OutgoingFrame>, CloseReason> {
        loop {
            let frames = match &mut self.replay {
                Some(replay) => {
                    if let Some(close) = self.subscriber.closing() {
                        return Err(close);
                    }
                    // Many steps without a frame must not hold up other tasks.
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
                        // Their answers found no room; the changes hold from here on.
                        let owed = std::mem::take(&mut self.owed);
                        owed.iter().map(|_| self.subscribed(&self.threads)).collect()
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
                FeedItem::Frame(which, publication) => {
                    frames.extend(self.frame(which, &publication)?);
                }
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
                    let threads = self.owed.pop_front();
                    self.watermark = Position::after(number).max(self.watermark);
                    frames.push(self.subscribed(threads.as_ref().unwrap_or(&self.threads)));
                }
            }
        }
        Ok(frames)
    }

    /// A frame of an act; `None` if it was given before.
    fn frame(
        &mut self,
        which: Frame,
        publication: &Publication,
    ) -> Result<Option<OutgoingFrame>, CloseReason> {
        let cursor = which.position(publication.number());
        // An inbox actor may publish acts that a replay has given meanwhile.
        if cursor <= self.watermark {
            return Ok(None);
        }
        let FeedDeps { encoder, clock, .. } = &*self.deps;
        let text = if publication.number() > self.retold_upto {
            publication.text(which, encoder)
        } else {
            publication.retold(which, encoder, clock.now()).map_err(|refusal| lost(&refusal))?
        };
        self.watermark = cursor;
        Ok(Some(OutgoingFrame::of(which, publication.number(), text)))
    }

    fn caught_up(&mut self, number: u64) -> OutgoingFrame {
        self.watermark = Position::after(number).max(self.watermark);
        self.control(FrameType::CaughtUp, frame::caught_up)
    }

    fn subscribed(&self, threads: &[ThreadId]) -> OutgoingFrame {
        self.control(FrameType::Subscribed, |out, cursor| {
            frame::subscribed(out, cursor, threads.iter().copied());
        })
    }

    /// Whether as many changes wait for their answer as may: then no client frame is to be read.
    pub(super) fn is_owing(&self) -> bool {
        self.owed.len() >= OWED_MAX
    }

    /// Handles a client's frame; gives the frame that answers it, unless that is queued.
    pub async fn receive(&mut self, text: &str) -> Option<OutgoingFrame> {
        let answer = match client::read(text) {
            // On the heap: few connections get such frames, and the future of each is kept small.
            Ok(frame) => Box::pin(self.apply(frame)).await,
            Err(refusal) => Err(refusal),
        };
        let answer = match answer {
            Ok(answer) => answer?,
            Err(refusal) => return Some(self.notice(&refusal)),
        };
        self.last = answer.cursor;
        count(answer.kind);
        Some(answer)
    }

    /// The frame that tells the client why its frame is refused.
    pub fn notice(&mut self, refusal: &Refusal) -> OutgoingFrame {
        self.watermark = self.looked_upto().max(self.watermark);
        self.last = self.watermark;
        count(FrameType::Notice);
        self.control(FrameType::Notice, |out, cursor| {
            frame::notice(out, cursor, refusal.reason, &refusal.detail);
        })
    }

    /// The position up to which the feed has looked, if it has given every frame up to it.
    fn looked_upto(&self) -> Position {
        // The turns of an inbox come by way of its actor, so the hub is ahead of them.
        if self.replay.is_some() || self.subscriber.subscription.scope == Scope::Inbox {
            return self.watermark;
        }
        // In this order: what the hub has delivered so far is in the queue.
        let delivered = self.deps.hub.delivered();
        if self.subscriber.is_empty() { Position::after(delivered) } else { self.watermark }
    }

    async fn apply(&mut self, frame: ClientFrame) -> Result<Option<OutgoingFrame>> {
        if self.subscriber.subscription.scope != Scope::Threads {
            return Err(client::only_in_threads());
        }
        let is_followed = |thread: &ThreadId| self.threads.binary_search(thread).is_ok();
        let ClientFrame { follow, threads: changed } = frame;
        // The bound goes before the look-up of each.
        if changed.len() > FOLLOWED_MAX {
            return Err(client::too_many(FOLLOWED_MAX));
        }
        let new: Arc<[ThreadId]> =
            changed.iter().copied().filter(|thread| !is_followed(thread)).collect();
        if follow && self.threads.len() + new.len() > FOLLOWED_MAX {
            return Err(client::too_many(FOLLOWED_MAX));
        }
        self.find(Arc::clone(&new)).await?;
        let is_live = self.replay.as_ref().is_none_or(|replay| replay.was_live);
        let FeedDeps { hub, .. } = &*self.deps;
        if follow {
            let mut threads = [&self.threads[..], &new].concat();
            threads.sort_unstable();
            self.threads = threads.into();
            if is_live {
                hub.follow(&self.subscriber, &new);
            }
        } else {
            let left = self.threads.iter().copied();
            self.threads = left.filter(|thread| !changed.contains(thread)).collect();
            if is_live {
                hub.unfollow(&self.subscriber, &changed);
            }
        }
        // In a replay the change holds from the place reached on, and is answered at once.
        if self.replay.is_some() {
            return Ok(Some(self.subscribed(&self.threads)));
        }
        self.owed.push_back(Arc::clone(&self.threads));
        Ok(None)
    }

    /// Leaves the hub; no frame is queued from then on.
    pub fn leave(&mut self) {
        self.deps.hub.leave(&self.subscriber, &self.threads);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The end of a feed whose replay is refused.
fn lost(refusal: &Refusal) -> CloseReason {
    match refusal.reason {
        // The listener took so long that the log no longer reaches back to its place.
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
