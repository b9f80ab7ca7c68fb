//! A committed act on its way to listeners, with the frames made of it so far: the first listener
//! that needs a frame encodes it, the others share it.

use std::sync::{Arc, OnceLock};

use parley_protocol::entry::Act;
use parley_protocol::feed::Frame;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::encode::{Encoder, FrameMoment};
use crate::journal::Committed;

/// Frames of one act: message, event, up to nine claims, awaiting, settled.
const FRAMES: usize = 13;

/// An act that is on disk.
pub struct Publication {
    committed: Arc<Committed>,
    /// The time of publishing, which decides whether claims show as expired.
    at: Millis,
    frames: [OnceLock<Utf8Bytes>; FRAMES],
}

impl Publication {
    /// The publication of a committed act; `None` for other entries, which no feed shows.
    pub fn of(committed: &Arc<Committed>, at: Millis) -> Option<Arc<Self>> {
        committed.entry.act()?;
        Some(Arc::new(Self { committed: Arc::clone(committed), at, frames: Default::default() }))
    }

    /// The number of its entry.
    pub fn number(&self) -> u64 {
        self.committed.number
    }

    /// Bytes that it keeps in memory, about, with its frames.
    pub fn weight(&self) -> u64 {
        /// The encoded entry once as values, and as JSON, which at most doubles it.
        const FORMS: u64 = 3;
        FORMS * self.committed.weight()
    }

    /// The act.
    ///
    /// # Panics
    /// Never: [`Publication::of`] takes acts only.
    pub fn act(&self) -> &Act {
        self.committed.entry.act().expect("only acts are told")
    }

    /// The frame's JSON text as a live feed shows it, made once.
    pub fn text(&self, frame: Frame, encoder: &Encoder) -> Utf8Bytes {
        let slot = usize::try_from(frame.position(0).0).unwrap_or_default();
        self.frames[slot]
            .get_or_init(|| encoder.frame(&self.committed, frame, self.at, FrameMoment::Live))
            .clone()
    }

    /// The frame's JSON text as a replay shows it at `now`. Where nothing has happened in the
    /// thread since, and time changes nothing, it is the text of live feeds.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub fn retold(&self, frame: Frame, encoder: &Encoder, now: Millis) -> Result<Utf8Bytes> {
        let is_timeless = !matches!(frame, Frame::Claim(_));
        let summary = self.committed.summary.as_deref();
        if is_timeless && summary.map_or(Ok(false), |then| encoder.is_present(then))? {
            return Ok(self.text(frame, encoder));
        }
        encoder.replayed(self.number(), self.act(), frame, now)
    }
}
