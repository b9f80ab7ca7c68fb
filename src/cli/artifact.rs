//! `parley artifact`: canonical form, identity, semantics and closure of artifacts in files,
//! without a server (artifacts.md §4).

use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use parley_protocol::artifact::closure::{self, VerifyOptions as ClosureOptions};
use parley_protocol::artifact::collection::Collection;
use parley_protocol::artifact::{
    ARTIFACT_BYTES_MAX, ArtifactFault, ArtifactVerdict, ClosureReport, Identifier, NESTING_MAX,
    canonicalize, identity,
};
use parley_protocol::json;
use serde::Serialize;

use crate::cli::error::{CliError, CliResult};
use crate::cli::output;

const EXAMPLES: &str = "Examples:
  parley artifact id claim.json
  parley artifact canonical - < claim.json
  parley artifact validate claim.json
  parley artifact closure --target sha256:… --strict ./store";

/// The arguments of `parley artifact`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct ArtifactArgs {
    #[command(subcommand)]
    command: ArtifactCommand,
}

#[derive(Debug, Subcommand)]
enum ArtifactCommand {
    /// Print the identifier that the artifact must have.
    Id(ArtifactFileArgs),
    /// Print the canonical bytes and one line feed.
    Canonical(ArtifactFileArgs),
    /// Compare the identifier that it states with the one computed.
    Verify(ArtifactFileArgs),
    /// Verify it, then examine what it says.
    Validate(ArtifactFileArgs),
    /// Verify everything that targets rest on.
    Closure(ClosureArgs),
}

#[derive(Debug, Args)]
struct ArtifactFileArgs {
    /// The artifact; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
struct ClosureArgs {
    /// A decision, a termination or any other tip; may be repeated
    #[arg(long = "target", value_name = "ID", required = true, value_parser = identifier)]
    targets: Vec<Identifier>,
    /// Cover objections too that nothing in the closure refers to
    #[arg(long)]
    strict: bool,
    /// Artifacts: files (*.jsonl has one a line), folders of such, - is standard input
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,
}

fn identifier(text: &str) -> Result<Identifier, String> {
    text.parse().map_err(|_| "give sha256: and 64 lowercase hex digits".to_owned())
}

/// The output of `id`.
#[derive(Debug, Serialize)]
struct PrintedIdentifier {
    ok: bool,
    artifact_id: Identifier,
}

/// The output for a refused artifact.
#[derive(Debug, Serialize)]
struct PrintedRefusal<'a> {
    ok: bool,
    class: &'a str,
    pointer: &'a str,
    detail: &'a str,
}

/// Runs the subcommand.
pub fn run(options: ArtifactArgs) -> CliResult {
    match options.command {
        ArtifactCommand::Id(ArtifactFileArgs { file }) => {
            let canonical = canonicalize(&read_one(&file)?).map_err(|fault| refused(&fault, ""))?;
            print(&PrintedIdentifier { ok: true, artifact_id: identity::compute(&canonical) })
        }
        ArtifactCommand::Canonical(ArtifactFileArgs { file }) => {
            let canonical = canonicalize(&read_one(&file)?).map_err(|fault| refused(&fault, ""))?;
            let mut bytes = canonical.bytes();
            bytes.push(b'\n');
            output::bytes(&bytes)
        }
        ArtifactCommand::Verify(one) => print_verdict(&one.file, ArtifactVerdict::verify),
        ArtifactCommand::Validate(one) => print_verdict(&one.file, ArtifactVerdict::validate),
        ArtifactCommand::Closure(options) => close(&options),
    }
}

/// Prints one line of JSON unchanged: programs compare bytes.
fn print(value: &impl Serialize) -> CliResult {
    let mut line = serde_json::to_vec(value)
        .map_err(|error| CliError::failed(format!("the answer cannot be written: {error}")))?;
    line.push(b'\n');
    output::bytes(&line)
}

/// Prints the verdict on a file; one that is not ok fails with its first violation.
fn print_verdict(file: &Path, judge: fn(&[u8]) -> ArtifactVerdict) -> CliResult {
    let verdict = judge(&read_one(file)?);
    print(&verdict)?;
    let (Some(class), Some(detail)) = (verdict.class, verdict.detail) else { return Ok(()) };
    let place = place(verdict.pointer.as_deref().unwrap_or_default());
    Err(CliError::failed(format!("{class}{place}: {detail}")))
}

fn close(options: &ClosureArgs) -> CliResult {
    let mut collection = Collection::default();
    for path in &options.paths {
        add(&mut collection, path)?;
    }
    let how = if options.strict { ClosureOptions::STRICT } else { ClosureOptions::LITERAL };
    let Ok(report) = closure::verify(&collection, &options.targets, how);
    print(&report)?;
    if report.ok { Ok(()) } else { Err(CliError::failed(sentence(&report))) }
}

/// The first failure, and how many more there are.
fn sentence(report: &ClosureReport) -> String {
    let Some(failure) = report.failures.first() else {
        return "the closure does not verify".to_owned();
    };
    let more = match report.failures.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more in the report)"),
    };
    let place = place(&failure.pointer);
    format!("{}{place}: {} {}{more}", failure.class, failure.artifact_id, failure.detail)
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at {pointer}") }
}

/// Prints a fault and returns it as a failure. `source` names the file, where there are several.
fn refused(fault: &ArtifactFault, source: &str) -> CliError {
    let detail = format!("{source}{}", fault.detail);
    let line = PrintedRefusal {
        ok: false,
        class: fault.class.as_str(),
        pointer: &fault.pointer,
        detail: &detail,
    };
    match print(&line) {
        Ok(()) => CliError::failed(format!("{}{}: {detail}", fault.class, place(&fault.pointer))),
        Err(failure) => failure,
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn cannot_read(path: &Path, error: &std::io::Error) -> CliError {
    CliError::failed(format!("cannot read {}: {error}", path.display()))
}

/// The bytes of one artifact; of a longer file one byte more than the limit.
fn read_one(path: &Path) -> CliResult<Vec<u8>> {
    let read = |reader: &mut dyn Read| {
        let mut bytes = Vec::new();
        reader.take(ARTIFACT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = if is_stdin(path) {
        read(&mut stdin().lock())
    } else {
        File::open(path).and_then(|mut file| read(&mut file))
    };
    bytes.map_err(|error| cannot_read(path, &error))
}

/// Adds the artifacts at `path`: a directory's `*.json` and `*.jsonl`, one of a file, or one a
/// line.
fn add(collection: &mut Collection, path: &Path) -> CliResult {
    if is_stdin(path) {
        let mut bytes = Vec::new();
        let read = stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| cannot_read(path, &error))?;
        // Standard input has no file ending: it holds one artifact if it is one JSON value.
        if json::parse(&bytes, NESTING_MAX).is_ok() {
            return add_one(collection, &bytes, path);
        }
        return add_lines(collection, &bytes, path);
    }
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| cannot_read(path, &error))?;
        let mut files = Vec::new();
        for entry in entries {
            let file = entry.map_err(|error| cannot_read(path, &error))?.path();
            if file.is_file() && (has_ending(&file, "json") || has_ending(&file, "jsonl")) {
                files.push(file);
            }
        }
        // The first fault must not depend on the order of the directory.
        files.sort();
        return files.iter().try_for_each(|file| add_file(collection, file));
    }
    add_file(collection, path)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}

fn add_file(collection: &mut Collection, path: &Path) -> CliResult {
    if has_ending(path, "jsonl") {
        let bytes = std::fs::read(path).map_err(|error| cannot_read(path, &error))?;
        return add_lines(collection, &bytes, path);
    }
    add_one(collection, &read_one(path)?, path)
}

fn add_lines(collection: &mut Collection, bytes: &[u8], path: &Path) -> CliResult {
    let added = collection.add_lines(bytes);
    added.map_err(|(line, fault)| refused(&fault, &format!("{}:{line}: ", path.display())))
}

fn add_one(collection: &mut Collection, bytes: &[u8], path: &Path) -> CliResult {
    let added = collection.add(bytes).map(|_| ());
    added.map_err(|fault| refused(&fault, &format!("{}: ", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: lines are read one by one, blank ones skipped, and a fault names its line. Method:
    /// three lines, then a broken one.
    #[test]
    fn lines() {
        let artifact = |statement: &str| {
            let text = format!(
                r#"{{"protocol_version":"0.1","artifact_type":"CLAIM","references":[],
                    "payload":{{"statement":"{statement}"}}}}"#
            );
            let canonical = canonicalize(text.as_bytes()).unwrap();
            let id = identity::compute(&canonical);
            let text =
                text.replace('\n', " ").replacen('{', &format!(r#"{{"artifact_id":"{id}","#), 1);
            (id, text)
        };
        let (first, second) = (artifact("a"), artifact("b"));
        let mut collection = Collection::default();
        let text = format!("{}\n\n{}\r\n", first.1, second.1);
        add_lines(&mut collection, text.as_bytes(), Path::new("x.jsonl")).unwrap();
        assert_eq!(collection.len(), 2);
        let options = ClosureArgs { targets: vec![first.0], strict: true, paths: Vec::new() };
        let Ok(report) = closure::verify(&collection, &options.targets, ClosureOptions::STRICT);
        assert!(report.ok, "{report:?}");
        let failed = add_lines(&mut collection, b"\n{", Path::new("x.jsonl"));
        let Err(CliError::Failed(line)) = failed else { panic!("not refused") };
        assert!(line.starts_with("malformed_input: x.jsonl:2: "), "{line}");
    }

    /// Goal: the sentence names the place. Method: with and without a pointer.
    #[test]
    fn places() {
        assert_eq!(place(""), "");
        assert_eq!(place("/payload"), " at /payload");
    }
}
