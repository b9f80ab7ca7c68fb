//! What each listener was told, compared with what the log says, frame by frame.

use std::collections::VecDeque;

use parley::feed::replay::OutgoingFrame;
use parley::feed::subscriber::CloseReason;
use parley_protocol::feed::Scope;
use parley_protocol::ids::TokenId;
use parley_protocol::wire::frame::FrameType;
use serde_json::Value;

use super::ear::{Ear, Expected};
use super::shadow::Seen;

/// One feed, from its beginning to its end.
#[derive(Debug)]
pub struct Session {
    pub ear: Ear,
    pub token: TokenId,
    /// Whether it began from a cursor.
    resumed: bool,
    /// Where it began.
    begun: u64,
    /// The acts that were looked at.
    looked: usize,
    pending: VecDeque<Expected>,
    last: u64,
    caught_up: bool,
    /// Cursors that it was given.
    pub cursors: Vec<Box<str>>,
    pub alive: bool,
    /// Panics of inbox actors before it.
    panics: u64,
}

/// The position that a cursor's text begins with.
pub fn position(cursor: &str) -> u64 {
    cursor.split('.').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

impl Session {
    /// A feed that begins after the position of `hello`.
    pub fn new(
        ear: Ear,
        token: TokenId,
        hello: &OutgoingFrame,
        resumed: bool,
        panics: u64,
    ) -> Self {
        let body: Value = serde_json::from_str(&hello.text).unwrap();
        let cursor = body["cursor"].as_str().unwrap_or_default();
        Self {
            ear,
            token,
            resumed,
            begun: hello.cursor.0,
            looked: 0,
            pending: VecDeque::new(),
            last: hello.cursor.0,
            caught_up: false,
            cursors: vec![cursor.into()],
            alive: true,
            panics,
        }
    }

    /// Looks at the acts up to the one that brings something to tell.
    fn look(&mut self, seen: &[Seen]) {
        while self.pending.is_empty() && self.looked < seen.len() {
            self.ear.told(&seen[self.looked], &mut self.pending);
            let begun = self.begun;
            self.pending.retain(|expected| expected.position > begun);
            self.looked += 1;
        }
    }

    /// Takes a frame.
    ///
    /// # Errors
    /// If it is not the one that is to come.
    pub fn hear(&mut self, sent: &OutgoingFrame, seen: &[Seen]) -> Result<(), String> {
        let body: Value = serde_json::from_str(&sent.text).unwrap();
        let cursor = body["cursor"].as_str().unwrap_or_default();
        if position(cursor) != sent.cursor.0 || body["type"] != sent.kind.as_str() {
            return Err(format!("{:?} carries {body}", sent.kind));
        }
        self.look(seen);
        let next = self.pending.front();
        if sent.kind == FrameType::CaughtUp {
            let lacks = next.is_some_and(|next| next.position <= sent.cursor.0);
            if lacks || self.caught_up || !self.resumed || sent.cursor.0 < self.last {
                return Err(format!("{:?}: caught up at {cursor}, lacks {next:?}", self.ear));
            }
            self.caught_up = true;
        } else {
            let about = |name: &str| body[name]["id"].as_str().map(str::to_owned);
            let number = |text: Option<String>| -> u64 {
                let number = text.and_then(|it| it.split_once('_')?.1.parse().ok());
                number.unwrap_or_default()
            };
            let (thread, about) = match sent.kind {
                FrameType::Message | FrameType::Awaiting => {
                    (about("thread"), number(about("message")))
                }
                FrameType::Event => (about("thread"), number(about("event"))),
                FrameType::Claim => {
                    (body["claim"]["thread"].as_str().map(str::to_owned), number(about("claim")))
                }
                _ => (body["thread"].as_str().map(str::to_owned), 0),
            };
            let got = Expected {
                position: sent.cursor.0,
                kind: sent.kind,
                thread: parley_protocol::ids::ThreadId(number(thread)),
                about,
            };
            if next != Some(&got) {
                return Err(format!("{:?}: told {got:?} instead of {next:?}", self.ear));
            }
            self.pending.pop_front();
        }
        self.last = sent.cursor.0;
        self.cursors.push(cursor.into());
        Ok(())
    }

    /// Whether it has all that is to be told so far.
    pub fn is_complete(&mut self, seen: &[Seen]) -> bool {
        self.look(seen);
        self.pending.is_empty() && (self.caught_up || !self.resumed)
    }

    /// What it still lacks.
    pub fn lacks(&self) -> String {
        let (next, caught_up) = (self.pending.front(), self.caught_up);
        format!("{:?} is at {}, lacks {next:?}, caught up: {caught_up}", self.ear, self.last)
    }

    /// It has ended.
    ///
    /// # Errors
    /// If there was no reason for it.
    pub fn end(&mut self, why: CloseReason, excuse: &Excuse) -> Result<(), String> {
        self.alive = false;
        let good = match why {
            CloseReason::Revoked => excuse.revoked,
            CloseReason::ShuttingDown => excuse.stopping,
            CloseReason::Failed => self.ear.scope == Scope::Inbox && excuse.panics > self.panics,
            CloseReason::SlowConsumer => false,
        };
        if good { Ok(()) } else { Err(format!("{:?} was closed: {why:?}", self.ear)) }
    }
}

/// What may have ended a feed.
#[derive(Clone, Copy, Debug)]
pub struct Excuse {
    /// Its token is revoked.
    pub revoked: bool,
    /// The server is being stopped.
    pub stopping: bool,
    /// Panics of inbox actors so far.
    pub panics: u64,
}
