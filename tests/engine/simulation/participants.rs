//! Who takes part: lines with tokens that come and go.

use std::sync::Arc;

use parley::tokens::{NewToken, TokenName, Tokens};
use parley_protocol::identity::{Right, Rights};
use parley_protocol::ids::TokenId;
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;

/// A name, its further right beside reading and writing, and whether it is a human's.
const PARTICIPANTS: &[(&str, Option<Right>, bool)] = &[
    ("ada", None, false),
    ("bob", None, false),
    ("kim", Some(Right::Lock), false),
    ("hal", None, true),
    ("vic", Some(Right::Verify), false),
    ("cyd", None, false),
];

/// A token as its holder knows it.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: TokenId,
    pub secret: Arc<str>,
}

/// One line.
#[derive(Debug)]
pub struct Member {
    pub identity: String,
    new: NewToken,
    /// The token that is good for certain, if there is one.
    pub token: Option<Held>,
}

/// All of them.
pub fn participants() -> Vec<Member> {
    let member = |(name, more, human): &(&str, Option<Right>, bool)| {
        let rights = [Right::Read, Right::Write].into_iter().chain(*more);
        let rights = if *human { Rights::HUMAN } else { rights.collect() };
        let realm = if *human { "human" } else { "local" };
        let known = Box::from(*name);
        Member {
            identity: format!("{realm}:{name}"),
            new: NewToken {
                name: if *human { TokenName::Human(known) } else { TokenName::Handle(known) },
                rights,
                label: (*more == Some(Right::Lock)).then(|| "Kim".into()),
                expires_at: None,
            },
            token: None,
        }
    };
    PARTICIPANTS.iter().map(member).collect()
}

impl Member {
    /// Makes a token for the line.
    ///
    /// # Errors
    /// If the store takes none.
    pub fn equip(&mut self, tokens: &Tokens, now: Millis) -> Result<(), Refusal> {
        let (record, secret) = tokens.create(&self.new, now)?;
        self.token = Some(Held { id: record.id, secret: secret.into() });
        Ok(())
    }
}
