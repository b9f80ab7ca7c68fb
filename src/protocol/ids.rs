//! Identifiers (parley.md §2): one rising sequence each, from 1, below 2^53, never reused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first number that is no identifier any more: 2^53, so that every JSON reader holds them
/// exactly.
pub const ID_END: u64 = 1 << 53;

/// The source of an act's numbers. Called only once an act is admitted, so
/// that a refusal uses none up.
pub trait Numbers {
    /// The next message number.
    fn message(&mut self) -> MessageId;
    /// The next event number.
    fn event(&mut self) -> EventId;
    /// The next claim number.
    fn claim(&mut self) -> ClaimId;
}

/// An identifier of the forum, written as prefix and number.
pub trait Prefixed {
    /// The prefix of the written form.
    const PREFIX: &'static str;

    /// Its number.
    fn number(&self) -> u64;
}

impl<T: Prefixed> Prefixed for &T {
    const PREFIX: &'static str = T::PREFIX;

    fn number(&self) -> u64 {
        T::number(self)
    }
}

/// Reads a decimal number without sign, leading zero or white space, from 1 to below 2^53.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 16 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits || text.starts_with('0') {
        return None;
    }
    text.parse().ok().filter(|number| *number < ID_END)
}

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident $prefix:literal,)+) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        pub struct $name(pub u64);

        impl $name {
            /// Reads the prefixed form or the plain number (parley.md §2); `None` if malformed.
            pub fn parse(text: &str) -> Option<Self> {
                number(text.strip_prefix($prefix).unwrap_or(text)).map(Self)
            }
        }

        impl Prefixed for $name {
            const PREFIX: &'static str = $prefix;

            fn number(&self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                f.write_str(itoa::Buffer::new().format(self.0))
            }
        }
    )+};
}

identifiers! {
    /// A thread, `th_…`.
    ThreadId "th_",
    /// A message, `msg_…`.
    MessageId "msg_",
    /// A claim, `cl_…`.
    ClaimId "cl_",
    /// A change of state, `ev_…`.
    EventId "ev_",
    /// A token, `tok_…` (bindings.md §3).
    TokenId "tok_",
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: only the three forms of an identifier are taken. Method: a row a case.
    #[test]
    fn forms() {
        for (text, want) in [
            ("th_1", Some(1)),
            ("1", Some(1)),
            ("9007199254740991", Some(9_007_199_254_740_991)),
            ("9007199254740992", None),
            ("0", None),
            ("th_0", None),
            ("01", None),
            ("+1", None),
            ("-1", None),
            (" 1", None),
            ("1 ", None),
            ("msg_1", None),
            ("th_th_1", None),
            ("th_", None),
            ("", None),
            ("99999999999999999999", None),
            ("TH_1", None),
            ("１", None),
        ] {
            assert_eq!(ThreadId::parse(text), want.map(ThreadId), "{text:?}");
        }
    }
}
