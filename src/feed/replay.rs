//! From a place in the order to the present, at the reader's pace: out of the log until the ring
//! reaches back, out of the ring until the head is near, then live, with nothing left out and
//! nothing twice at the seam.
//!
//! No view and no chunk outlives a step: nothing is held while a client takes its time.

use std::sync::Arc;

use parley_protocol::entry::Position;
use parley_protocol::feed::Frame;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;
use parley_protocol::wire::frame::FrameType;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::hub::{CatchUp, FeedPlace, Hub, frames_for};
use super::replay_cache::ReplayCache;
use crate::clock::Clock;
use crate::feed::encode::Encoder;
use crate::feed::subscriber::Subscriber;
use crate::journal::Journal;

/// Frames that one step gives at most.
const STEP_FRAMES: usize = 32;
/// Bytes of them above which a step ends: with the frame that reaches it, what a slow reader holds.
const STEP_BYTES: usize = 32 << 10;

/// What feeds are made of, shared by all.
pub struct FeedDeps {
    /// The journal.
    pub journal: Arc<Journal>,
    /// The hub.
    pub hub: Arc<Hub>,
    /// The decoded log.
    pub replay_cache: ReplayCache,
    /// Makes frames.
    pub encoder: Encoder,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Entries that a replay reaches back (`feed.replay_max`).
    pub replay_max: u64,
}

/// A frame on its way to a listener.
#[derive(Clone, Debug)]
pub struct OutgoingFrame {
    /// Its type.
    pub kind: FrameType,
    /// Its cursor's position.
    pub cursor: Position,
    /// Its JSON.
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

/// What a step brought.
pub enum ReplayStep {
    /// Frames, perhaps none; there is more to come.
    Given(Vec<OutgoingFrame>),
    /// The listener is live; what it still lacked, up to the entry of this number, lies in its
    /// queue.
    Live(u64),
}

/// One listener's way to the present.
#[derive(Debug)]
pub struct Replay {
    /// How far it has come.
    pub place: FeedPlace,
    /// Whether it was live before.
    pub was_live: bool,
}

impl Replay {
    /// Goes on from `since`.
    pub fn new(since: Position, was_live: bool) -> Self {
        Self { place: FeedPlace::at(since), was_live }
    }

    /// The next frames of what concerns `subscriber`, which follows `threads`. Loses nothing if it is
    /// dropped.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the log holds what is missing no more, 503 if it cannot be read.
    pub async fn step(
        &mut self,
        sources: &FeedDeps,
        subscriber: &Arc<Subscriber>,
        threads: &[ThreadId],
    ) -> Result<ReplayStep> {
        let now = sources.clock.now();
        match sources.hub.catch_up(subscriber, threads, self.place, self.was_live) {
            CatchUp::Live(looked) => {
                self.place.after = looked.max(self.place.after);
                Ok(ReplayStep::Live(looked))
            }
            CatchUp::Near(acts) => {
                let mut given = ReplayedFrames::default();
                for told in acts {
                    for which in frames_for(&subscriber.subscription, told.act(), threads) {
                        if self.place.lacks(which, told.number()) {
                            let text = sources.encoder.retold(&told, which, now)?;
                            given.add(OutgoingFrame::of(which, told.number(), text));
                        }
                    }
                    self.place.after = told.number();
                    if given.is_full() {
                        break;
                    }
                }
                Ok(ReplayStep::Given(given.frames))
            }
            CatchUp::Far => {
                self.read(sources, subscriber, threads, now).await.map(ReplayStep::Given)
            }
        }
    }

    async fn read(
        &mut self,
        sources: &FeedDeps,
        subscriber: &Arc<Subscriber>,
        threads: &[ThreadId],
        now: Millis,
    ) -> Result<Vec<OutgoingFrame>> {
        let chunk = sources.replay_cache.at(self.place.after).await?;
        let mut given = ReplayedFrames::default();
        for (number, act) in chunk.concerning(&subscriber.subscription, threads, self.place.after) {
            for which in frames_for(&subscriber.subscription, act, threads) {
                if self.place.lacks(which, number) {
                    let text = sources.encoder.replayed(number, act, which, now)?;
                    given.add(OutgoingFrame::of(which, number, text));
                }
            }
            self.place.after = number;
            if given.is_full() {
                return Ok(given.frames);
            }
        }
        self.place.after = chunk.upto.max(self.place.after);
        Ok(given.frames)
    }
}

/// What one step gives.
#[derive(Default)]
struct ReplayedFrames {
    frames: Vec<OutgoingFrame>,
    bytes: usize,
}

impl ReplayedFrames {
    fn add(&mut self, sent: OutgoingFrame) {
        self.bytes += sent.text.len();
        self.frames.push(sent);
    }

    fn is_full(&self) -> bool {
        self.frames.len() >= STEP_FRAMES || self.bytes >= STEP_BYTES
    }
}
