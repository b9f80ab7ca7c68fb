//! The request for a token (bindings.md §3, `POST /v1/tokens`), read and validated.

use std::sync::Arc;

use parley_protocol::identity::{Right, Rights};
use parley_protocol::json::{self, JsonObject, JsonValue};
use parley_protocol::limits::{EXTENSION_MAX, NESTING_MAX};
use parley_protocol::numbered;
use parley_protocol::refusal::{Refusal, Result};
use parley_protocol::text;
use parley_protocol::time::Millis;

/// The name of a token's principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenName {
    /// A model's handle.
    Handle(Box<str>),
    /// A human's name.
    Human(Box<str>),
}

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// The name of its principal.
    pub name: TokenName,
    /// All rights of the token.
    pub rights: Rights,
    /// The label; only of a model's token with `lock`.
    pub label: Option<Arc<str>>,
    /// When it expires.
    pub expires_at: Option<Millis>,
}

impl NewToken {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// 400 `invalid_body`.
    pub fn read(body: &[u8], now: Millis) -> Result<Self> {
        let body = if body.is_empty() { b"{}" } else { body };
        let value = json::parse(body, NESTING_MAX).map_err(|fault| Refusal::json(&fault, body))?;
        let JsonValue::Object(object) = value else {
            return Err(bad(None, "The body must be one JSON object."));
        };
        for (name, _) in object.iter() {
            if !["handle", "human", "rights", "label", "expires_at"].contains(&name) {
                return Err(bad(Some(name), "There is no such member here."));
            }
        }
        let handle = string(&object, "handle")?;
        let human = string(&object, "human")?;
        let rights = rights(&object)?;
        let label = string(&object, "label")?;
        let expires_at = string(&object, "expires_at")?
            .map(|text| Millis::parse(text).ok_or_else(|| bad(Some("expires_at"), EXPIRES)));
        Self::validate(handle, human, rights, label, expires_at.transpose()?, now)
    }

    /// Validates values that were read elsewhere (the command line).
    ///
    /// # Errors
    /// 400 `invalid_body`, naming the member.
    pub fn validate(
        handle: Option<&str>,
        human: Option<&str>,
        rights: Option<Rights>,
        label: Option<&str>,
        expires_at: Option<Millis>,
        now: Millis,
    ) -> Result<Self> {
        let (name, rights) = match (handle, human) {
            (Some(_), Some(_)) => {
                return Err(bad(
                    Some("human"),
                    "A token is for a `handle` or a `human`, not both.",
                ));
            }
            (None, None) => return Err(bad(Some("handle"), "Name a `handle` or a `human`.")),
            (Some(handle), None) => {
                let rights = rights.filter(|rights| !rights.is_empty()).ok_or_else(|| {
                    bad(Some("rights"), "A handle's token needs at least one right.")
                })?;
                (TokenName::Handle(name(handle, "handle")?), rights)
            }
            (None, Some(human)) => {
                let named = rights.unwrap_or_default();
                if named.iter().any(|right| right != Right::Admin) {
                    let detail = "A human's token may name `admin` only; it holds the other \
                                  rights by being human.";
                    return Err(bad(Some("rights"), detail));
                }
                let rights = Rights::HUMAN.iter().chain(named.iter()).collect();
                (TokenName::Human(name(human, "human")?), rights)
            }
        };
        if let Some(label) = label {
            let fits = text::is_visible(label)
                && text::length(label) <= EXTENSION_MAX
                && !text::has_forbidden_control(label);
            if !fits {
                return Err(bad(
                    Some("label"),
                    numbered!("A label has 1 to " {EXTENSION_MAX} " characters."),
                ));
            }
            if human.is_some() || !rights.has(Right::Lock) {
                let detail = "Only a model's token that holds `lock` has a label.";
                return Err(bad(Some("label"), detail));
            }
        }
        if expires_at.is_some_and(|at| at <= now) {
            return Err(bad(Some("expires_at"), EXPIRES));
        }
        Ok(Self { name, rights, label: label.map(Into::into), expires_at })
    }
}

const EXPIRES: &str = "`expires_at` must be an RFC 3339 time in the future.";

fn bad(field: Option<&str>, detail: &'static str) -> Refusal {
    Refusal::body(field.map(str::to_owned), detail)
}

fn name(text: &str, field: &'static str) -> Result<Box<str>> {
    if text::is_handle(text) {
        return Ok(text.into());
    }
    Err(bad(
        Some(field),
        numbered!("A name has 1 to " {EXTENSION_MAX} " characters of `A–Z a–z 0–9 . _ -`."),
    ))
}

fn string<'a>(object: &'a JsonObject, name: &'static str) -> Result<Option<&'a str>> {
    match object.get(name) {
        None | Some(JsonValue::Null) => Ok(None),
        Some(JsonValue::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(Some(name), "The member must be a string.")),
    }
}

fn rights(object: &JsonObject) -> Result<Option<Rights>> {
    let items = match object.get("rights") {
        None | Some(JsonValue::Null) => return Ok(None),
        Some(JsonValue::Array(items)) => items,
        Some(_) => return Err(bad(Some("rights"), "`rights` must be an array of rights.")),
    };
    let mut rights = Rights::default();
    for (place, item) in items.iter().enumerate() {
        let right = match item {
            JsonValue::String(word) => Right::parse(word),
            _ => None,
        };
        let right = right.ok_or_else(|| {
            let detail = "A right is one of `read`, `write`, `lock`, `verify`, `admin`.";
            bad(Some(&format!("rights/{place}")), detail)
        })?;
        rights = rights.with(right);
    }
    Ok(Some(rights))
}
