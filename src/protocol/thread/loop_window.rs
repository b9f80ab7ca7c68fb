//! Loop protection (parley.md §3.2): messages in a row, and two models among themselves.

use serde::{Deserialize, Serialize};

use crate::act::Kind;
use crate::identity::AuthorKind;
use crate::limits::Limits;
use crate::refusal::{Refusal, Result};

/// The last messages of a thread: the row of one participant, and those of the same two models
/// since the last change or confirmation of state and since anyone else spoke.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoopWindow {
    /// The last speaker within the counted region and how many it said in a row there.
    last: Option<(u32, u64)>,
    /// The speaker before those, if it belongs to the exchange.
    other: Option<u32>,
    /// Messages counted.
    count: u64,
}

impl LoopWindow {
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
        let too_long = self.count >= limits.exchange_max.saturating_mul(2);
        if (author != last && author != other) || !(long || too_long && kind.spec().loop_limited) {
            return Ok(());
        }
        Err(Refusal::loop_limit(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Reason;

    /// The exchange after `speakers`: a letter a message, capitals being humans.
    fn exchange(speakers: &str) -> LoopWindow {
        let mut exchange = LoopWindow::default();
        for speaker in speakers.chars() {
            let human = speaker.is_ascii_uppercase();
            let kind = if human { AuthorKind::Human } else { AuthorKind::Llm };
            exchange.spoke(u32::from(speaker), kind);
        }
        exchange
    }

    /// Goal: only the messages after the last one of anyone else, or of a human, count. Method: a
    /// row a case.
    #[test]
    fn counted() {
        for (speakers, want) in [
            ("", 0),
            ("a", 1),
            ("aaa", 3),
            ("ab", 2),
            ("abab", 4),
            ("aabbb", 5),
            ("ababc", 2),
            ("abbbc", 4),
            ("abbcb", 4),
            ("abca", 2),
            ("abcacca", 5),
            ("abcabc", 2),
            ("abH", 0),
            ("abHa", 1),
            ("abHab", 2),
            ("Haba", 3),
            ("HIH", 0),
            ("aHaHa", 1),
            ("abcHcb", 2),
        ] {
            assert_eq!(exchange(speakers).count, want, "{speakers}");
        }
    }

    /// Goal: the two and no others are refused, first what expects a reply, then all but the
    /// ways out. Method: a row a case, `exchange_max` being 3.
    #[test]
    fn refused() {
        let limits = Limits { exchange_max: 3, ..Limits::default() };
        for (speakers, author, kind, want) in [
            ("ab", 'a', Kind::Ask, false),
            ("aba", 'b', Kind::Ask, true),
            ("aba", 'a', Kind::Propose, true),
            ("aba", 'b', Kind::Clarify, true),
            ("aba", 'b', Kind::Object, true),
            ("aba", 'b', Kind::Answer, false),
            ("aba", 'b', Kind::Inform, false),
            ("aba", 'c', Kind::Ask, false),
            ("aaa", 'a', Kind::Ask, false),
            ("aaa", 'b', Kind::Ask, false),
            ("abc", 'b', Kind::Ask, false),
            ("abcb", 'c', Kind::Ask, true),
            ("abcb", 'b', Kind::Ask, true),
            ("abcb", 'a', Kind::Ask, false),
            ("ababa", 'b', Kind::Answer, false),
            ("ababab", 'a', Kind::Answer, true),
            ("ababab", 'b', Kind::Agree, true),
            ("ababab", 'b', Kind::Inform, true),
            ("ababab", 'b', Kind::Decide, false),
            ("ababab", 'b', Kind::Retract, false),
            ("ababab", 'c', Kind::Inform, false),
            ("abababH", 'a', Kind::Ask, false),
            ("HaHa", 'a', Kind::Ask, false),
            ("HaHa", 'H', Kind::Ask, false),
        ] {
            let got = exchange(speakers).refuse_loop(u32::from(author), kind, &limits);
            let refused = got.as_ref().is_err_and(|refusal| refusal.reason == Reason::LoopLimit);
            assert_eq!(refused, want, "{speakers}: {author} {kind:?}");
        }
    }
}
