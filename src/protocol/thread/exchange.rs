//! Loop protection (parley.md §3.2): messages in a row, and two models among themselves.

use serde::{Deserialize, Serialize};

use crate::act::Kind;
use crate::limits::Limits;
use crate::refusal::{Reason, Refusal, Result};
use crate::who::AuthorKind;

/// The last messages of a thread: the row of one participant, and those of the same two models
/// since the last change or confirmation of state and since anyone else spoke.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// The last speaker within the counted region and how many it said in a row there.
    last: Option<(u32, u64)>,
    /// The speaker before those, if it belongs to the exchange.
    other: Option<u32>,
    /// Messages counted.
    count: u64,
}

impl Exchange {
    /// Counts a message of the participant numbered `author`.
    pub(super) fn spoke(&mut self, author: u32, kind: AuthorKind) {
        if kind == AuthorKind::Human {
            *self = Self::default();
            return;
        }
        match self.last {
            Some((last, row)) if last == author => self.last = Some((last, row + 1)),
            Some((last, row)) => {
                if self.other != Some(author) {
                    // A third one: what it and the one before said in the end is the new exchange.
                    self.count = row;
                }
                self.other = Some(last);
                self.last = Some((author, 1));
            }
            None => self.last = Some((author, 1)),
        }
        self.count += 1;
    }

    /// 409 `loop_limit` if `author` is one of two that have gone on long enough for an act of
    /// this kind.
    pub(super) fn refuse_loop(&self, author: u32, kind: Kind, limits: &Limits) -> Result<()> {
        let (Some((last, _)), Some(other)) = (self.last, self.other) else {
            return Ok(());
        };
        let long = self.count >= limits.exchange_max && kind.expects_reply();
        let too_long = self.count >= limits.exchange_max.saturating_mul(2)
            && kind != Kind::Decide
            && kind != Kind::Retract;
        if (author != last && author != other) || !(long || too_long) {
            return Ok(());
        }
        let detail = format!(
            "The last {} messages come from the same two models and the state has not moved. \
             Ways out: `decide`, a mark, a third participant, a human.",
            self.count
        );
        Err(Refusal::new(Reason::LoopLimit, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(speakers: &[u32]) -> u64 {
        let mut exchange = Exchange::default();
        for speaker in speakers {
            exchange.spoke(*speaker, AuthorKind::Llm);
        }
        exchange.count
    }

    /// Goal: only the messages after the last one of anyone else count. Method: a row a case.
    #[test]
    fn counted() {
        assert_eq!(count(&[0, 1, 0, 1]), 4);
        assert_eq!(count(&[0, 1, 0, 1, 2]), 2);
        assert_eq!(count(&[0, 1, 1, 1, 2]), 4);
        assert_eq!(count(&[0, 1, 1, 2, 1]), 4);
        assert_eq!(count(&[0, 1, 2, 0]), 2);
        assert_eq!(count(&[0, 0, 0]), 3);
    }
}
