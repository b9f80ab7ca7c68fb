//! Who takes part: lines with tokens that come and go.

use std::sync::Arc;

use parley::tokens::{NewToken, Tokens};
use parley_kit::clock::MORNING;
use parley_protocol::ids::TokenId;
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;

/// The identities, and the tokens that are made for them.
const PARTICIPANTS: [(&str, &str); 6] = [
    ("local:ada", r#"{"handle":"ada","rights":["read","write"]}"#),
    ("local:bob", r#"{"handle":"bob","rights":["read","write"]}"#),
    ("local:kim", r#"{"handle":"kim","rights":["read","write","lock"],"label":"Kim"}"#),
    ("human:hal", r#"{"human":"hal"}"#),
    ("local:vic", r#"{"handle":"vic","rights":["read","write","verify"]}"#),
    ("local:cyd", r#"{"handle":"cyd","rights":["read","write"]}"#),
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
    let member = |(identity, token): (&str, &str)| {
        let new = NewToken::read(token.as_bytes(), MORNING).unwrap();
        Member { identity: identity.to_owned(), new, token: None }
    };
    PARTICIPANTS.map(member).into()
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
