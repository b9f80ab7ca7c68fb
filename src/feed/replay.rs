//! From a cursor to the present, at the reader's pace: out of the log until the head is near, then
//! live, with nothing left out and nothing twice at the seam.

use std::sync::Arc;

use bytes::Bytes;
use parley_protocol::entry::{Act, Entry, Position};
use parley_protocol::feed::Frame;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Result;
use parley_protocol::time::Millis;

use super::chunks::Chunks;
use super::encode::{Encoder, When};
use super::hub::{Hub, JOIN_ACTS_MAX, frames_for};
use super::outlet::Outlet;
use crate::journal::{Committed, Journal};

/// Frames that one step gives at most, roughly: what a slow reader holds in memory.
const STEP_FRAMES: usize = 256;

/// What a replay needs, shared by all.
pub struct Sources {
    /// The journal.
    pub journal: Arc<Journal>,
    /// The hub.
    pub hub: Arc<Hub>,
    /// The decoded log.
    pub chunks: Chunks,
    /// Makes frames.
    pub encoder: Encoder,
}

/// One listener's replay.
pub struct Replay {
    sources: Arc<Sources>,
    outlet: Arc<Outlet>,
    threads: Vec<ThreadId>,
    /// Frames up to here have been given.
    since: Position,
    /// Entries up to here have been looked at wholly.
    after: u64,
    joined: bool,
}

impl Replay {
    /// A replay of everything after `since` that concerns `outlet`, following `threads`.
    pub fn new(
        sources: Arc<Sources>,
        outlet: Arc<Outlet>,
        threads: Vec<ThreadId>,
        since: Position,
    ) -> Self {
        let whole = since >= Position::after(since.entry());
        let after = if whole { since.entry() } else { since.entry().saturating_sub(1) };
        Self { sources, outlet, threads, since, after, joined: false }
    }

    /// The place up to which the replay has looked.
    pub fn looked(&self) -> Position {
        Position::after(self.after).max(self.since)
    }

    /// The next frames with their places, perhaps none; `None` once the listener is live and all
    /// that came before has been given.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the log holds what is missing no more, 503 if it cannot be read.
    pub async fn next(&mut self, now: Millis) -> Result<Option<Vec<(Position, Frame, Bytes)>>> {
        if self.joined {
            return Ok(None);
        }
        let sources = Arc::clone(&self.sources);
        let head = sources.hub.delivered();
        let near = head.saturating_sub(self.after) <= JOIN_ACTS_MAX as u64;
        if near
            && let Some(joined) = sources.hub.join(&self.outlet, &self.threads, Some(self.after))
        {
            self.joined = true;
            let mut frames = Vec::new();
            for told in joined.missed {
                for frame in frames_for(&self.outlet.subscription, told.act(), &self.threads) {
                    let place = frame.position(told.number());
                    if place > self.since {
                        frames.push((place, frame, told.bytes(frame, &sources.encoder)));
                    }
                }
            }
            self.after = joined.looked.max(self.after);
            return Ok(Some(frames));
        }
        self.step(&sources, head, now).await.map(Some)
    }

    async fn step(
        &mut self,
        sources: &Sources,
        head: u64,
        now: Millis,
    ) -> Result<Vec<(Position, Frame, Bytes)>> {
        let chunk = sources.chunks.at(self.after, head).await?;
        let subscription = &self.outlet.subscription;
        let mut frames = Vec::new();
        for (number, act) in chunk.concerning(subscription, &self.threads, self.after) {
            let which = frames_for(subscription, act, &self.threads);
            let which = which.into_iter().filter(|frame| frame.position(number) > self.since);
            let which: Vec<Frame> = which.collect();
            if !which.is_empty() {
                let present = present(sources, number, act)?;
                for frame in which {
                    let bytes = sources.encoder.frame(&present, frame, now, When::Later);
                    frames.push((frame.position(number), frame, bytes));
                }
            }
            self.after = number;
            if frames.len() >= STEP_FRAMES {
                return Ok(frames);
            }
        }
        self.after = chunk.upto.max(self.after);
        Ok(frames)
    }
}

/// An act with its objects as they stand now.
fn present(sources: &Sources, number: u64, act: &Act) -> Result<Committed> {
    let view = sources.journal.view();
    let mut claims = Vec::new();
    for id in act.claims() {
        claims.extend(view.claim(id)?);
    }
    let head = view.head(act.thread)?;
    Ok(Committed { number, entry: Entry::Act(Box::new(act.clone())), head, claims })
}
