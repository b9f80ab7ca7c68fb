//! Frames as JSON text (bindings.md §6).

use std::sync::Arc;

use bytes::Bytes;
use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::Frame;
use parley_protocol::head::Head;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, Out, frame};

use crate::journal::{Committed, Journal};

/// Bytes that a frame usually needs.
const FRAME_BYTES: usize = 1_536;

/// When a frame is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At the moment of the act: nothing can have happened to its message since.
    Live,
    /// In a replay: the message may have been retracted since.
    Later,
}

/// Makes frames of committed acts.
#[derive(Clone)]
pub struct Encoder {
    journal: Arc<Journal>,
}

impl Encoder {
    /// An encoder with the journal's cursors.
    pub fn new(journal: Arc<Journal>) -> Self {
        Self { journal }
    }

    /// The text of a position.
    pub fn cursor(&self, position: Position) -> String {
        self.journal.cursors().text(position)
    }

    /// The frame of a committed act; claims show at `now` whether they have expired. A message
    /// shows with `when` whether it was retracted since.
    pub fn frame(&self, committed: &Committed, which: Frame, now: Millis, when: When) -> Bytes {
        let mut out = Out::with_capacity(FRAME_BYTES);
        let cursor = self.cursor(which.position(committed.number));
        let Some((act, head)) = committed.entry.act().zip(committed.head.as_deref()) else {
            return Bytes::new();
        };
        match which {
            Frame::Message => {
                frame::message(&mut out, &cursor, &self.message(act, when), &self.thread(head));
            }
            Frame::Event => {
                let mut event = Out::new();
                wire::event(&mut event, act);
                frame::event(&mut out, &cursor, &event, &self.thread(head));
            }
            Frame::Claim(place) => {
                let mut claim = Out::new();
                match committed.claims.get(place) {
                    Some(changed) => wire::claim(&mut claim, changed, now),
                    None => wire::raw(&mut claim, "null"),
                }
                frame::claim(&mut out, &cursor, &claim);
            }
            Frame::Awaiting => {
                let message = self.awaited(act, when);
                frame::awaiting(&mut out, &cursor, &self.thread(head), &message);
            }
            Frame::Settled => frame::settled(&mut out, &cursor, act.thread),
        }
        out.into()
    }

    /// The Thread as it stands in `head`.
    pub fn thread(&self, head: &Head) -> Out {
        let mut out = Out::with_capacity(FRAME_BYTES / 2);
        wire::thread(&mut out, head, &self.cursor(head.position));
        out
    }

    fn message(&self, act: &Act, when: When) -> Out {
        let retraction = match (when, act.message()) {
            (When::Later, Some(message)) => {
                self.journal.view().retraction(act.thread, message.id).ok().flatten()
            }
            _ => None,
        };
        let mut out = Out::with_capacity(FRAME_BYTES / 2);
        wire::message(&mut out, act, retraction.as_ref());
        out
    }

    /// The message that waits: the act's own, or an earlier one that waits again.
    fn awaited(&self, act: &Act, when: When) -> Out {
        if act.awaited_entry == 0 {
            return self.message(act, when);
        }
        match self.journal.view().act_at(act.thread, act.awaited_entry) {
            Ok(Some(placed)) => self.message(placed.act(), When::Later),
            // The archive cannot be read just now: the thread in the frame still says what waits.
            _ => b"null".to_vec(),
        }
    }
}
