//! Checks that the events of a thread are transitions of the state machine of `parley.md` §5.

use crate::objects::{self, Event};

/// A state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Without an answer.
    Open,
    /// With an answer.
    Answered,
    /// With an outcome.
    Decided,
    /// Ended.
    Closed,
    /// Put off.
    Deferred,
    /// No longer of interest.
    Obsolete,
    /// Turned down.
    Rejected,
}

impl State {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::Answered,
        Self::Decided,
        Self::Closed,
        Self::Deferred,
        Self::Obsolete,
        Self::Rejected,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Decided => "decided",
            Self::Closed => "closed",
            Self::Deferred => "deferred",
            Self::Obsolete => "obsolete",
            Self::Rejected => "rejected",
        }
    }

    /// The inverse of `as_str`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Position among the states from `open` to `closed`, from 0; none for a side state.
    pub fn step(self) -> Option<u8> {
        match self {
            Self::Open => Some(0),
            Self::Answered => Some(1),
            Self::Decided => Some(2),
            Self::Closed => Some(3),
            Self::Deferred | Self::Obsolete | Self::Rejected => None,
        }
    }
}

/// Checks the events of one thread, in order. Events of humans, who may set any state, do not occur
/// in a load.
#[derive(Debug, Default)]
pub struct Transitions {
    state: Option<State>,
    confirmed: bool,
    last_id: u64,
    last_time: String,
}

impl Transitions {
    /// Checks the next event. Fails for an id or time that decreases and for an illegal transition.
    pub fn event(&mut self, event: &Event<'_>) -> Result<(), String> {
        let name = &event.id;
        let id = objects::number(name, "ev_").ok_or_else(|| format!("an event named {name}"))?;
        if id <= self.last_id {
            return Err(format!("{name} after ev_{}: ids run backwards", self.last_id));
        }
        if *event.at < *self.last_time {
            return Err(format!(
                "{name}: {} after {}: times run backwards",
                event.at, self.last_time
            ));
        }
        self.last_id = id;
        self.last_time = event.at.clone().into_owned();
        let to = State::parse(&event.to).ok_or_else(|| format!("{name}: no state {}", event.to))?;
        let from = event.from.as_deref().map(State::parse);
        if from != self.state.map(Some) {
            return Err(format!(
                "{name}: from {:?}, but the state was {:?}",
                event.from, self.state
            ));
        }
        let legal = self.is_legal(to, event.confirmed);
        let was = self.state;
        self.state = Some(to);
        self.confirmed = event.confirmed;
        if legal && event.origin == "llm" {
            return Ok(());
        }
        let Event { origin, confirmed, .. } = event;
        Err(format!("{name}: an illegal move {was:?} to {to:?}, {origin}, confirmed {confirmed}"))
    }

    fn is_legal(&self, to: State, confirmed: bool) -> bool {
        let Some(from) = self.state else { return to == State::Open };
        if from == to {
            return confirmed && !self.confirmed;
        }
        let locked = from == State::Closed && self.confirmed;
        match (from.step(), to.step()) {
            (Some(3) | None, Some(0)) => true,
            (Some(from), Some(to)) => !locked && to > from && to - from <= 2,
            (Some(_), None) => !locked,
            (None, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(events: &[(u64, Option<&str>, &str, bool)]) -> Result<(), String> {
        let mut moves = Transitions::default();
        for (id, from, to, confirmed) in events {
            moves.event(&Event {
                id: format!("ev_{id}").into(),
                from: from.map(Into::into),
                to: (*to).into(),
                origin: "llm".into(),
                confirmed: *confirmed,
                at: "2026-11-29T20:00:00.000Z".into(),
            })?;
        }
        Ok(())
    }

    /// Goal: a whole life passes. Method: forward, confirmed, reopened, aside, reopened.
    #[test]
    fn legal() {
        let life = [
            (1, None, "open", false),
            (2, Some("open"), "answered", false),
            (4, Some("answered"), "closed", false),
            (5, Some("closed"), "closed", true),
            (6, Some("closed"), "open", false),
            (7, Some("open"), "deferred", false),
            (8, Some("deferred"), "open", true),
        ];
        follow(&life).unwrap();
    }

    /// Goal: each planted illegal move is found. Method: one a row.
    #[test]
    fn planted() {
        let open = (1, None, "open", false);
        let rows = [
            vec![(1, None, "answered", false)],
            vec![open, (2, Some("open"), "closed", false)],
            vec![
                open,
                (2, Some("open"), "decided", false),
                (3, Some("decided"), "answered", false),
            ],
            vec![open, (2, Some("answered"), "decided", false)],
            vec![open, (2, Some("open"), "open", false)],
            vec![
                open,
                (2, Some("open"), "obsolete", false),
                (3, Some("obsolete"), "closed", false),
            ],
            vec![open, (1, Some("open"), "answered", false)],
        ];
        for row in rows {
            assert!(follow(&row).is_err(), "{row:?}");
        }
    }
}
