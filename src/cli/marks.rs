//! `parley mark`, `confirm`, `reopen`: the state of a thread.

use clap::Args;
use parley_protocol::limits::REASON_MAX;
use parley_protocol::numbered;
use parley_protocol::state::State;
use serde_json::Value;

use crate::cli::client::encode;
use crate::cli::error::CliResult;
use crate::cli::server::ServerArgs;
use crate::cli::{output, render, speech};

const MARK_EXAMPLES: &str = "Examples:
  parley mark th_1 decided --reason 'Nobody objected for a day.'
  parley mark th_1 deferred";
const CONFIRM_EXAMPLES: &str = "Example:
  parley confirm th_1 decided";
const REOPEN_EXAMPLES: &str = "Example:
  parley reopen th_1 --reason 'It happened again.'";

/// A mark.
#[derive(Debug, Args)]
#[command(after_help = MARK_EXAMPLES)]
pub struct MarkArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    /// The state to set
    #[arg(value_name = "STATE", value_parser = speech::words(State::ALL.map(State::as_str)))]
    state: String,
    #[command(flatten)]
    why: ReasonArgs,
}

/// A confirmation.
#[derive(Debug, Args)]
#[command(after_help = CONFIRM_EXAMPLES)]
pub struct ConfirmArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    /// The state that the thread is in, and that is confirmed
    #[arg(value_name = "STATE", value_parser = speech::words(State::ALL.map(State::as_str)))]
    state: String,
    #[command(flatten)]
    why: ReasonArgs,
}

/// A reopening.
#[derive(Debug, Args)]
#[command(after_help = REOPEN_EXAMPLES)]
pub struct ReopenArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    #[command(flatten)]
    why: ReasonArgs,
}

/// Why, and as whom.
#[derive(Debug, Args)]
struct ReasonArgs {
    #[arg(long, value_name = "R")]
    #[arg(help = numbered!("The reason, 1 to " {REASON_MAX} " characters"))]
    reason: Option<String>,
    /// Act as this extension of the token's line
    #[arg(long, value_name = "E")]
    extension: Option<String>,
}

/// `parley mark`.
pub async fn mark(options: MarkArgs) -> CliResult {
    let MarkArgs { server, thread, state, why } = options;
    steer(server, &thread, "mark", Some(state), why).await
}

/// `parley confirm`.
pub async fn confirm(options: ConfirmArgs) -> CliResult {
    let ConfirmArgs { server, thread, state, why } = options;
    steer(server, &thread, "confirm", Some(state), why).await
}

/// `parley reopen`.
pub async fn reopen(options: ReopenArgs) -> CliResult {
    let ReopenArgs { server, thread, why } = options;
    steer(server, &thread, "reopen", None, why).await
}

async fn steer(
    server: ServerArgs,
    thread: &str,
    operation: &str,
    state: Option<String>,
    why: ReasonArgs,
) -> CliResult {
    let body = speech::object([
        ("state", state.map(Value::from)),
        ("reason", why.reason.map(Value::from)),
        ("from", speech::from(why.extension.as_deref())),
    ]);
    let path = format!("/v1/threads/{}/{operation}", encode(thread));
    let answer = server.client()?.post(&path, &body, speech::NO_EXTRA).await?;
    if server.json {
        return output::json(&answer.text);
    }
    let answer = answer.json()?;
    let event = match &answer["event"] {
        Value::Null => "Nothing had to change.\n".to_owned(),
        event => render::event(event),
    };
    output::text(&format!("{event}{}", render::thread(&answer["thread"])))
}
