//! The page once more, as naively as can be: a list of everything said, moved and claimed, from
//! which every question is answered anew. Slow, plain, and without anything of the core but the
//! names of things. Written from parley.md; where core and model differ, one misread the page.

use parley_protocol::act::Kind;
use parley_protocol::claim::ClaimStatus;
use parley_protocol::identity::{Participant, Principal};
use parley_protocol::ids::{ClaimId, EventId, MessageId};
use parley_protocol::state::State;
use parley_protocol::time::Millis;

/// A message.
pub struct Said {
    pub id: MessageId,
    pub at: Millis,
    /// The entry that holds it.
    pub entry: u64,
    pub by: Participant,
    pub human: bool,
    pub kind: Kind,
    pub parent: Option<MessageId>,
}

/// An event.
pub struct Moved {
    pub id: EventId,
    pub at: Millis,
    pub by: Participant,
    pub from: Option<State>,
    pub to: State,
    pub user: bool,
    pub confirmed: bool,
    pub label: Option<String>,
    pub message: Option<MessageId>,
}

/// A claim as it was made.
pub struct Held {
    pub id: ClaimId,
    pub at: Millis,
    pub by: Participant,
    pub until: Option<Millis>,
    pub older: Vec<ClaimId>,
}

/// What a proof is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    Support,
    Seal,
    Refutation,
}

/// A proof given.
pub struct Proved {
    pub claim: ClaimId,
    pub at: Millis,
    pub by: Participant,
    pub what: For,
}

/// An event of any sort.
pub enum Fact {
    Said(Said),
    Moved(Moved),
    Held(Held),
    Proved(Proved),
}

/// What is awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    pub message: MessageId,
    /// `None` is anyone.
    pub due: Option<Participant>,
    /// When it was set last, and by the act of which entry.
    pub since: Millis,
    pub entry: u64,
}

/// Who is expected to move next.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    Nobody,
    Anyone,
    One(Participant),
}

/// A thread: what happened in it, in order. A message that moved the state stands just before
/// its event.
#[derive(Default)]
pub struct Model {
    pub facts: Vec<Fact>,
    /// The time of the last act.
    pub updated_at: Millis,
}

pub fn side(state: State) -> bool {
    matches!(state, State::Deferred | State::Obsolete | State::Rejected)
}

/// §4: what an event that leads here does to awaiting.
fn empties(state: State) -> bool {
    side(state) || matches!(state, State::Decided | State::Closed)
}

/// §5: the place on the line.
pub fn place(state: State) -> i32 {
    match state {
        State::Open => 0,
        State::Answered => 1,
        State::Decided => 2,
        State::Closed => 3,
        _ => panic!("a side state has no place"),
    }
}

/// §3, the column "awaiting afterwards": this message.
pub fn expects(kind: Kind) -> bool {
    match kind {
        Kind::Ask | Kind::Clarify | Kind::Propose | Kind::Object => true,
        Kind::Answer | Kind::Agree | Kind::Inform | Kind::Decide | Kind::Retract => false,
    }
}

/// §5.1: whose marks are confirmed ones.
pub fn confirms(principal: &Principal) -> bool {
    let lock = principal.rights.iter().any(|right| right.as_str() == "lock");
    principal.author_kind.as_str() == "human" || lock
}

impl Model {
    pub fn said(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Said(said) => Some(said),
            _ => None,
        })
    }

    pub fn moved(&self) -> impl DoubleEndedIterator<Item = &Moved> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Moved(moved) => Some(moved),
            _ => None,
        })
    }

    pub fn held(&self) -> impl DoubleEndedIterator<Item = &Held> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Held(held) => Some(held),
            _ => None,
        })
    }

    pub fn proved(&self, claim: ClaimId) -> impl DoubleEndedIterator<Item = &Proved> {
        self.facts.iter().filter_map(move |fact| match fact {
            Fact::Proved(proved) if proved.claim == claim => Some(proved),
            _ => None,
        })
    }

    pub fn message(&self, id: MessageId) -> Option<&Said> {
        self.said().find(|said| said.id == id)
    }

    pub fn creator(&self) -> &Participant {
        &self.said().next().expect("a thread is opened").by
    }

    pub fn last_move(&self) -> &Moved {
        self.moved().next_back().expect("the opening is the first")
    }

    pub fn state(&self) -> State {
        self.last_move().to
    }

    pub fn locked(&self) -> bool {
        self.state() == State::Closed && self.last_move().confirmed
    }

    /// §6: the creator's identity, a lock holder, a human.
    pub fn has_authority(&self, principal: &Principal) -> bool {
        confirms(principal) || principal.identity == self.creator().identity
    }

    /// Whether one of the first `upto` facts retracts the message.
    fn retracted_by(&self, id: MessageId, upto: usize) -> bool {
        self.facts[..upto].iter().any(|fact| {
            matches!(fact, Fact::Said(one) if one.kind == Kind::Retract && one.parent == Some(id))
        })
    }

    pub fn retracted(&self, id: MessageId) -> bool {
        self.retracted_by(id, self.facts.len())
    }

    /// What the first `upto` facts leave awaited (§3, §3.4, §4).
    fn awaiting_after(&self, upto: usize) -> Option<Waits> {
        let mut waits: Option<Waits> = None;
        let mut state = State::Open;
        for (index, fact) in self.facts[..upto].iter().enumerate() {
            match fact {
                Fact::Said(said) => {
                    let parent = said.parent.and_then(|id| self.message(id));
                    let on_awaited =
                        waits.as_ref().is_some_and(|waits| Some(waits.message) == said.parent);
                    let awaited = waits.as_ref().and_then(|waits| self.message(waits.message));
                    let about = awaited.filter(|one| one.kind == Kind::Clarify);
                    let about = about.and_then(|clarify| clarify.parent);
                    match said.kind {
                        kind if expects(kind) && side(state) => {}
                        kind if expects(kind) => {
                            let due = parent.map(|parent| parent.by.clone());
                            waits = Some(set(said, said.id, due));
                        }
                        Kind::Answer | Kind::Retract if on_awaited => {
                            waits = self.back(said, awaited.expect("it is awaited"), index);
                        }
                        Kind::Answer if about.is_some() && said.parent == about => waits = None,
                        Kind::Agree if on_awaited => waits = None,
                        Kind::Decide => waits = None,
                        Kind::Ask
                        | Kind::Answer
                        | Kind::Clarify
                        | Kind::Propose
                        | Kind::Object
                        | Kind::Agree
                        | Kind::Inform
                        | Kind::Retract => {}
                    }
                }
                Fact::Moved(moved) => {
                    state = moved.to;
                    if empties(state) {
                        waits = None;
                    }
                }
                _ => {}
            }
        }
        waits
    }

    /// §3.4: `awaited` is answered or retracted by `said`, the fact at `index`.
    fn back(&self, said: &Said, awaited: &Said, index: usize) -> Option<Waits> {
        if awaited.kind != Kind::Clarify {
            return None;
        }
        let about = self.message(awaited.parent?)?;
        let answered = self.facts[..index].iter().any(|fact| {
            matches!(fact, Fact::Said(one) if one.kind == Kind::Answer
                && one.parent == Some(about.id) && !self.retracted_by(one.id, index))
        });
        let over = !expects(about.kind) || self.retracted_by(about.id, index) || answered;
        (!over).then(|| set(said, about.id, Some(awaited.by.clone())))
    }

    pub fn awaiting(&self) -> Option<Waits> {
        self.awaiting_after(self.facts.len())
    }

    /// §4.
    pub fn turn(&self) -> Turn {
        if let Some(waits) = self.awaiting() {
            return waits.due.map_or(Turn::Anyone, Turn::One);
        }
        let line = matches!(self.state(), State::Open | State::Answered | State::Decided);
        if line { Turn::One(self.creator().clone()) } else { Turn::Nobody }
    }

    /// How many messages `by` has added last, none of another between them.
    pub fn row(&self, by: &Participant) -> u64 {
        self.said().rev().take_while(|said| said.by == *by).count() as u64
    }

    /// §3.2: the two models among themselves, and how many messages count; 0 if `by` is none of
    /// them or they are not two.
    pub fn exchange(&self, by: &Participant) -> u64 {
        // The opening's event counts as no change: the opening counts.
        let change = |fact: &Fact| matches!(fact, Fact::Moved(moved) if moved.from.is_some());
        let from = self.facts.iter().rposition(change).map_or(0, |index| index + 1);
        let mut two: Vec<&Participant> = Vec::new();
        let mut count = 0;
        for fact in self.facts[from..].iter().rev() {
            let Fact::Said(said) = fact else { continue };
            if !two.contains(&&said.by) {
                if said.human || two.len() == 2 {
                    break;
                }
                two.push(&said.by);
            }
            count += 1;
        }
        if two.len() == 2 && two.contains(&by) { count } else { 0 }
    }

    /// The opening has depth 1.
    pub fn depth(&self, id: MessageId) -> u64 {
        let parent = self.message(id).and_then(|said| said.parent);
        parent.map_or(1, |parent| self.depth(parent) + 1)
    }

    pub fn claim(&self, id: ClaimId) -> Option<&Held> {
        self.held().find(|held| held.id == id)
    }

    pub fn superseded_by(&self, id: ClaimId) -> Option<ClaimId> {
        self.held().find(|held| held.older.contains(&id)).map(|held| held.id)
    }

    /// §8.
    pub fn status(&self, id: ClaimId) -> ClaimStatus {
        let any = |what| self.proved(id).any(|proof| proof.what == what);
        if self.superseded_by(id).is_some() {
            ClaimStatus::Superseded
        } else if any(For::Refutation) {
            ClaimStatus::Refuted
        } else if any(For::Seal) {
            ClaimStatus::Verified
        } else if any(For::Support) {
            ClaimStatus::Supported
        } else {
            ClaimStatus::Unverified
        }
    }
}

fn set(said: &Said, message: MessageId, due: Option<Participant>) -> Waits {
    Waits { message, due, since: said.at, entry: said.entry }
}
