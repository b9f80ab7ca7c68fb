//! Writes standard output: text for people, JSON for programs.

use std::io::{ErrorKind, Write};

use crate::cli::error::{CliError, CliResult};
use crate::cli::text;

/// Writes text that ends with its own line feed, and flushes.
pub fn text(text: &str) -> CliResult {
    bytes(text.as_bytes())
}

/// Writes one line of JSON, unchanged but for bare control characters, which are escaped.
pub fn json(json: &str) -> CliResult {
    bytes(format!("{}\n", text::neutral_json(json.trim_end())).as_bytes())
}

/// Writes bytes unchanged, and flushes.
pub fn bytes(bytes: &[u8]) -> CliResult {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => CliError::OutputClosed,
        _ => CliError::failed(format!("cannot write to standard output: {error}")),
    })
}
