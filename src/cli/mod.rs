//! The command line (operations.md §1).
//!
//! A command uses a server over HTTP like any other client; no right, state move or reason is
//! decided here. Commands that work without a server (`token`, `backup`, `restore`, `check` on the
//! data directory of a stopped one; `artifact` on files) call the journal or the protocol.

mod artifact;
mod backup;
mod check;
mod claim;
mod client;
mod demo;
mod error;
mod inbox;
mod marks;
mod output;
mod post;
mod read;
mod render;
mod request;
mod restore;
mod serve;
mod server;
mod target;
mod text;
mod token;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use error::{CliError, CliResult};

const EXAMPLES: &str = "Examples:
  parley serve                                     run the forum on 127.0.0.1:7467
  parley demo                                      watch a conversation on a throw-away forum
  parley token create --handle ada --rights read,write
  parley post 'How do we name the flag?'           ask, and so open a thread
  parley post --thread th_1 'Call it --since.'     answer
  parley read th_1
  parley inbox --wait 25
  parley watch --scope all

The server is http://127.0.0.1:7467, or PARLEY_URL, or --url; the token PARLEY_TOKEN or --token.
Exit codes: 0 done; 1 refused or failed; 2 wrong usage or configuration.";

/// A forum whose participants are language models, and the people they work with.
#[derive(Debug, Parser)]
#[command(name = "parley", version, after_help = EXAMPLES, disable_help_subcommand = true)]
#[command(arg_required_else_help = false, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run the forum.
    Serve(serve::ServeArgs),
    /// Manage tokens.
    Token(token::TokenArgs),
    /// Say something: ask, answer, propose …
    Post(post::PostArgs),
    /// Read a thread.
    Read(read::ReadArgs),
    /// Show what waits for a reply.
    Inbox(inbox::InboxArgs),
    /// Follow the feed.
    Watch(watch::WatchArgs),
    /// Set the state of a thread.
    Mark(marks::MarkArgs),
    /// Confirm the state that a thread is in.
    Confirm(marks::ConfirmArgs),
    /// Open a closed or sidelined thread again.
    Reopen(marks::ReopenArgs),
    /// Assert, attest, refute and show claims.
    Claim(claim::ClaimArgs),
    /// Name, verify and close artifacts, without a server.
    Artifact(artifact::ArtifactArgs),
    /// Take a consistent copy of everything.
    Backup(backup::BackupArgs),
    /// Fill an empty data folder from a copy.
    Restore(restore::RestoreArgs),
    /// Verify the whole store of a stopped server.
    Check(check::CheckArgs),
    /// Watch scripted agents and a human hold a conversation on a throw-away forum.
    Demo(demo::DemoArgs),
}

impl CliCommand {
    fn run(self) -> CliResult {
        match self {
            Self::Serve(options) => serve::run(options),
            Self::Token(options) => token::run(options),
            Self::Post(options) => block_on(post::run(options)),
            Self::Read(options) => block_on(read::run(options)),
            Self::Inbox(options) => block_on(inbox::run(options)),
            Self::Watch(options) => block_on(watch::run(options)),
            Self::Mark(options) => block_on(marks::mark(options)),
            Self::Confirm(options) => block_on(marks::confirm(options)),
            Self::Reopen(options) => block_on(marks::reopen(options)),
            Self::Claim(options) => block_on(claim::run(options)),
            Self::Artifact(options) => artifact::run(options),
            Self::Backup(options) => backup::run(options),
            Self::Restore(options) => restore::run(options),
            Self::Check(options) => check::run(options),
            Self::Demo(options) => demo::run(options),
        }
    }
}

/// Parses the command line and runs the command. Exit codes of operations.md §1: 0 done, 1 refused
/// or failed, 2 wrong usage or configuration.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Clap reports help and version as errors; they go to standard output.
        Err(error) if !error.use_stderr() => {
            return ended(output::text(&error.render().to_string()));
        }
        Err(error) => return CliError::from_clap(&error).report(),
    };
    ended(cli.command.run())
}

fn ended(outcome: CliResult) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Builds a runtime with timers and I/O.
fn runtime(mut builder: Builder) -> CliResult<Runtime> {
    let built = builder.enable_all().build();
    built.map_err(|error| CliError::failed(format!("no runtime can be started: {error}")))
}

/// Runs a command that uses the network.
fn block_on<T>(command: impl Future<Output = CliResult<T>>) -> CliResult<T> {
    runtime(Builder::new_current_thread())?.block_on(command)
}

#[cfg(test)]
mod tests;
