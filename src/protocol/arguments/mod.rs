//! From the wire to a [`Call`], by the table of operations: one reading for HTTP and MCP
//! (parley.md §2, §8; bindings.md §1, §3; mcp.md §4).
//!
//! Of the refusals within 400 `proof_missing` comes last, and a malformed identifier in a path,
//! which is a 404, after all of them, as parley.md §6 orders the checks.

mod artifact;
mod call;
mod came;
mod digest;
mod faults;
mod field;
mod lenient;
mod raw;
mod value;

pub use digest::{content_digest, content_digest_of_artifact, key_digest};
pub use value::NO_EXTENSION;

use std::borrow::Cow;

use crate::command::{Call, ManifestPart};
use crate::json::{self, JsonFault, JsonFaultKind, JsonMember, JsonObject, JsonValue, token};
use crate::limits::{KEY_MAX, Limits, NESTING_MAX};
use crate::operation::{FieldPlace, FieldSpec, FieldType, Operation};
use crate::refusal::{Reason, Refusal, Result};
use crate::time::Millis;
use crate::url::Query;

use faults::ArgumentFaults;
use raw::{RawArgument, ValueFault};
use value::ParsedValue;

/// The name of the argument that holds an idempotency key over MCP.
pub const KEY_ARGUMENT: &str = "idempotency_key";

const NO_OBJECT: &str = "Send one JSON object with the operation's fields.";

/// The time that lets every time pass for a future one: the call comes under a key, after which
/// [`Command::check_time`] judges it.
///
/// [`Command::check_time`]: crate::command::Command::check_time
pub const TIME_NOT_JUDGED: Millis = Millis(0);

/// The limits and the time by which arguments are judged.
#[derive(Clone, Copy, Debug)]
struct ArgumentContext<'a> {
    limits: &'a Limits,
    now: Millis,
}

/// Reads a request over HTTP: the values of the path's fields (percent-decoded), the raw query
/// without its question mark, and the body. `None` and no bytes are both `{}`, but for an
/// artifact, which is judged when it is stored.
///
/// # Errors
/// 400 `invalid_parameter`, `invalid_body`, `proof_missing`, or the 404 of a malformed path.
pub fn read_http(
    operation: Operation,
    path_values: &[(&str, &str)],
    query: &str,
    body: Option<&[u8]>,
    limits: &Limits,
    now: Millis,
) -> Result<Call> {
    let mut reading = ArgumentReader::new(operation, ArgumentContext { limits, now });
    let mut query = Query::parse(query)?;
    for field in operation.spec().fields.iter().filter(|field| field.place == FieldPlace::Query) {
        if let Some(text) = query.take(field.name) {
            reading.put(field, RawArgument::Text(&text));
        }
    }
    for name in query.untaken() {
        reading.unknown(FieldPlace::Query, name);
    }
    for (name, text) in path_values {
        if let Some(field) = operation.field(name) {
            reading.put(field, RawArgument::Text(text));
        }
    }
    if operation == Operation::PublishArtifact {
        reading.faults.refuse()?;
        return Ok(Call::PublishArtifact(body.unwrap_or_default().into()));
    }
    if operation.has_body() {
        let body = body.filter(|bytes| !bytes.is_empty()).unwrap_or(b"{}");
        let value = json::parse_keeping_surrogates(body, NESTING_MAX)
            .map_err(|fault| Refusal::json(&fault, body))?;
        let JsonValue::Object(object) = &value else {
            return Err(Refusal::body(None, NO_OBJECT));
        };
        for (name, value) in object.iter() {
            match operation.field(name).filter(|field| field.place == FieldPlace::Body) {
                Some(field) => reading.put(field, RawArgument::Json(value)),
                None => reading.unknown(FieldPlace::Body, name),
            }
        }
    }
    reading.call()
}

/// Reads the arguments of a tool: the raw text of the object, and the idempotency key beside
/// them. No bytes and `null` are `{}`.
///
/// # Errors
/// As over HTTP; faults of path or query fields and of the key are `invalid_parameter`.
pub fn read_mcp(
    operation: Operation,
    arguments: &[u8],
    limits: &Limits,
    now: Millis,
) -> Result<(Call, Option<Box<str>>)> {
    if operation == Operation::PublishArtifact {
        return artifact::read(arguments);
    }
    let arguments = if arguments.is_empty() { b"{}" } else { arguments };
    let value = json::parse_keeping_surrogates(arguments, NESTING_MAX)
        .map_err(|fault| argument_fault(operation, &fault, arguments))?;
    let object = match value {
        JsonValue::Object(object) => object,
        JsonValue::Null => JsonObject::default(),
        _ => {
            return Err(at_fault(default_place(operation), None, NO_OBJECT.into()));
        }
    };
    let mut reading = ArgumentReader::new(operation, ArgumentContext { limits, now });
    let key = object.get(KEY_ARGUMENT).map_or(Ok(None), |key| key_argument(operation, key));
    let key = key.unwrap_or_else(|refusal| {
        reading.faults.push(FieldPlace::Query, KEY_ARGUMENT.to_owned(), refusal.detail);
        None
    });
    if key.is_some() {
        // Under a key the time is judged after the key: a retry may come late.
        reading.context.now = TIME_NOT_JUDGED;
    }
    for JsonMember { name, value, .. } in object.into_members() {
        if let Some(field) = operation.field(&name) {
            reading.put(field, RawArgument::Json(&lenient::value(field, value)));
        } else if name != KEY_ARGUMENT && !lenient::IGNORED.contains(&&*name) {
            reading.unknown(default_place(operation), &name);
        }
    }
    reading.fill_in();
    reading.call().map(|call| (call, key))
}

/// Judges an idempotency key: 1 to 128 visible ASCII characters.
///
/// # Errors
/// 400 `invalid_parameter`.
pub fn idempotency_key(text: &str) -> Result<()> {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && (1..=KEY_MAX).contains(&text.len()) {
        return Ok(());
    }
    let detail = numbered!("An idempotency key has 1 to " {KEY_MAX} " visible ASCII characters.");
    Err(Refusal::parameter(KEY_ARGUMENT, detail))
}

/// The key among the arguments; on a reader it is ignored, as over HTTP.
fn key_argument(operation: Operation, value: &JsonValue) -> Result<Option<Box<str>>> {
    if !operation.writes() || value.is_null() {
        return Ok(None);
    }
    let text = value.as_str().unwrap_or_default();
    idempotency_key(text).map(|()| Some(text.into()))
}

/// The fields read so far, and the faults.
struct ArgumentReader<'a> {
    operation: Operation,
    context: ArgumentContext<'a>,
    given: Vec<(&'static str, ParsedValue)>,
    faults: ArgumentFaults,
    /// The fields among the faults.
    wrong: Vec<&'static str>,
    /// Whether a fault names the fields that there are.
    are_fields_named: bool,
    /// The fault of the path, which is refused after all others.
    path_fault: Option<Refusal>,
}

impl<'a> ArgumentReader<'a> {
    fn new(operation: Operation, context: ArgumentContext<'a>) -> Self {
        Self {
            operation,
            context,
            given: Vec::new(),
            faults: ArgumentFaults::default(),
            wrong: Vec::new(),
            are_fields_named: false,
            path_fault: None,
        }
    }

    /// Takes the value of a field; null is absent, an ignored field is not read.
    fn put(&mut self, field: &'static FieldSpec, raw: RawArgument<'_>) {
        if field.field_type == FieldType::Ignored || raw.is_null() {
            return;
        }
        match value::read(field.field_type, raw, self.context) {
            Ok(given) => self.given.push((field.name, given)),
            Err(wrong) => {
                self.wrong.push(field.name);
                for ValueFault { pointer, detail } in wrong.0 {
                    match field.place {
                        FieldPlace::Path(missing) => {
                            self.path_fault = Some(Refusal::malformed_identifier(missing, detail));
                        }
                        FieldPlace::Query | FieldPlace::Body => {
                            let pointer = format!("{}{pointer}", field.name);
                            self.faults.push(field.place, pointer, detail);
                        }
                    }
                }
            }
        }
    }

    /// Notes a member that the operation does not have.
    fn unknown(&mut self, place: FieldPlace, name: &str) {
        let detail = if std::mem::replace(&mut self.are_fields_named, true) {
            Cow::Borrowed("Nor is this one of its fields.")
        } else {
            unknown(self.operation, place).into()
        };
        self.faults.push(place, token(name), detail);
    }

    /// Fills in what is left out over MCP and has another default there (mcp.md §4).
    fn fill_in(&mut self) {
        let given = |name| self.given.iter().find(|(known, _)| *known == name).map(|(_, it)| it);
        let page = match self.operation.page_over_mcp() {
            // A tree has no pages.
            Some(_)
                if self.operation == Operation::ReadThread
                    && given("format") != Some(&ParsedValue::Word("flat")) =>
            {
                None
            }
            page => page,
        };
        let limit = page.map(|page| ParsedValue::Integer(page.min(self.context.limits.page_max)));
        let part = (self.operation == Operation::GetManifest)
            .then(|| ParsedValue::Word(ManifestPart::Speaking.as_str()));
        for (name, value) in [("limit", limit), ("part", part)] {
            let is_out = given(name).is_none() && !self.wrong.contains(&name);
            if let Some(value) = value.filter(|_| is_out) {
                self.given.push((name, value));
                return;
            }
        }
    }

    fn call(mut self) -> Result<Call> {
        for field in self.operation.spec().fields.iter().filter(|field| field.required) {
            let there = self.given.iter().any(|(name, _)| *name == field.name)
                || self.wrong.contains(&field.name);
            // Missing proof is a refusal of its own, and the last one.
            if !there && field.field_type != FieldType::Evidence {
                let detail = format!("`{}` is required. {}", field.name, field.doc);
                self.faults.push(field.place, field.name.to_owned(), detail);
                self.wrong.push(field.name);
            }
        }
        let given = call::ParsedArguments::new(std::mem::take(&mut self.given));
        let call = call::assemble(self.operation, given);
        if !self.faults.is_empty() {
            if let Err(refusal) = call {
                self.beside(refusal);
            }
            self.faults.refuse()?;
            return Err(Refusal::internal());
        }
        let call = call?;
        match self.path_fault {
            Some(refusal) => Err(refusal),
            None => Ok(call),
        }
    }

    /// Notes, beside other faults, one that concerns several members, unless it only comes from
    /// one of those.
    fn beside(&mut self, refusal: Refusal) {
        let place = match refusal.reason {
            Reason::InvalidBody => FieldPlace::Body,
            Reason::InvalidParameter => FieldPlace::Query,
            // Missing proof is the last refusal.
            _ => return,
        };
        if let Some(field) = refusal.field
            && !self.wrong.iter().any(|name| **name == *field || *name == "format")
        {
            self.faults.push(place, field.into(), refusal.detail);
        }
    }
}

/// Where an argument belongs that the table does not know.
fn default_place(operation: Operation) -> FieldPlace {
    if operation.has_body() { FieldPlace::Body } else { FieldPlace::Query }
}

/// 400 at `field`, a JSON Pointer without the first slash; `None` where no single member is at
/// fault.
fn at_fault(place: FieldPlace, field: Option<String>, detail: Cow<'static, str>) -> Refusal {
    match place {
        FieldPlace::Body => Refusal::body(field, detail),
        FieldPlace::Path(_) | FieldPlace::Query => {
            Refusal { field: field.map(String::into_boxed_str), ..Refusal::parameters(detail) }
        }
    }
}

/// The detail of a member that the operation does not have.
fn unknown(operation: Operation, place: FieldPlace) -> String {
    let fields = operation.spec().fields.iter();
    let names = fields.filter(|field| field.field_type != FieldType::Ignored).filter(|field| {
        // Over MCP all fields are arguments; over HTTP this may name one of the path too.
        place == FieldPlace::Body || field.place != FieldPlace::Body
    });
    let names: Vec<&str> = names.map(|field| field.name).collect();
    if names.is_empty() {
        format!("`{}` takes no fields.", operation.as_str())
    } else {
        format!("`{}` has no such field. It takes: {}.", operation.as_str(), names.join(", "))
    }
}

/// The words of a fault whose place in the text is not known.
fn fault_detail(kind: JsonFaultKind) -> &'static str {
    match kind {
        JsonFaultKind::Malformed => "This is not JSON (RFC 8259, UTF-8). Send one JSON object.",
        JsonFaultKind::Duplicate => "A member is given twice. Give it once.",
        JsonFaultKind::Surrogate => "A string holds an unpaired surrogate, which is no character.",
        JsonFaultKind::Number => "This is no JSON number.",
        JsonFaultKind::TooDeep => {
            numbered!(
                "Objects and arrays nest deeper than " {NESTING_MAX}
                ". Nothing here needs that."
            )
        }
    }
}

/// A fault of `text`, the arguments: the place of the outermost member on the way to it decides.
fn argument_fault(operation: Operation, fault: &JsonFault, text: &[u8]) -> Refusal {
    let first = fault.field().and_then(|pointer| pointer.split('/').next());
    let place = match first.and_then(|name| operation.field(name)) {
        Some(field) => field.place,
        None if first == Some(KEY_ARGUMENT) => FieldPlace::Query,
        None => default_place(operation),
    };
    // A parameter has no members: it is named itself.
    let field = if place == FieldPlace::Body { fault.field() } else { first };
    at_fault(place, field.map(str::to_owned), fault.told(text).into())
}

#[cfg(test)]
mod tests;
