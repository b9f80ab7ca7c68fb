//! Replays the acts after a cursor to one listener, at its pace: from the log as far as the hub's
//! ring does not reach back, then from the ring, until the listener is live. No act is left out at
//! these seams, and none comes twice.
//!
//! No view and no chunk outlives a step: a slow listener pins nothing.

use std::sync::Arc;

use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::Frame;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;
use parley_protocol::wire::frame::FrameType;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::encode::Encoder;
use super::hub::{CatchUp, FeedPlace, Hub, frames_for};
use super::publication::Publication;
use super::replay_cache::{ReplayCache, ReplayChunk};
use super::subscriber::Subscriber;
use crate::clock::Clock;
use crate::journal::Journal;
use crate::work_pool::WorkPool;

/// Frames that one step gives at most.
const STEP_FRAMES: usize = 32;
/// Bytes of frames above which a step ends: these and one frame more are held for a slow listener.
const STEP_BYTES: usize = 32 << 10;

/// The dependencies of feeds, shared by all of one engine.
pub struct FeedDeps {
    /// Stores, and shows what is committed.
    pub journal: Arc<Journal>,
    /// Publishes committed acts.
    pub hub: Arc<Hub>,
    /// The decoded log.
    pub replay_cache: ReplayCache,
    /// Runs reads of the store.
    pub reads: Arc<WorkPool>,
    /// Encodes frames.
    pub encoder: Encoder,
    /// Tells the time at which claims have expired.
    pub clock: Arc<dyn Clock>,
    /// Entries that a replay reaches back (`feed.replay_max`).
    pub replay_max: u64,
}

/// A frame on its way to a listener.
#[derive(Clone, Debug)]
pub struct OutgoingFrame {
    /// Its type.
    pub kind: FrameType,
    /// The position of its cursor.
    pub cursor: Position,
    /// Its JSON text.
    pub text: Utf8Bytes,
}

impl OutgoingFrame {
    /// The frame `which` of the entry `number`.
    pub(super) fn of(which: Frame, number: u64, text: Utf8Bytes) -> Self {
        let kind = match which {
            Frame::Message => FrameType::Message,
            Frame::Event => FrameType::Event,
            Frame::Claim(_) => FrameType::Claim,
            Frame::Awaiting => FrameType::Awaiting,
            Frame::Settled => FrameType::Settled,
        };
        Self { kind, cursor: which.position(number), text }
    }
}

/// The outcome of a step.
pub enum ReplayStep {
    /// Frames, perhaps none; another step must follow.
    Given(Vec<OutgoingFrame>),
    /// The listener is live; the frames that it lacked up to the entry of this number are in its
    /// queue.
    Live(u64),
}

/// The replay of one feed, from its cursor, or from the place where it fell behind, until it is
/// live. [`Replay::step`] is called until it gives [`ReplayStep::Live`], and never after; `place`
/// only rises. A step that is dropped before its end has changed nothing.
#[derive(Debug)]
pub struct Replay {
    /// How far it has come.
    pub place: FeedPlace,
    /// Whether the feed was live before.
    pub was_live: bool,
}

impl Replay {
    /// A replay of the acts after `since`.
    pub fn new(since: Position, was_live: bool) -> Self {
        Self { place: FeedPlace::at(since), was_live }
    }

    /// The next frames for `subscriber`, which follows `threads`, or that it is live.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the log no longer reaches back to the place, 503 if it cannot be
    /// read.
    pub async fn step(
        &mut self,
        deps: &Arc<FeedDeps>,
        subscriber: &Arc<Subscriber>,
        threads: &Arc<[ThreadId]>,
    ) -> Result<ReplayStep> {
        let acts = match deps.hub.catch_up(subscriber, threads, self.place, self.was_live) {
            CatchUp::Live(upto) => {
                self.place.after = upto.max(self.place.after);
                return Ok(ReplayStep::Live(upto));
            }
            CatchUp::Near(acts) => PastActs::Ring(acts),
            CatchUp::Far => PastActs::Log(deps.replay_cache.at(self.place.after).await?),
        };
        // Off the runtime: the frames show the present, which may be on the disk.
        let (place, encoder, now) = (self.place, deps.encoder.clone(), deps.clock.now());
        let (listener, threads) = (Arc::clone(subscriber), Arc::clone(threads));
        let encoded = move || acts.frames(place, &listener, &threads, &encoder, now);
        let caller = &subscriber.subscription.participant.identity;
        let (frames, place) = deps.reads.run(caller, encoded).await?;
        self.place = place;
        Ok(ReplayStep::Given(frames))
    }
}

/// Acts to replay.
enum PastActs {
    /// Of the hub's ring.
    Ring(Vec<Arc<Publication>>),
    /// Of the log.
    Log(Arc<ReplayChunk>),
}

impl PastActs {
    /// The frames of one step from `place` on, and the place behind them.
    fn frames(
        &self,
        mut place: FeedPlace,
        subscriber: &Subscriber,
        threads: &[ThreadId],
        encoder: &Encoder,
        now: Millis,
    ) -> Result<(Vec<OutgoingFrame>, FeedPlace)> {
        let mut given = ReplayedFrames { subscriber, threads, frames: Vec::new(), bytes: 0 };
        match self {
            Self::Ring(acts) => {
                for publication in acts {
                    let text = |which| publication.retold(which, encoder, now);
                    if given.add(&mut place, publication.number(), publication.act(), text)? {
                        break;
                    }
                }
            }
            Self::Log(chunk) => {
                let after = place.after;
                for (number, act) in chunk.concerning(&subscriber.subscription, threads, after) {
                    let text = |which| encoder.replayed(number, act, which, now);
                    if given.add(&mut place, number, act, text)? {
                        return Ok((given.frames, place));
                    }
                }
                place.after = chunk.upto.max(place.after);
            }
        }
        Ok((given.frames, place))
    }
}

/// The frames of one step.
struct ReplayedFrames<'a> {
    subscriber: &'a Subscriber,
    threads: &'a [ThreadId],
    frames: Vec<OutgoingFrame>,
    bytes: usize,
}

impl ReplayedFrames<'_> {
    /// Adds the frames of one act that lie beyond `place`, and moves `place` behind it; `true` if
    /// the step is to end.
    fn add(
        &mut self,
        place: &mut FeedPlace,
        number: u64,
        act: &Act,
        text: impl Fn(Frame) -> Result<Utf8Bytes>,
    ) -> Result<bool> {
        for which in frames_for(&self.subscriber.subscription, act, self.threads) {
            if place.lacks(which, number) {
                let text = text(which)?;
                self.bytes += text.len();
                self.frames.push(OutgoingFrame::of(which, number, text));
            }
        }
        place.after = number;
        Ok(self.frames.len() >= STEP_FRAMES || self.bytes >= STEP_BYTES)
    }
}
