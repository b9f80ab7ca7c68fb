//! The query of a URL: names and values, each once.

use std::borrow::Cow;

use crate::refusal::{Refusal, Result};

/// Characters of a name that a refusal shows, at most.
const NAME_SHOWN_MAX: usize = 40;

/// The parameters of one query, decoded. Take the known ones, then refuse the [`Query::rest`].
#[derive(Debug)]
pub struct Query<'q> {
    parameters: Vec<(Cow<'q, str>, Cow<'q, str>)>,
}

impl<'q> Query<'q> {
    /// Reads a raw query, without its question mark; empty pieces between ampersands are skipped.
    ///
    /// # Errors
    /// 400 `invalid_parameter` for a parameter that is repeated, empty or cannot be decoded.
    pub fn parse(raw: &'q str) -> Result<Self> {
        let mut parameters: Vec<(Cow<'q, str>, Cow<'q, str>)> = Vec::new();
        for piece in raw.split('&').filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let Some(name) = percent_decode(name, true) else {
                let detail = "The name of a parameter is not percent-encoded UTF-8.";
                return Err(Refusal::parameters(detail));
            };
            if parameters.iter().any(|(known, _)| *known == name) {
                let detail = format!("`{}` is given twice. Give it once.", named(&name));
                return Err(Refusal::parameter(&name, detail));
            }
            if value.is_empty() {
                let detail = format!(
                    "`{}` came without a value. Leave it out, or give it one.",
                    named(&name)
                );
                return Err(Refusal::parameter(&name, detail));
            }
            let Some(value) = percent_decode(value, true) else {
                let detail = "The value is not percent-encoded UTF-8.";
                return Err(Refusal::parameter(&name, detail));
            };
            parameters.push((name, value));
        }
        Ok(Self { parameters })
    }

    /// Takes the value of a parameter.
    pub fn take(&mut self, name: &str) -> Option<Cow<'q, str>> {
        let found = self.parameters.iter().position(|(known, _)| known == name)?;
        Some(self.parameters.swap_remove(found).1)
    }

    /// The name of a parameter that was not taken.
    pub fn rest(&self) -> Option<&str> {
        self.untaken().next()
    }

    /// The names of all parameters that were not taken.
    pub fn untaken(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(name, _)| &**name)
    }
}

/// The name of a parameter as a refusal shows it.
fn named(name: &str) -> String {
    name.chars().take(NAME_SHOWN_MAX).collect()
}

/// Decodes percent-encoding, and with `plus` a plus sign as a space; `None` if it is malformed or
/// no UTF-8 comes out.
pub fn percent_decode(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| byte == b'%' || (plus && byte == b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            b'+' if plus => b' ',
            other => other,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}
