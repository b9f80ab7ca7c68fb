//! Failures of commands: one line on standard error and an exit code (operations.md §1).

use std::io::Write;
use std::process::ExitCode;

use parley_protocol::refusal::Refusal;

use crate::cli::text;

/// The exit code of refusals and failures.
const CODE_FAILED: u8 = 1;
/// The exit code of wrong usage or configuration.
const CODE_USAGE: u8 = 2;

/// A refusal by a server: the problem object of bindings.md §1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable reason.
    pub reason: String,
    /// A sentence on what to do next.
    pub detail: String,
    /// The member at fault, if the server names one.
    pub field: Option<String>,
}

/// The failure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CliError {
    /// Wrong usage or configuration.
    Usage(String),
    /// A server refused.
    Refused(Problem),
    /// Every other failure; the line says what to do.
    Failed(String),
    /// The reader of standard output is gone, which is no failure.
    OutputClosed,
}

/// The result of a command.
pub type CliResult<T = ()> = Result<T, CliError>;

impl From<&Refusal> for CliError {
    fn from(refusal: &Refusal) -> Self {
        Self::Refused(Problem {
            status: refusal.reason.status(),
            reason: refusal.reason.as_str().to_owned(),
            detail: refusal.detail.to_string(),
            field: refusal.field.as_deref().map(str::to_owned),
        })
    }
}

impl CliError {
    /// A failure with this line.
    pub fn failed(line: impl Into<String>) -> Self {
        Self::Failed(line.into())
    }

    /// Wrong usage with this line.
    pub fn usage(line: impl Into<String>) -> Self {
        Self::Usage(line.into())
    }

    /// A usage error of clap, in one line.
    pub fn from_clap(error: &clap::Error) -> Self {
        Self::Usage(one_line(&error.render().to_string()))
    }

    /// The line without `error: `; `None` if nothing is printed.
    fn line(&self) -> Option<String> {
        match self {
            Self::Usage(line) | Self::Failed(line) => Some(line.clone()),
            Self::Refused(problem) => {
                let field = problem.field.as_ref().map(|field| format!(" (field {field})"));
                let field = field.unwrap_or_default();
                Some(format!("{}: {}{field}", problem.reason, problem.detail))
            }
            Self::OutputClosed => None,
        }
    }

    /// Prints the line and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if let Some(line) = self.line() {
            let line = text::in_one_line(&line);
            // A standard error that cannot be written leaves no place for a message.
            let _ = writeln!(std::io::stderr().lock(), "error: {line}");
        }
        match self {
            Self::Usage(_) => CODE_USAGE.into(),
            Self::Refused(_) | Self::Failed(_) => CODE_FAILED.into(),
            Self::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

/// Joins clap's paragraphs before the usage: the error, tips, and a pointer to help.
fn one_line(rendered: &str) -> String {
    let mut parts = Vec::new();
    for line in rendered.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        parts.push(line.strip_prefix("error: ").unwrap_or(line));
    }
    format!("{} (see --help)", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a usage error is one line that keeps what was wrong. Method: two forms as clap
    /// renders them.
    #[test]
    fn usage_errors_are_one_line() {
        let missing = "error: the following required arguments were not provided:\n  <BODY>\n\n\
                       Usage: parley post <BODY>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(missing),
            "the following required arguments were not provided: <BODY> (see --help)"
        );
        let unknown = "error: unexpected argument '--foo' found\n\n  tip: use '-- --foo'\n\n\
                       Usage: parley post <BODY>\n";
        assert_eq!(
            one_line(unknown),
            "unexpected argument '--foo' found tip: use '-- --foo' (see --help)"
        );
    }

    /// Goal: a refusal names reason, detail and field. Method: one of each form.
    #[test]
    fn refusals_name_the_field() {
        let problem = |field: Option<&str>| {
            CliError::Refused(Problem {
                status: 400,
                reason: "invalid_body".into(),
                detail: "Too long.".into(),
                field: field.map(str::to_owned),
            })
            .line()
        };
        assert_eq!(problem(None).as_deref(), Some("invalid_body: Too long."));
        assert_eq!(problem(Some("body")).as_deref(), Some("invalid_body: Too long. (field body)"));
        assert_eq!(CliError::OutputClosed.line(), None);
    }
}
