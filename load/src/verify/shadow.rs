//! The shadow of a thread: its expected turn and state after each act, apart from the server.
//!
//! A second model of `parley.md` §3.4, §4 and §5, for threads in which each act is sent after
//! the answer to the act before.

use super::transitions::State;
use crate::objects::{self, Due as WireDue, Thread};
use crate::participants::Participants;

/// A speech act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Opens a thread, or asks a further question.
    Ask,
    /// Answers.
    Answer,
    /// Asks for a clarification.
    Clarify,
    /// Makes a proposal.
    Propose,
    /// Challenges.
    Object,
    /// Accepts.
    Agree,
    /// Adds information.
    Inform,
    /// States the outcome.
    Decide,
    /// Takes a message back.
    Retract,
}

impl Act {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Clarify => "clarify",
            Self::Propose => "propose",
            Self::Object => "object",
            Self::Agree => "agree",
            Self::Inform => "inform",
            Self::Decide => "decide",
            Self::Retract => "retract",
        }
    }

    fn expects_reply(self) -> bool {
        match self {
            Self::Ask | Self::Clarify | Self::Propose | Self::Object => true,
            Self::Answer | Self::Agree | Self::Inform | Self::Decide | Self::Retract => false,
        }
    }
}

/// The expected value of `due`; participants are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedDue {
    /// Anyone but the asker.
    Anyone,
    /// One participant.
    One(usize),
}

/// The expected value of `awaiting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedAwaiting {
    /// The number of the awaited message.
    pub message: u64,
    /// The author of the awaited message.
    pub asker: usize,
    /// The participant that is due.
    pub due: ExpectedDue,
}

/// An expected event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// The state before.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
    /// Whether the state is confirmed, not proposed.
    pub confirmed: bool,
}

#[derive(Debug, Clone)]
struct ShadowMessage {
    id: u64,
    act: Act,
    author: usize,
    parent: Option<usize>,
    retracted: bool,
}

/// The expected thread.
#[derive(Debug, Clone)]
pub struct Shadow {
    creator: usize,
    messages: Vec<ShadowMessage>,
    state: State,
    confirmed: bool,
    awaiting: Option<ExpectedAwaiting>,
    changes: Vec<StateChange>,
}

impl Shadow {
    /// A thread that `creator` opened with the message `id`.
    pub fn open(creator: usize, id: u64) -> Self {
        let opening =
            ShadowMessage { id, act: Act::Ask, author: creator, parent: None, retracted: false };
        Self {
            creator,
            messages: vec![opening],
            state: State::Open,
            confirmed: false,
            awaiting: Some(ExpectedAwaiting {
                message: id,
                asker: creator,
                due: ExpectedDue::Anyone,
            }),
            changes: vec![StateChange { from: None, to: State::Open, confirmed: false }],
        }
    }

    /// The expected `awaiting`.
    pub fn awaiting(&self) -> Option<ExpectedAwaiting> {
        self.awaiting
    }

    /// All expected changes of state so far.
    pub fn changes(&self) -> &[StateChange] {
        &self.changes
    }

    /// The number of the message at this index, the opening message being 0.
    pub fn id(&self, place: usize) -> Option<u64> {
        self.messages.get(place).map(|said| said.id)
    }

    /// Applies an act. `parent` is an index; `lock` tells whether the author holds `lock`.
    pub fn speak(&mut self, act: Act, author: usize, parent: Option<usize>, id: u64, lock: bool) {
        let before = self.awaiting.map(|awaiting| awaiting.message);
        let about = parent.map(|place| self.messages[place].clone());
        if act == Act::Retract
            && let Some(place) = parent
        {
            self.messages[place].retracted = true;
        }
        self.messages.push(ShadowMessage { id, act, author, parent, retracted: false });
        let awaited = about.as_ref().filter(|about| before == Some(about.id));
        match act {
            Act::Ask | Act::Clarify | Act::Propose | Act::Object => {
                if self.state.step().is_some() {
                    let due = about
                        .as_ref()
                        .map_or(ExpectedDue::Anyone, |about| ExpectedDue::One(about.author));
                    self.awaiting = Some(ExpectedAwaiting { message: id, asker: author, due });
                }
            }
            Act::Answer | Act::Retract => {
                if let Some(awaited) = awaited {
                    let back = awaited.act == Act::Clarify;
                    self.awaiting = if back { self.clarified(awaited) } else { None };
                } else if act == Act::Answer && self.is_clarify_about(parent) {
                    self.awaiting = None;
                }
            }
            Act::Agree => self.awaiting = self.awaiting.filter(|_| awaited.is_none()),
            Act::Decide => self.awaiting = None,
            Act::Inform => {}
        }
        let to_ask = about.is_some_and(|about| about.act == Act::Ask);
        match act {
            Act::Answer if to_ask => self.advance(State::Answered, lock),
            Act::Decide => self.advance(State::Decided, lock),
            Act::Answer
            | Act::Ask
            | Act::Clarify
            | Act::Propose
            | Act::Object
            | Act::Agree
            | Act::Inform
            | Act::Retract => {}
        }
    }

    /// The message that a clarify was about, if that message may be awaited again.
    fn clarified(&self, clarify: &ShadowMessage) -> Option<ExpectedAwaiting> {
        let place = clarify.parent?;
        let about = &self.messages[place];
        let answered = self
            .messages
            .iter()
            .any(|it| it.act == Act::Answer && it.parent == Some(place) && !it.retracted);
        if !about.act.expects_reply() || about.retracted || answered {
            return None;
        }
        let due = ExpectedDue::One(clarify.author);
        Some(ExpectedAwaiting { message: about.id, asker: about.author, due })
    }

    /// Whether the awaited message is a clarify about the message at `place`.
    fn is_clarify_about(&self, place: Option<usize>) -> bool {
        let awaited = self.awaiting.map(|awaiting| awaiting.message);
        let Some(said) = self.messages.iter().find(|said| Some(said.id) == awaited) else {
            return false;
        };
        said.act == Act::Clarify && said.parent == place
    }

    /// Applies the mark of an act, which never goes back to an earlier state.
    fn advance(&mut self, to: State, lock: bool) {
        if self.state.step().is_some_and(|step| Some(step) <= to.step()) {
            self.set(to, lock);
        }
    }

    /// Applies a permitted mark, confirmation or reopening.
    pub fn set(&mut self, to: State, confirmed: bool) {
        let from = self.state;
        if from == to && (self.confirmed || !confirmed) {
            return;
        }
        self.state = to;
        self.confirmed = confirmed;
        self.changes.push(StateChange { from: Some(from), to, confirmed });
        if !matches!(to, State::Open | State::Answered) {
            self.awaiting = None;
        }
    }

    /// The expected turn.
    pub fn turn(&self) -> Option<ExpectedDue> {
        match self.state {
            State::Open | State::Answered | State::Decided => {
                Some(self.awaiting.map_or(ExpectedDue::One(self.creator), |awaiting| awaiting.due))
            }
            State::Closed => self.awaiting.map(|awaiting| awaiting.due),
            State::Deferred | State::Obsolete | State::Rejected => None,
        }
    }

    /// Compares a thread as the server shows it with the shadow.
    pub fn compare(&self, thread: &Thread<'_>, participants: &Participants) -> Result<(), String> {
        let name = &thread.id;
        let differs = |what: &str, expected: String, shown: String| {
            Err(format!("{name}: {what} is {shown}, must be {expected}"))
        };
        if thread.state != self.state.as_str() {
            return differs("the state", self.state.as_str().into(), thread.state.clone().into());
        }
        if thread.state_confirmed_at.is_some() != self.confirmed {
            let shown = format!("{:?}", thread.state_confirmed_at);
            return differs("confirmed", self.confirmed.to_string(), shown);
        }
        let due_fits = |expected: ExpectedDue, shown: &WireDue<'_>| match (expected, shown) {
            (ExpectedDue::Anyone, WireDue::Anyone(word)) => word == "anyone",
            (ExpectedDue::One(speaker), WireDue::One(shown)) => participants.is(speaker, shown),
            (ExpectedDue::Anyone, WireDue::One(_)) | (ExpectedDue::One(_), WireDue::Anyone(_)) => {
                false
            }
        };
        let fits = match (self.awaiting, &thread.awaiting) {
            (None, None) => true,
            (Some(expected), Some(shown)) => {
                objects::number(&shown.message, "msg_") == Some(expected.message)
                    && due_fits(expected.due, &shown.due)
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if !fits {
            let shown = format!("{:?}", thread.awaiting);
            return differs("awaiting", format!("{:?}", self.awaiting), shown);
        }
        let fits = match (self.turn(), &thread.turn) {
            (None, None) => true,
            (Some(expected), Some(shown)) => due_fits(expected, shown),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if !fits {
            let shown = format!("{:?}", thread.turn);
            return differs("the turn", format!("{:?}", self.turn()), shown);
        }
        if thread.message_count != self.messages.len() as u64 {
            let shown = thread.message_count.to_string();
            return differs("message_count", self.messages.len().to_string(), shown);
        }
        if !participants.is(self.creator, &thread.creator) {
            return differs(
                "the creator",
                self.creator.to_string(),
                format!("{:?}", thread.creator),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the turn goes back after a clarify. Method: ask, clarify, answer, answer.
    #[test]
    fn clarify_goes_back() {
        let mut shadow = Shadow::open(0, 10);
        shadow.speak(Act::Clarify, 1, Some(0), 11, false);
        assert_eq!(shadow.turn(), Some(ExpectedDue::One(0)));
        shadow.speak(Act::Answer, 0, Some(1), 12, false);
        assert_eq!(shadow.awaiting().unwrap().message, 10);
        assert_eq!(shadow.turn(), Some(ExpectedDue::One(1)));
        shadow.speak(Act::Answer, 1, Some(0), 13, false);
        assert_eq!(shadow.awaiting(), None);
        assert_eq!(shadow.turn(), Some(ExpectedDue::One(0)));
        assert_eq!(shadow.state, State::Answered);
    }

    /// Goal: a second open turn, a wrong due and a wrong state are found. Method: plant them.
    #[test]
    fn planted() {
        let participants = Participants::of_names(&[("local:a", None), ("local:b", Some("x"))]);
        let mut shadow = Shadow::open(0, 10);
        shadow.speak(Act::Clarify, 1, Some(0), 11, false);
        let json = |state: &str, message: u64, due: &str, turn: &str| {
            format!(
                r#"{{"id":"th_1","creator":{{"identity":"local:a","extension":null}},
                "state":"{state}","state_confirmed_at":null,"message_count":2,"cursor":"1.1.x",
                "awaiting":{{"message":"msg_{message}","due":{due}}},"turn":{turn}}}"#
            )
        };
        let a = r#"{"identity":"local:a","extension":null}"#;
        let b = r#"{"identity":"local:b","extension":"x"}"#;
        let compare =
            |text: String| shadow.compare(&serde_json::from_str(&text).unwrap(), &participants);
        compare(json("open", 11, a, a)).unwrap();
        assert!(compare(json("answered", 11, a, a)).is_err());
        assert!(compare(json("open", 10, a, a)).is_err());
        assert!(compare(json("open", 11, b, a)).is_err());
        assert!(compare(json("open", 11, a, b)).is_err(), "two open turns");
        assert!(compare(json("open", 11, a, "null")).is_err());
        assert!(compare(json("open", 11, "\"anyone\"", a)).is_err());
    }

    /// Goal: a side state empties the turn. Method: defer, then reopen with `lock`.
    #[test]
    fn closing_empties() {
        let mut shadow = Shadow::open(0, 10);
        shadow.speak(Act::Propose, 1, None, 11, false);
        shadow.set(State::Deferred, false);
        assert_eq!((shadow.awaiting(), shadow.turn()), (None, None));
        shadow.set(State::Open, true);
        assert_eq!(shadow.turn(), Some(ExpectedDue::One(0)));
        assert_eq!(shadow.changes().len(), 3);
    }
}
