//! Encodes frames as JSON text (bindings.md §6).

use std::sync::Arc;

use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::Frame;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer, frame};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::journal::{Committed, Journal};

/// Bytes that a frame usually needs.
const FRAME_BYTES: usize = 1_536;

/// The moment at which a frame is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMoment {
    /// That of the act: its message cannot have been retracted yet.
    Live,
    /// A later one, in a replay: its message may have been retracted.
    Later,
}

/// Encodes frames with the cursors of one journal. Cheap to clone.
#[derive(Clone)]
pub struct Encoder {
    journal: Arc<Journal>,
}

/// The act of a frame, and the objects that the frame shows.
struct FrameSource<'a> {
    number: u64,
    act: &'a Act,
    summary: &'a ThreadSummary,
    claims: &'a [Arc<Claim>],
    now: Millis,
    when: FrameMoment,
}

impl Encoder {
    /// An encoder of the acts of `journal`.
    pub fn new(journal: Arc<Journal>) -> Self {
        Self { journal }
    }

    /// The cursor of a position.
    pub fn cursor(&self, position: Position) -> String {
        self.journal.cursors().text(position)
    }

    /// The frame of a committed act, its thread and claims as the act left them. At `now` claims
    /// may have expired; with [`FrameMoment::Later`] the message may have been retracted.
    pub fn frame(
        &self,
        committed: &Committed,
        which: Frame,
        now: Millis,
        when: FrameMoment,
    ) -> Utf8Bytes {
        let Some((act, summary)) = committed.entry.act().zip(committed.summary.as_deref()) else {
            return Utf8Bytes::default();
        };
        let (number, claims) = (committed.number, &*committed.claims);
        self.put(which, &FrameSource { number, act, summary, claims, now, when })
    }

    /// The frame of an act of the past, its thread and claims as they are now.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub fn replayed(&self, number: u64, act: &Act, which: Frame, now: Millis) -> Result<Utf8Bytes> {
        let view = self.journal.view();
        let summary = view.summary(act.thread)?.ok_or_else(Refusal::internal)?;
        let mut claims = Vec::new();
        if matches!(which, Frame::Claim(_)) {
            for id in act.claims() {
                claims.push(view.claim(id)?.ok_or_else(Refusal::internal)?);
            }
        }
        let (summary, claims, when) = (&*summary, &*claims, FrameMoment::Later);
        Ok(self.put(which, &FrameSource { number, act, summary, claims, now, when }))
    }

    /// Whether nothing has happened in a thread since it was as `then` shows it.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub fn is_present(&self, then: &ThreadSummary) -> Result<bool> {
        let now = self.journal.view().summary(then.id)?;
        Ok(now.is_some_and(|now| now.position == then.position))
    }

    fn put(&self, which: Frame, shown: &FrameSource<'_>) -> Utf8Bytes {
        let mut out = JsonBuffer::with_capacity(FRAME_BYTES);
        let cursor = self.cursor(which.position(shown.number));
        match which {
            Frame::Message => {
                let message = self.message(shown.act, shown.when);
                frame::message(&mut out, &cursor, &message, &self.thread(shown.summary));
            }
            Frame::Event => {
                let mut event = JsonBuffer::new();
                wire::event(&mut event, shown.act);
                frame::event(&mut out, &cursor, &event, &self.thread(shown.summary));
            }
            Frame::Claim(place) => {
                let mut claim = JsonBuffer::new();
                match shown.claims.get(place) {
                    Some(changed) => wire::claim(&mut claim, changed, shown.now),
                    None => wire::raw(&mut claim, "null"),
                }
                frame::claim(&mut out, &cursor, &claim);
            }
            Frame::Awaiting => {
                let message = self.awaited(shown.act, shown.when);
                frame::awaiting(&mut out, &cursor, &self.thread(shown.summary), &message);
            }
            Frame::Settled => frame::settled(&mut out, &cursor, shown.act.thread),
        }
        text(out)
    }

    /// The Thread object of `summary`.
    fn thread(&self, summary: &ThreadSummary) -> JsonBuffer {
        let mut out = JsonBuffer::with_capacity(FRAME_BYTES / 2);
        wire::thread(&mut out, summary, &self.cursor(summary.position));
        out
    }

    fn message(&self, act: &Act, when: FrameMoment) -> JsonBuffer {
        let retraction = match (when, act.message()) {
            (FrameMoment::Later, Some(message)) => {
                self.journal.view().retraction(act.thread, message.id).ok().flatten()
            }
            _ => None,
        };
        let mut out = JsonBuffer::with_capacity(FRAME_BYTES / 2);
        wire::message(&mut out, act, retraction.as_ref());
        out
    }

    /// The message that awaits a reply: that of the act, or an earlier one whose turn is back.
    fn awaited(&self, act: &Act, when: FrameMoment) -> JsonBuffer {
        if act.awaited_entry == 0 {
            return self.message(act, when);
        }
        match self.journal.view().act_at(act.thread, act.awaited_entry) {
            Ok(Some(placed)) => self.message(placed.act(), FrameMoment::Later),
            // The archive cannot be read now; the thread in the frame still names the message.
            _ => b"null".to_vec(),
        }
    }

    /// The frame that `put` writes, with the cursor of `watermark`.
    pub fn control(
        &self,
        watermark: Position,
        put: impl FnOnce(&mut JsonBuffer, &str),
    ) -> Utf8Bytes {
        let mut out = JsonBuffer::new();
        put(&mut out, &self.cursor(watermark));
        text(out)
    }
}

fn text(out: JsonBuffer) -> Utf8Bytes {
    String::from_utf8(out).expect("JSON is UTF-8").into()
}
