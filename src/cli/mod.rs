//! The command line (operations.md §1).
//!
//! A command speaks to a server over HTTP as any other client does: no right, state move or
//! reason is decided here. What works without a server (`token`, `backup`, `restore`, `check` on
//! a stopped data folder; `artifact` on files) calls the journal or the protocol itself.

mod artifact;
mod backup;
mod check;
mod claim;
mod client;
mod demo;
mod failure;
mod folder;
mod inbox;
mod output;
mod post;
mod read;
mod render;
mod restore;
mod serve;
mod server;
mod speech;
mod steer;
mod text;
mod token;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::{Failure, Outcome};

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
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the forum.
    Serve(serve::Options),
    /// Manage tokens.
    Token(token::Options),
    /// Say something: ask, answer, propose …
    Post(post::Options),
    /// Read a thread.
    Read(read::Options),
    /// Show what waits for a reply.
    Inbox(inbox::Options),
    /// Follow the feed.
    Watch(watch::Options),
    /// Set the state of a thread.
    Mark(steer::MarkOptions),
    /// Confirm the state that a thread is in.
    Confirm(steer::ConfirmOptions),
    /// Open a closed or sidelined thread again.
    Reopen(steer::ReopenOptions),
    /// Assert, attest, refute and show claims.
    Claim(claim::Options),
    /// Name, verify and close artifacts, without a server.
    Artifact(artifact::Options),
    /// Take a consistent copy of everything.
    Backup(backup::Options),
    /// Fill an empty data folder from a copy.
    Restore(restore::Options),
    /// Verify the whole store of a stopped server.
    Check(check::Options),
    /// Watch scripted agents and a human hold a conversation on a throw-away forum.
    Demo(demo::Options),
}

impl Command {
    fn run(self) -> Outcome {
        match self {
            Self::Serve(options) => serve::run(options),
            Self::Token(options) => token::run(options),
            Self::Post(options) => block_on(post::run(options)),
            Self::Read(options) => block_on(read::run(options)),
            Self::Inbox(options) => block_on(inbox::run(options)),
            Self::Watch(options) => block_on(watch::run(options)),
            Self::Mark(options) => block_on(steer::mark(options)),
            Self::Confirm(options) => block_on(steer::confirm(options)),
            Self::Reopen(options) => block_on(steer::reopen(options)),
            Self::Claim(options) => block_on(claim::run(options)),
            Self::Artifact(options) => artifact::run(options),
            Self::Backup(options) => backup::run(options),
            Self::Restore(options) => restore::run(options),
            Self::Check(options) => check::run(options),
            Self::Demo(options) => demo::run(options),
        }
    }
}

/// Reads the command line and does what it says. The exit code is that of operations.md §1: 0
/// done, 1 refused or failed, 2 wrong usage or configuration.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version come this way too; they belong on standard output and are no error.
        Err(error) if !error.use_stderr() => {
            return ended(output::text(&error.render().to_string()));
        }
        Err(error) => return Failure::from_clap(&error).tell(),
    };
    ended(cli.command.run())
}

fn ended(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}

/// Runs what speaks over the network on a runtime of its own.
fn block_on<T>(command: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::failed(format!("no runtime can be started: {error}")))?;
    runtime.block_on(command)
}

#[cfg(test)]
mod tests;
