//! What each listener was told, compared with what the log says, frame by frame.

use std::collections::VecDeque;

use parley::feed::replay::OutgoingFrame;
use parley::feed::subscriber::CloseReason;
use parley_kit::{ExpectedFeed, ExpectedFrame, ensure, position, same};
use parley_protocol::feed::Scope;
use parley_protocol::ids::TokenId;
use parley_protocol::wire::frame::FrameType;
use serde_json::Value;

use super::auditor::Excuses;
use crate::reference::Seen;

/// One feed, from its beginning to its end.
#[derive(Debug)]
pub struct Session {
    pub feed: ExpectedFeed,
    pub token: TokenId,
    /// Whether it began from a cursor.
    resumed: bool,
    /// Where it began.
    begun: u64,
    /// The acts that were looked at.
    looked: usize,
    pending: VecDeque<ExpectedFrame>,
    last: u64,
    caught_up: bool,
    /// Cursors that it was given.
    pub cursors: Vec<Box<str>>,
    pub alive: bool,
    /// Panics of inbox actors before it.
    panics: u64,
}

impl Session {
    /// A feed that begins after the position of `hello`.
    pub fn new(
        feed: ExpectedFeed,
        token: TokenId,
        hello: &OutgoingFrame,
        resumed: bool,
        panics: u64,
    ) -> Self {
        let body: Value = serde_json::from_str(&hello.text).unwrap();
        let cursor = body["cursor"].as_str().unwrap_or_default();
        Self {
            feed,
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
            let Seen { number, act, before } = &seen[self.looked];
            let frames = self.feed.frames(*number, act, before.as_ref()).into_iter();
            self.pending.extend(frames.filter(|frame| frame.position > self.begun));
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
        let fits = position(cursor) == sent.cursor.0 && body["type"] == sent.kind.as_str();
        ensure(fits, || format!("{:?} carries {body}", sent.kind))?;
        self.look(seen);
        let next = self.pending.front();
        if sent.kind == FrameType::CaughtUp {
            let lacks = next.is_some_and(|next| next.position <= sent.cursor.0);
            let late = lacks || self.caught_up || !self.resumed || sent.cursor.0 < self.last;
            ensure(!late, || format!("{:?}: caught up at {cursor}, lacks {next:?}", self.feed))?;
            self.caught_up = true;
        } else {
            let got = ExpectedFrame::read(sent.kind, sent.cursor.0, &body);
            same(&self.feed, &Some(&got), &next)?;
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
        format!("{:?} is at {}, lacks {next:?}, caught up: {caught_up}", self.feed, self.last)
    }

    /// It has ended.
    ///
    /// # Errors
    /// If there was no reason for it.
    pub fn end(&mut self, why: CloseReason, excuses: &Excuses) -> Result<(), String> {
        self.alive = false;
        let good = match why {
            CloseReason::Revoked => excuses.revoked,
            CloseReason::ShuttingDown => excuses.stopping,
            CloseReason::Failed => self.feed.scope == Scope::Inbox && excuses.panics > self.panics,
            CloseReason::SlowConsumer => false,
        };
        ensure(good, || format!("{:?} was closed: {why:?}", self.feed))
    }
}
