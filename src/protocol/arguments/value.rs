//! One value, read by the type of its field.

use std::sync::Arc;

use super::ArgumentContext;
use super::came::{came, instead, mended, quoted};
use super::field;
use super::lenient::{is_integer, whole};
use super::raw::{ParseResult, RawArgument, ValueError, all, both};
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
                let wanted = numbered!(
                    "An artifact is named by `sha256:` and " {HEX_256} " lowercase hex digits"
                );
                instead(wanted, raw)
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
        let wanted = format!(
            "This must be an identifier, as `{example}` or as its plain number, from 1 and below \
             2^53"
        );
        instead_of_text(&wanted, raw)
    })
}

/// A refusal of `raw`, whose integers are taken for texts.
fn instead_of_text(wanted: &str, raw: RawArgument<'_>) -> ValueError {
    instead(wanted, raw.text_or_integer().map_or(raw, RawArgument::Text))
}

/// A string of `min` to `max` characters, without control characters but three.
fn bounded(raw: RawArgument<'_>, min: usize, max: usize) -> ParseResult<Box<str>> {
    let Some(text) = raw.text() else {
        return Err(match raw {
            RawArgument::Json(JsonValue::Surrogate) => {
                ValueError::new("The string holds an unpaired surrogate, which is no character.")
            }
            RawArgument::Json(JsonValue::Number(_) | JsonValue::Bool(_)) => {
                ValueError::new(format!("{} Send it in quotes.", instead(STRING, raw).0[0].detail))
            }
            _ => instead(STRING, raw),
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

const STRING: &str = "This must be a string";

/// The detail of a refusal of an extension.
pub const NO_EXTENSION: &str = numbered!(
    "This is no extension. It has 1 to " {EXTENSION_MAX}
    " characters of A-Z, a-z, 0-9, `.`, `_` and `-`."
);

fn extension(raw: RawArgument<'_>) -> ParseResult<Arc<str>> {
    let text = raw.text().filter(|text| text::is_handle(text));
    text.map(Arc::from)
        .ok_or_else(|| ValueError::new(format!("{NO_EXTENSION} What came: {}.", came(raw))))
}

fn identity(raw: RawArgument<'_>) -> ParseResult<Box<str>> {
    let parts = raw.text().and_then(|text| text.split_once(':'));
    let text = raw.text().filter(|_| {
        parts.is_some_and(|(realm, handle)| text::is_handle(realm) && text::is_handle(handle))
    });
    text.map(Box::from).ok_or_else(|| {
        instead("This must be an identity, as `<realm>:<handle>` or `human:<name>`", raw)
    })
}

const TRUTH: &str = "This must be true or false";

fn truth(raw: RawArgument<'_>) -> ParseResult<bool> {
    let truth = match raw {
        RawArgument::Text("true") => Some(true),
        RawArgument::Text("false") => Some(false),
        RawArgument::Text(_) => None,
        RawArgument::Json(value) => value.as_bool(),
    };
    truth.ok_or_else(|| match raw {
        RawArgument::Json(JsonValue::String(text)) if text == "true" || text == "false" => {
            mended(TRUTH, "a string", &format!("send {text} without quotes"))
        }
        _ => instead(TRUTH, raw),
    })
}

fn integer(raw: RawArgument<'_>, min: u64, max: u64) -> ParseResult<u64> {
    let text = match raw {
        RawArgument::Text(text) => Some(text),
        RawArgument::Json(JsonValue::Number(number)) => Some(number.text()),
        RawArgument::Json(_) => None,
    };
    // The grammar of JSON's integers in a query too: digits alone, no leading zero.
    let number = text.filter(|text| is_integer(text)).and_then(|text| text.parse().ok());
    let wanted = || format!("This must be a whole number from {min} to {max}");
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| match raw {
        RawArgument::Text(text) if is_integer(text) => {
            ValueError::new(format!("{}: {text} came.", wanted()))
        }
        RawArgument::Json(JsonValue::String(text)) if is_integer(text) => {
            mended(&wanted(), "a string", "send the number without quotes")
        }
        RawArgument::Json(JsonValue::Number(number))
            if !is_integer(number.text()) && whole(number.text()).is_some() =>
        {
            mended(&wanted(), number.text(), "send it without fraction and exponent")
        }
        _ => instead(&wanted(), raw),
    })
}

fn word(raw: RawArgument<'_>, words: &[&'static str]) -> ParseResult<&'static str> {
    let found = raw.text().and_then(|text| words.iter().find(|word| **word == text));
    found.copied().ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        instead(&format!("This must be one of {}", words.join(", ")), raw)
    })
}

fn cursor(raw: RawArgument<'_>) -> ParseResult<Box<str>> {
    let text = raw.text_or_integer().filter(|text| !text.is_empty());
    text.map(Box::from).ok_or_else(|| {
        let wanted = "This must be a cursor as the server gave it, or be left out to begin anew";
        instead_of_text(wanted, raw)
    })
}

fn claims(raw: RawArgument<'_>) -> ParseResult<Vec<ClaimId>> {
    let items = field::array(raw, SUPERSEDES_MAX, "claims")?;
    let items = items.iter().enumerate();
    let mut known: Vec<ClaimId> = Vec::with_capacity(SUPERSEDES_MAX);
    all(items.map(|(place, item)| {
        let claim = id(RawArgument::Json(item), ClaimId::parse, "cl_7");
        let claim = claim.and_then(|claim| {
            let twice = || ValueError::new("A claim is named twice. Name it once.");
            if known.contains(&claim) { Err(twice()) } else { Ok(claim) }
        });
        let claim = claim.map_err(|wrong| wrong.under(&place.to_string()))?;
        known.push(claim);
        Ok(claim)
    }))
}

fn from(raw: RawArgument<'_>) -> ParseResult<Option<Arc<str>>> {
    let object = field::object(raw)?;
    let known = field::known(object, &["extension"], &["identity"]);
    both(known, field::optional(object, "extension", extension)).map(|((), extension)| extension)
}

fn provenance(raw: RawArgument<'_>) -> ParseResult<Provenance> {
    let object = field::object(raw)?;
    let text = |raw: RawArgument<'_>| bounded(raw, 0, PROVENANCE_MAX);
    let model = field::optional(object, "model", text);
    let client = field::optional(object, "client", text);
    let known = field::known(object, &["model", "client"], &[]);
    both(both(model, client), known).map(|((model, client), ())| Provenance { model, client })
}

fn future(raw: RawArgument<'_>, now: Millis) -> ParseResult<Millis> {
    let Some(time) = raw.text().and_then(Millis::parse) else {
        return Err(instead("This must be an RFC 3339 time, as `2031-05-01T12:00:00Z`", raw));
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
    all(pieces)
}

/// One piece of evidence (parley.md §8).
fn piece(object: &JsonObject) -> ParseResult<Evidence> {
    let kinds = EvidenceKind::ALL.map(EvidenceKind::as_str);
    let kind = field::required(object, "kind", |raw| word(raw, &kinds))
        .map(|kind| EvidenceKind::parse(kind).unwrap_or(EvidenceKind::Other));
    let reference = field::required(object, "ref", |raw| bounded(raw, 1, REF_MAX));
    let reference = match (&kind, reference) {
        (Ok(kind), Ok(reference)) if !kind.admits(&reference) => {
            let detail = format!("{} What came: {}.", reference_form(*kind), quoted(&reference));
            Err(ValueError::at(detail, "ref"))
        }
        (_, reference) => reference,
    };
    let note = field::optional(object, "note", |raw| bounded(raw, 0, NOTE_MAX));
    let known = field::known(object, &["kind", "ref", "note"], &[]);
    let ((kind, reference), (note, ())) = both(both(kind, reference), both(note, known))?;
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
