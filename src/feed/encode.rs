//! Frames as JSON text (bindings.md §6).

use bytes::Bytes;
use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::Frame;
use parley_protocol::head::Head;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, Out, frame};

use crate::journal::{Committed, Journal};

/// Bytes that a frame usually needs.
const FRAME_BYTES: usize = 1_536;

/// Makes frames of committed acts.
#[derive(Clone)]
pub struct Encoder {
    journal: Journal,
}

impl Encoder {
    /// An encoder with the journal's cursors.
    pub fn new(journal: Journal) -> Self {
        Self { journal }
    }

    /// The text of a position.
    pub fn cursor(&self, position: Position) -> String {
        self.journal.cursors().text(position)
    }

    /// The frame of a committed act; claims show at `now` whether they have expired.
    pub fn frame(&self, committed: &Committed, which: Frame, now: Millis) -> Bytes {
        let mut out = Out::with_capacity(FRAME_BYTES);
        let cursor = self.cursor(which.position(committed.number));
        let Some((act, head)) = committed.entry.act().zip(committed.head.as_deref()) else {
            return Bytes::new();
        };
        match which {
            Frame::Message => {
                frame::message(&mut out, &cursor, &self.message(act), &self.thread(head));
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
                let message = self.awaited(act, head, committed.number);
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

    /// The Message of an act, as it stands now.
    pub fn message(&self, act: &Act) -> Out {
        let mut out = Out::with_capacity(FRAME_BYTES / 2);
        wire::message(&mut out, act, None);
        out
    }

    /// The message that waits: the act's own, or an earlier one that waits again.
    fn awaited(&self, act: &Act, head: &Head, number: u64) -> Out {
        if head.awaited_entry == number {
            return self.message(act);
        }
        let earlier = self.journal.view().act_at(head.id, head.awaited_entry);
        match earlier {
            Ok(Some(placed)) => self.message(placed.act()),
            // The archive cannot be read just now: the frame names the message all the same.
            _ => b"null".to_vec(),
        }
    }
}
