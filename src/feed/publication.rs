//! A committed act as it is told: each frame encoded once, by whoever needs it first, and shared.

use std::sync::{Arc, OnceLock};

use parley_protocol::entry::Act;
use parley_protocol::feed::Frame;
use parley_protocol::time::Millis;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::encode::{Encoder, FrameMoment};
use crate::journal::Committed;

/// Frames of one act: message, event, up to nine claims, awaiting, settled.
const FRAMES: usize = 13;

/// An act that is on disk and the frames made of it so far.
pub struct Publication {
    committed: Arc<Committed>,
    /// When it was told, for `expired` of claims.
    at: Millis,
    frames: [OnceLock<Utf8Bytes>; FRAMES],
}

impl Publication {
    /// Of a committed act; `None` of anything else, of which no feed tells.
    pub fn of(committed: &Arc<Committed>, at: Millis) -> Option<Arc<Self>> {
        committed.entry.act()?;
        Some(Arc::new(Self { committed: Arc::clone(committed), at, frames: Default::default() }))
    }

    /// The number of its entry.
    pub fn number(&self) -> u64 {
        self.committed.number
    }

    /// The act.
    ///
    /// # Panics
    /// Never: [`Publication::of`] takes acts only.
    pub fn act(&self) -> &Act {
        self.committed.entry.act().expect("only acts are told")
    }

    /// What was committed.
    pub fn committed(&self) -> &Committed {
        &self.committed
    }

    /// The frame's JSON text as a live feed shows it, made once.
    pub fn text(&self, frame: Frame, encoder: &Encoder) -> Utf8Bytes {
        let slot = usize::try_from(frame.position(0).0).unwrap_or_default();
        self.frames[slot]
            .get_or_init(|| encoder.frame(&self.committed, frame, self.at, FrameMoment::Live))
            .clone()
    }
}
