//! Strict JSON: a reader that reports the place of every fault.
//!
//! The rules of `parley.md` §2 and of the canonical profile (`artifacts.md` §1) cannot be
//! had from a lenient reader: a number is judged by its text and never by way of a float, a
//! member given twice is a fault even in an ignored value, and a refusal names the
//! member. So this reader keeps numbers, duplicates and places. Its time is linear in its
//! input, apart from the sorting of an object's names, and its recursion is bounded by the
//! admitted nesting.

mod explain;
mod reader;
mod value;

pub use value::{JsonMember, JsonNumber, JsonObject, JsonValue};

use explain::Wanted;
use reader::JsonReader;

/// The deepest nesting any caller may admit (`artifacts.md` §3.3); it bounds the reader's
/// own recursion.
pub const NESTING_CEILING: usize = 64;

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFaultKind {
    /// No JSON: bad syntax, invalid UTF-8, a byte-order mark, no input, or something after
    /// the value.
    Malformed,
    /// A member name given twice in one object, compared after unescaping.
    Duplicate,
    /// An unpaired surrogate in a string or in a name.
    Surrogate,
    /// One of the texts `NaN`, `Infinity` and `-Infinity` where a value belongs.
    Number,
    /// Objects and arrays nested deeper than admitted; the top level has nesting 1.
    TooDeep,
}

/// A refusal and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// Why.
    pub kind: JsonFaultKind,
    /// An RFC 6901 JSON Pointer: the member given twice, the value at fault, or, for an
    /// unpaired surrogate in a name, the object that holds it. Empty for the top level and
    /// for a text that is no JSON, where no single member is at fault.
    pub pointer: String,
    /// The byte at which, counted from 0; the length of the text if it ends too early.
    pub at: usize,
    /// What a text that is no JSON lacks there.
    wanted: Wanted,
}

impl JsonFault {
    /// The pointer as refusals name it (`parley.md` §2): without the first slash, `None`
    /// where no single member is at fault.
    pub fn field(&self) -> Option<&str> {
        self.pointer.strip_prefix('/')
    }

    /// A fault of the top level at a byte.
    fn new(kind: JsonFaultKind, at: usize) -> Self {
        Self { kind, pointer: String::new(), at, wanted: Wanted::default() }
    }

    /// The same, seen from one level further out, where the value stands at `name`. A text that is
    /// no JSON has no members to be at fault.
    fn under(mut self, name: &str) -> Self {
        if self.kind != JsonFaultKind::Malformed {
            self.pointer.insert_str(0, &format!("/{}", token(name)));
        }
        self
    }
}

/// Reads one JSON value, refusing every fault of [`JsonFaultKind`].
///
/// `nesting_max` counts objects and arrays, the top level being 1; values above
/// [`NESTING_CEILING`] count as that. With several faults, one of them is returned.
pub fn parse(bytes: &[u8], nesting_max: usize) -> Result<JsonValue, JsonFault> {
    JsonReader::new(bytes, nesting_max, false)?.document()
}

/// Like [`parse`], but an unpaired surrogate is no fault: a string with one becomes
/// [`JsonValue::Surrogate`], in a name it is replaced by U+FFFD (after names were compared).
///
/// For operations with ignored members, inside which only syntax, duplicates and nesting are
/// checked (`parley.md` §2). A field that is read refuses such a value: it is no string.
pub fn parse_keeping_surrogates(bytes: &[u8], nesting_max: usize) -> Result<JsonValue, JsonFault> {
    JsonReader::new(bytes, nesting_max, true)?.document()
}

/// One reference token of a JSON Pointer, escaped by RFC 6901.
pub fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
