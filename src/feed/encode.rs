//! Frames as JSON text (bindings.md §6).

use std::sync::Arc;

use parley_protocol::claim::Claim;
use parley_protocol::entry::{Act, Position};
use parley_protocol::feed::Frame;
use parley_protocol::identity::Participant;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::thread_summary::ThreadSummary;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer, frame};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::publication::Publication;
use crate::journal::{Committed, Journal};

/// Bytes that a frame usually needs.
const FRAME_BYTES: usize = 1_536;

/// When a frame is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMoment {
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

/// What a frame is made of.
struct FrameSource<'a> {
    number: u64,
    act: &'a Act,
    summary: &'a ThreadSummary,
    claims: &'a [Arc<Claim>],
    now: Millis,
    when: FrameMoment,
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
    pub fn frame(
        &self,
        committed: &Committed,
        which: Frame,
        now: Millis,
        when: FrameMoment,
    ) -> Utf8Bytes {
        let Some((act, head)) = committed.entry.act().zip(committed.summary.as_deref()) else {
            return Utf8Bytes::default();
        };
        let (number, claims) = (committed.number, &*committed.claims);
        self.put(which, &FrameSource { number, act, summary: head, claims, now, when })
    }

    /// The frame of an act of the past, its objects as they stand now.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub fn replayed(&self, number: u64, act: &Act, which: Frame, now: Millis) -> Result<Utf8Bytes> {
        let view = self.journal.view();
        let head = view.summary(act.thread)?.ok_or_else(Refusal::internal)?;
        let mut claims = Vec::new();
        if matches!(which, Frame::Claim(_)) {
            for id in act.claims() {
                claims.push(view.claim(id)?.ok_or_else(Refusal::internal)?);
            }
        }
        let (head, claims) = (&*head, &*claims);
        Ok(self.put(
            which,
            &FrameSource { number, act, summary: head, claims, now, when: FrameMoment::Later },
        ))
    }

    /// The same of an act that was told lately, whose frame may be there already: where nothing
    /// has happened in its thread since, it is what a live feed got.
    ///
    /// # Errors
    /// As [`Encoder::replayed`].
    pub fn retold(&self, told: &Publication, which: Frame, now: Millis) -> Result<Utf8Bytes> {
        let timeless = !matches!(which, Frame::Claim(_));
        if timeless {
            let then = told.committed().summary.as_ref().map(|head| head.position);
            let head = self.journal.view().summary(told.act().thread)?;
            if head.is_some_and(|head| Some(head.position) == then) {
                return Ok(told.text(which, self));
            }
        }
        self.replayed(told.number(), told.act(), which, now)
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

    /// The Thread as it stands in `head`.
    pub fn thread(&self, head: &ThreadSummary) -> JsonBuffer {
        let mut out = JsonBuffer::with_capacity(FRAME_BYTES / 2);
        wire::thread(&mut out, head, &self.cursor(head.position));
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

    /// The message that waits: the act's own, or an earlier one that waits again.
    fn awaited(&self, act: &Act, when: FrameMoment) -> JsonBuffer {
        if act.awaited_entry == 0 {
            return self.message(act, when);
        }
        match self.journal.view().act_at(act.thread, act.awaited_entry) {
            Ok(Some(placed)) => self.message(placed.act(), FrameMoment::Later),
            // The archive cannot be read just now: the thread in the frame still says what waits.
            _ => b"null".to_vec(),
        }
    }

    /// `hello`.
    pub fn hello(
        &self,
        looked: Position,
        participant: &Participant,
        scope: &str,
        heartbeat_seconds: u64,
        resumed: bool,
    ) -> Utf8Bytes {
        let mut out = JsonBuffer::new();
        let cursor = self.cursor(looked);
        frame::hello(&mut out, &cursor, participant, scope, heartbeat_seconds, resumed);
        text(out)
    }

    /// `caught_up`.
    pub fn caught_up(&self, looked: Position) -> Utf8Bytes {
        let mut out = JsonBuffer::new();
        frame::caught_up(&mut out, &self.cursor(looked));
        text(out)
    }

    /// `subscribed`.
    pub fn subscribed(&self, looked: Position, threads: &[ThreadId]) -> Utf8Bytes {
        let mut out = JsonBuffer::new();
        frame::subscribed(&mut out, &self.cursor(looked), threads.iter().copied());
        text(out)
    }

    /// `notice`.
    pub fn notice(&self, looked: Position, refusal: &Refusal) -> Utf8Bytes {
        let mut out = JsonBuffer::new();
        frame::notice(&mut out, &self.cursor(looked), refusal.reason, &refusal.detail);
        text(out)
    }
}

fn text(out: JsonBuffer) -> Utf8Bytes {
    String::from_utf8(out).expect("JSON is UTF-8").into()
}
