//! Request bodies and headers from command-line arguments.

use std::io::Read;

use serde_json::{Map, Value, json};

use crate::cli::client::ExtraHeaders;
use crate::cli::error::{CliError, CliResult};

/// The largest text that is read from standard input, in bytes: above the limit of any body, so
/// that the server refuses it.
const STDIN_BYTES_MAX: u64 = 1 << 20;

/// The argument, or for `-` standard input without its final line end, which the shell adds.
pub fn text_or_stdin(given: &str) -> CliResult<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(STDIN_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// An object of the members that have a value.
pub fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

/// The member `from` for an extension.
pub fn from(extension: Option<&str>) -> Option<Value> {
    extension.map(|extension| json!({ "extension": extension }))
}

/// The header of an idempotency key.
pub fn key(key: Option<&String>) -> Vec<(hyper::header::HeaderName, &str)> {
    let name = hyper::header::HeaderName::from_static("idempotency-key");
    key.map(|key| (name, key.as_str())).into_iter().collect()
}

/// A parser for the words of a table of the protocol.
pub fn words<const N: usize>(words: [&'static str; N]) -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(words)
}

/// No additional header.
pub const NO_EXTRA: ExtraHeaders<'static> = &[];
