//! One value, read by the type of its field.

use std::sync::Arc;

use super::ArgumentContext;
use super::field;
use super::raw::{ParseResult, RawArgument, ValueError};
use crate::artifact::Identifier;
use crate::claim::{Evidence, EvidenceKind};
use crate::entry::Provenance;
use crate::ids::{ClaimId, MessageId, ThreadId};
use crate::json::{JsonObject, JsonValue};
use crate::limits::{
    COMMIT_MAX, COMMIT_MIN, EXTENSION_MAX, HEX_256, HEX_512, NOTE_MAX, PROVENANCE_MAX, REF_MAX,
    SUPERSEDES_MAX,
};
use crate::operation::FieldType;
use crate::refusal::Refusal;
use crate::text;
use crate::time::Millis;

/// A value as read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ParsedValue {
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

/// Reads a value that is not null and not ignored.
pub(super) fn read(
    field_type: FieldType,
    raw: RawArgument<'_>,
    context: ArgumentContext<'_>,
) -> ParseResult<ParsedValue> {
    match field_type {
        FieldType::Thread => id(raw, ThreadId::parse, "th_1042").map(ParsedValue::Thread),
        FieldType::Message => id(raw, MessageId::parse, "msg_88").map(ParsedValue::Message),
        FieldType::Claim => id(raw, ClaimId::parse, "cl_7").map(ParsedValue::Claim),
        FieldType::ArtifactId => {
            let id = raw.text().and_then(|text| text.parse::<Identifier>().ok());
            id.map(|id| ParsedValue::ArtifactId(*id.digest())).ok_or_else(|| {
                ValueError::new(numbered!(
                    "An artifact is named by `sha256:` and " {HEX_256} " lowercase hex digits."
                ))
            })
        }
        FieldType::Text { min, max } => bounded(raw, min, max).map(ParsedValue::Text),
        FieldType::Extension => {
            extension(raw).map(|extension| ParsedValue::Extension(Some(extension)))
        }
        FieldType::Identity => identity(raw).map(ParsedValue::Text),
        FieldType::Bool => truth(raw).map(ParsedValue::Bool),
        FieldType::Integer { min, max } => {
            integer(raw, min, max.value(context.limits)).map(ParsedValue::Integer)
        }
        FieldType::Word(words) => word(raw, &words.list()).map(ParsedValue::Word),
        FieldType::Cursor => cursor(raw).map(ParsedValue::Text),
        FieldType::Evidence => evidence(raw, context).map(ParsedValue::Evidence),
        FieldType::Claims => claims(raw).map(ParsedValue::Claims),
        FieldType::From => from(raw).map(ParsedValue::Extension),
        FieldType::Provenance => provenance(raw).map(ParsedValue::Provenance),
        FieldType::Future => future(raw, context.now).map(ParsedValue::Time),
        FieldType::Artifact | FieldType::Ignored => Err(ValueError::new("This is not read here.")),
    }
}

fn id<T>(raw: RawArgument<'_>, parse: fn(&str) -> Option<T>, example: &str) -> ParseResult<T> {
    raw.text_or_integer().and_then(parse).ok_or_else(|| {
        ValueError::new(format!(
            "This is no identifier. Write it as `{example}` or as its plain number, from 1 and \
             below 2^53."
        ))
    })
}

/// A string of `min` to `max` characters, without control characters but three.
fn bounded(raw: RawArgument<'_>, min: usize, max: usize) -> ParseResult<Box<str>> {
    let Some(text) = raw.text() else {
        return Err(match raw {
            RawArgument::Json(JsonValue::Surrogate) => {
                ValueError::new("The string holds an unpaired surrogate, which is no character.")
            }
            _ => ValueError::new("This must be a string."),
        });
    };
    if text::has_forbidden_control(text) {
        return Err(ValueError::new(
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
        return Err(ValueError::new(detail));
    }
    if min > 0 && !text::is_visible(text) {
        return Err(ValueError::new("The string must hold something visible."));
    }
    Ok(text.into())
}

/// The detail of a refusal of an extension.
pub const NO_EXTENSION: &str = numbered!(
    "This is no extension. It has 1 to " {EXTENSION_MAX}
    " characters of A-Z, a-z, 0-9, `.`, `_` and `-`."
);

fn extension(raw: RawArgument<'_>) -> ParseResult<Arc<str>> {
    let text = raw.text().filter(|text| text::is_handle(text));
    text.map(Arc::from).ok_or_else(|| ValueError::new(NO_EXTENSION))
}

fn identity(raw: RawArgument<'_>) -> ParseResult<Box<str>> {
    let parts = raw.text().and_then(|text| text.split_once(':'));
    let text = raw.text().filter(|_| {
        parts.is_some_and(|(realm, handle)| text::is_handle(realm) && text::is_handle(handle))
    });
    text.map(Box::from).ok_or_else(|| {
        ValueError::new("This is no identity. Write it as `<realm>:<handle>` or `human:<name>`.")
    })
}

fn truth(raw: RawArgument<'_>) -> ParseResult<bool> {
    let truth = match raw {
        RawArgument::Text("true") => Some(true),
        RawArgument::Text("false") => Some(false),
        RawArgument::Text(_) => None,
        RawArgument::Json(value) => value.as_bool(),
    };
    truth.ok_or_else(|| ValueError::new("This must be true or false."))
}

fn integer(raw: RawArgument<'_>, min: u64, max: u64) -> ParseResult<u64> {
    let text = match raw {
        RawArgument::Text(text) => Some(text),
        RawArgument::Json(JsonValue::Number(number)) => Some(number.text()),
        RawArgument::Json(_) => None,
    };
    // The grammar of JSON's integers in a query too: digits alone, no leading zero.
    let plain = text.filter(|text| {
        text.bytes().all(|byte| byte.is_ascii_digit()) && (*text == "0" || !text.starts_with('0'))
    });
    let number = plain.and_then(|text| text.parse().ok());
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| ValueError::new(format!("This must be a whole number from {min} to {max}.")))
}

fn word(raw: RawArgument<'_>, words: &[&'static str]) -> ParseResult<&'static str> {
    let found = raw.text().and_then(|text| words.iter().find(|word| **word == text));
    found.copied().ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        ValueError::new(format!("This must be one of {}.", words.join(", ")))
    })
}

fn cursor(raw: RawArgument<'_>) -> ParseResult<Box<str>> {
    let text = raw.text_or_integer().filter(|text| !text.is_empty());
    text.map(Box::from).ok_or_else(|| {
        ValueError::new("This must be a cursor as the server gave it. Leave it out to begin anew.")
    })
}

fn claims(raw: RawArgument<'_>) -> ParseResult<Vec<ClaimId>> {
    let items = field::array(raw, SUPERSEDES_MAX, "claims")?;
    let mut claims = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let under = |wrong: ValueError| wrong.under(&place.to_string());
        let claim = id(RawArgument::Json(item), ClaimId::parse, "cl_7").map_err(under)?;
        if claims.contains(&claim) {
            return Err(under(ValueError::new("A claim is named twice. Name it once.")));
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn from(raw: RawArgument<'_>) -> ParseResult<Option<Arc<str>>> {
    let object = field::object(raw)?;
    field::known(object, &["extension"], &["identity"])?;
    field::optional(object, "extension", extension)
}

fn provenance(raw: RawArgument<'_>) -> ParseResult<Provenance> {
    let object = field::object(raw)?;
    field::known(object, &["model", "client"], &[])?;
    let text = |raw: RawArgument<'_>| bounded(raw, 0, PROVENANCE_MAX);
    Ok(Provenance {
        model: field::optional(object, "model", text)?,
        client: field::optional(object, "client", text)?,
    })
}

fn future(raw: RawArgument<'_>, now: Millis) -> ParseResult<Millis> {
    let Some(time) = raw.text().and_then(Millis::parse) else {
        return Err(ValueError::new("This must be an RFC 3339 time, as `2031-05-01T12:00:00Z`."));
    };
    if time <= now {
        return Err(ValueError::new(Refusal::past_detail(now)));
    }
    Ok(time)
}

fn evidence(raw: RawArgument<'_>, context: ArgumentContext<'_>) -> ParseResult<Vec<Evidence>> {
    let max = usize::try_from(context.limits.evidence_max).unwrap_or(usize::MAX);
    let items = field::array(raw, max, "pieces of evidence")?;
    let pieces = items.iter().enumerate().map(|(place, item)| {
        let piece = field::object(RawArgument::Json(item)).and_then(piece);
        piece.map_err(|wrong| wrong.under(&place.to_string()))
    });
    pieces.collect()
}

/// One piece of evidence (parley.md §8).
fn piece(object: &JsonObject) -> ParseResult<Evidence> {
    field::known(object, &["kind", "ref", "note"], &[])?;
    let kinds = EvidenceKind::ALL.map(EvidenceKind::as_str);
    let kind = field::required(object, "kind", |raw| word(raw, &kinds))?;
    let reference = field::required(object, "ref", |raw| bounded(raw, 1, REF_MAX))?;
    let note = field::optional(object, "note", |raw| bounded(raw, 0, NOTE_MAX))?;
    let kind = EvidenceKind::parse(kind)
        .ok_or_else(|| ValueError::at("There is no such kind.", "kind"))?;
    if !kind.admits(&reference) {
        return Err(ValueError::at(reference_form(kind), "ref"));
    }
    Ok(Evidence { kind, reference, note })
}

/// The form of a `ref` of this kind.
fn reference_form(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Url => "An `url` is absolute, http or https, with a host and no white space.",
        EvidenceKind::Hash => {
            numbered!("A `hash` is `sha256:` or `blake3:` and " {HEX_256} ", or `sha512:` and "
                {HEX_512} " lowercase hex digits.")
        }
        EvidenceKind::Artifact => {
            numbered!("An `artifact` is `sha256:` and " {HEX_256} " lowercase hex digits.")
        }
        EvidenceKind::Commit => {
            numbered!("A `commit` has " {COMMIT_MIN} " to " {COMMIT_MAX} " lowercase hex digits.")
        }
        EvidenceKind::Log | EvidenceKind::Reproducer | EvidenceKind::Note | EvidenceKind::Other => {
            "The `ref` must hold something visible."
        }
    }
}
