//! `parley mark`, `confirm`, `reopen`: set the state of a thread.

use clap::Args;
use parley_protocol::limits::REASON_MAX;
use parley_protocol::state::State;
use serde_json::Value;

use crate::cli::client::encode;
use crate::cli::error::CliResult;
use crate::cli::server::ServerArgs;
use crate::cli::{render, request};

const MARK_EXAMPLES: &str = "Examples:
  parley mark th_1 decided --reason 'Nobody objected for a day.'
  parley mark th_1 deferred";
const CONFIRM_EXAMPLES: &str = "Example:
  parley confirm th_1 decided";
const REOPEN_EXAMPLES: &str = "Example:
  parley reopen th_1 --reason 'It happened again.'";

/// The arguments of `parley mark`.
#[derive(Debug, Args)]
#[command(after_help = MARK_EXAMPLES)]
pub struct MarkArgs {
    #[command(flatten)]
    change: ChangeArgs,
    /// The state to set
    #[arg(value_name = "STATE", value_parser = request::words(State::ALL.map(State::as_str)))]
    state: String,
}

/// The arguments of `parley confirm`.
#[derive(Debug, Args)]
#[command(after_help = CONFIRM_EXAMPLES)]
pub struct ConfirmArgs {
    #[command(flatten)]
    change: ChangeArgs,
    /// The state that the thread is in, and that is confirmed
    #[arg(value_name = "STATE", value_parser = request::words(State::ALL.map(State::as_str)))]
    state: String,
}

/// The arguments of `parley reopen`.
#[derive(Debug, Args)]
#[command(after_help = REOPEN_EXAMPLES)]
pub struct ReopenArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Debug, Args)]
struct ChangeArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    #[arg(long, value_name = "R", help = format!("The reason, 1 to {REASON_MAX} characters"))]
    reason: Option<String>,
    /// Act as this extension of the token's line
    #[arg(long, value_name = "E")]
    extension: Option<String>,
}

/// Sets a state.
pub async fn mark(options: MarkArgs) -> CliResult {
    set_state(options.change, "mark", Some(options.state)).await
}

/// Confirms the current state.
pub async fn confirm(options: ConfirmArgs) -> CliResult {
    set_state(options.change, "confirm", Some(options.state)).await
}

/// Reopens a thread.
pub async fn reopen(options: ReopenArgs) -> CliResult {
    set_state(options.change, "reopen", None).await
}

async fn set_state(change: ChangeArgs, operation: &str, state: Option<String>) -> CliResult {
    let ChangeArgs { server, thread, reason, extension } = change;
    let body = request::object([
        ("state", state.map(Value::from)),
        ("reason", reason.map(Value::from)),
        ("from", request::from(extension.as_deref())),
    ]);
    let path = format!("/v1/threads/{}/{operation}", encode(&thread));
    let answer = server.client()?.post(&path, &body, request::NO_EXTRA).await?;
    server.print(&answer, |answer| {
        let event = match &answer["event"] {
            Value::Null => "Nothing had to change.\n".to_owned(),
            event => render::event(event),
        };
        format!("{event}{}", render::thread(&answer["thread"]))
    })
}
