//! One value, read by its shape.

use std::borrow::Cow;
use std::sync::Arc;

use super::field;
use super::{Judge, token};
use crate::artifact::Identifier;
use crate::claim::{Evidence, EvidenceKind};
use crate::entry::Provenance;
use crate::ids::{ClaimId, MessageId, ThreadId};
use crate::json::{Object, Value};
use crate::limits::{NOTE_MAX, PROVENANCE_MAX, REF_MAX, SUPERSEDES_MAX};
use crate::operation::Shape;
use crate::text;
use crate::time::Millis;

/// A value as it came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    /// Out of a path or a query.
    Text(&'a str),
    /// A member of a body or an argument.
    Json(&'a Value),
}

impl<'a> Raw<'a> {
    pub(super) fn is_null(self) -> bool {
        matches!(self, Self::Json(Value::Null))
    }

    /// The text, if it is one.
    fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(value) => value.as_str(),
        }
    }

    /// The text, or that of an integer, which is taken for identifiers and cursors.
    fn text_or_integer(self) -> Option<&'a str> {
        match self {
            Self::Json(Value::Number(number)) => {
                let text = number.text();
                (!text.contains(['.', 'e', 'E'])).then_some(text)
            }
            _ => self.text(),
        }
    }
}

/// A value as read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Thread(ThreadId),
    Message(MessageId),
    Claim(ClaimId),
    ArtifactId([u8; 32]),
    Text(Box<str>),
    Bool(bool),
    Integer(u64),
    Word(&'static str),
    Evidence(Vec<Evidence>),
    Claims(Vec<ClaimId>),
    Extension(Option<Arc<str>>),
    Provenance(Provenance),
    Time(Millis),
}

/// What is wrong with a value, and where within it.
#[derive(Debug)]
pub(super) struct Wrong {
    /// A JSON Pointer from the value on; empty for the value itself.
    pub(super) pointer: String,
    /// What to do about it.
    pub(super) detail: Cow<'static, str>,
}

impl Wrong {
    pub(super) fn new(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { pointer: String::new(), detail: detail.into() }
    }

    pub(super) fn at(detail: impl Into<Cow<'static, str>>, name: &str) -> Self {
        Self::new(detail).under(&token(name))
    }

    /// The same, seen from one level further out.
    fn under(self, name: &str) -> Self {
        Self { pointer: format!("/{name}{}", self.pointer), ..self }
    }
}

pub(super) type Read<T> = Result<T, Wrong>;

/// Reads a value that is not null and not ignored.
pub(super) fn read(shape: Shape, raw: Raw<'_>, judge: Judge<'_>) -> Read<Given> {
    match shape {
        Shape::Thread => id(raw, ThreadId::parse, "th_1042").map(Given::Thread),
        Shape::Message => id(raw, MessageId::parse, "msg_88").map(Given::Message),
        Shape::Claim => id(raw, ClaimId::parse, "cl_7").map(Given::Claim),
        Shape::ArtifactId => {
            let id = raw.text().and_then(|text| text.parse::<Identifier>().ok());
            id.map(|id| Given::ArtifactId(*id.digest())).ok_or_else(|| {
                Wrong::new("An artifact is named by `sha256:` and 64 lowercase hex digits.")
            })
        }
        Shape::Text { min, max } => bounded(raw, min, max).map(Given::Text),
        Shape::Extension => extension(raw).map(|extension| Given::Extension(Some(extension))),
        Shape::Identity => identity(raw).map(Given::Text),
        Shape::Bool => truth(raw).map(Given::Bool),
        Shape::Integer { min, max } => {
            integer(raw, min, max.value(judge.limits)).map(Given::Integer)
        }
        Shape::Word(words) => word(raw, &words.list()).map(Given::Word),
        Shape::Cursor => cursor(raw).map(Given::Text),
        Shape::Evidence => evidence(raw, judge).map(Given::Evidence),
        Shape::Claims => claims(raw).map(Given::Claims),
        Shape::From => from(raw).map(Given::Extension),
        Shape::Provenance => provenance(raw).map(Given::Provenance),
        Shape::Future => future(raw, judge.now).map(Given::Time),
        Shape::Artifact | Shape::Ignored => Err(Wrong::new("This is not read here.")),
    }
}

fn id<T>(raw: Raw<'_>, parse: fn(&str) -> Option<T>, example: &str) -> Read<T> {
    raw.text_or_integer().and_then(parse).ok_or_else(|| {
        Wrong::new(format!(
            "This is no identifier. Write it as `{example}` or as its plain number, from 1 and \
             below 2^53."
        ))
    })
}

/// A string of `min` to `max` characters, without control characters but three.
fn bounded(raw: Raw<'_>, min: usize, max: usize) -> Read<Box<str>> {
    let Some(text) = raw.text() else {
        return Err(match raw {
            Raw::Json(Value::Surrogate) => {
                Wrong::new("The string holds an unpaired surrogate, which is no character.")
            }
            _ => Wrong::new("This must be a string."),
        });
    };
    if text::has_forbidden_control(text) {
        return Err(Wrong::new(
            "The string holds a control character other than line feed, carriage return and tab.",
        ));
    }
    // A character has one byte at least, so most strings need not be counted.
    if text.len() > max && text::length(text) > max {
        let detail = format!(
            "The string has {} characters; at most {max} are taken. Say it shorter, or in several \
             messages.",
            text::length(text)
        );
        return Err(Wrong::new(detail));
    }
    if min > 0 && !text::is_visible(text) {
        return Err(Wrong::new("The string must hold something visible."));
    }
    Ok(text.into())
}

const HANDLE: &str = "It has 1 to 64 characters of A-Z, a-z, 0-9, `.`, `_` and `-`.";

fn extension(raw: Raw<'_>) -> Read<Arc<str>> {
    let text = raw.text().filter(|text| text::is_handle(text));
    text.map(Arc::from).ok_or_else(|| Wrong::new(format!("This is no extension. {HANDLE}")))
}

fn identity(raw: Raw<'_>) -> Read<Box<str>> {
    let parts = raw.text().and_then(|text| text.split_once(':'));
    let text = raw.text().filter(|_| {
        parts.is_some_and(|(realm, handle)| text::is_handle(realm) && text::is_handle(handle))
    });
    text.map(Box::from).ok_or_else(|| {
        Wrong::new("This is no identity. Write it as `<realm>:<handle>` or `human:<name>`.")
    })
}

fn truth(raw: Raw<'_>) -> Read<bool> {
    let truth = match raw {
        Raw::Text("true") => Some(true),
        Raw::Text("false") => Some(false),
        Raw::Text(_) => None,
        Raw::Json(value) => value.as_bool(),
    };
    truth.ok_or_else(|| Wrong::new("This must be true or false."))
}

fn integer(raw: Raw<'_>, min: u64, max: u64) -> Read<u64> {
    let text = match raw {
        Raw::Text(text) => Some(text),
        Raw::Json(Value::Number(number)) => Some(number.text()),
        Raw::Json(_) => None,
    };
    // The grammar of JSON's integers in a query too: digits alone, no leading zero.
    let plain = text.filter(|text| {
        text.bytes().all(|byte| byte.is_ascii_digit()) && (*text == "0" || !text.starts_with('0'))
    });
    let number = plain.and_then(|text| text.parse().ok());
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| Wrong::new(format!("This must be a whole number from {min} to {max}.")))
}

fn word(raw: Raw<'_>, words: &[&'static str]) -> Read<&'static str> {
    let found = raw.text().and_then(|text| words.iter().find(|word| **word == text));
    found.copied().ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        Wrong::new(format!("This must be one of {}.", words.join(", ")))
    })
}

fn cursor(raw: Raw<'_>) -> Read<Box<str>> {
    let text = raw.text_or_integer().filter(|text| !text.is_empty());
    text.map(Box::from).ok_or_else(|| {
        Wrong::new("This must be a cursor as the server gave it. Leave it out to begin anew.")
    })
}

fn claims(raw: Raw<'_>) -> Read<Vec<ClaimId>> {
    let items = field::array(raw, SUPERSEDES_MAX, "claims")?;
    let mut claims = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let under = |wrong: Wrong| wrong.under(&place.to_string());
        let claim = id(Raw::Json(item), ClaimId::parse, "cl_7").map_err(under)?;
        if claims.contains(&claim) {
            return Err(under(Wrong::new("A claim is named twice. Name it once.")));
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn from(raw: Raw<'_>) -> Read<Option<Arc<str>>> {
    let object = field::object(raw)?;
    field::known(object, &["extension"], &["identity"])?;
    field::optional(object, "extension", extension)
}

fn provenance(raw: Raw<'_>) -> Read<Provenance> {
    let object = field::object(raw)?;
    field::known(object, &["model", "client"], &[])?;
    let text = |raw: Raw<'_>| bounded(raw, 0, PROVENANCE_MAX);
    Ok(Provenance {
        model: field::optional(object, "model", text)?,
        client: field::optional(object, "client", text)?,
    })
}

fn future(raw: Raw<'_>, now: Millis) -> Read<Millis> {
    let Some(time) = raw.text().and_then(Millis::parse) else {
        return Err(Wrong::new("This must be an RFC 3339 time, as `2031-05-01T12:00:00Z`."));
    };
    if time <= now {
        return Err(Wrong::new(format!("This must lie in the future; it is now {now}.")));
    }
    Ok(time)
}

fn evidence(raw: Raw<'_>, judge: Judge<'_>) -> Read<Vec<Evidence>> {
    let max = usize::try_from(judge.limits.evidence_max).unwrap_or(usize::MAX);
    let items = field::array(raw, max, "pieces of evidence")?;
    let pieces = items.iter().enumerate().map(|(place, item)| {
        let piece = field::object(Raw::Json(item)).and_then(piece);
        piece.map_err(|wrong| wrong.under(&place.to_string()))
    });
    pieces.collect()
}

/// One piece of evidence (parley.md §8).
fn piece(object: &Object) -> Read<Evidence> {
    field::known(object, &["kind", "ref", "note"], &[])?;
    let kinds = EvidenceKind::ALL.map(EvidenceKind::word);
    let kind = field::required(object, "kind", |raw| word(raw, &kinds))?;
    let reference = field::required(object, "ref", |raw| bounded(raw, 1, REF_MAX))?;
    let note = field::optional(object, "note", |raw| bounded(raw, 0, NOTE_MAX))?;
    let kind =
        EvidenceKind::parse(kind).ok_or_else(|| Wrong::at("There is no such kind.", "kind"))?;
    if !kind.admits(&reference) {
        return Err(Wrong::at(reference_form(kind), "ref"));
    }
    Ok(Evidence { kind, reference, note })
}

/// What a `ref` of this kind looks like.
fn reference_form(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Url => "An `url` is absolute, http or https, with a host and no white space.",
        EvidenceKind::Hash => {
            "A `hash` is `sha256:` or `blake3:` and 64, or `sha512:` and 128 lowercase hex digits."
        }
        EvidenceKind::Artifact => "An `artifact` is `sha256:` and 64 lowercase hex digits.",
        EvidenceKind::Commit => "A `commit` has 7 to 64 lowercase hex digits.",
        EvidenceKind::Log | EvidenceKind::Reproducer | EvidenceKind::Note | EvidenceKind::Other => {
            "The `ref` must hold something visible."
        }
    }
}
