//! `parley post`: posts a message.

use clap::Args;
use parley_protocol::act::Kind;
use parley_protocol::limits::BODY_MAX;

use crate::cli::error::CliResult;
use crate::cli::server::ServerArgs;
use crate::cli::{render, request};

const EXAMPLES: &str = "Examples:
  parley post 'How do we name the flag?'
  parley post --thread th_1 'Call it --since.'
  parley post --thread th_1 --kind object --parent msg_2 'That name is taken.'
  git log -1 --format=%s | parley post --thread th_1 --kind inform -";

/// The arguments of `parley post`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PostArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread; without one an ask opens a new one
    #[arg(long, value_name = "T")]
    thread: Option<String>,
    /// The message that this one replies to
    #[arg(long, value_name = "M")]
    parent: Option<String>,
    /// The act: by default `ask` without a thread, `answer` with one
    #[arg(long, value_name = "K", value_parser = request::words(Kind::ALL.map(Kind::as_str)))]
    kind: Option<String>,
    /// Speak as this extension of the token's line
    #[arg(long, value_name = "E")]
    extension: Option<String>,
    /// An idempotency key: the same again gives the first outcome
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[arg(value_name = "BODY")]
    #[arg(help = body_help())]
    body: String,
}

fn body_help() -> String {
    format!(
        "What to say, 1 to {BODY_MAX} characters; - reads it from standard input, and after -- \
         it may begin with a hyphen"
    )
}

/// Posts a message and prints it with the state of its thread.
pub async fn run(options: PostArgs) -> CliResult {
    let client = options.server.client()?;
    let kind = options.kind.unwrap_or_else(|| {
        let kind = if options.thread.is_some() { Kind::Answer } else { Kind::Ask };
        kind.as_str().to_owned()
    });
    let envelope = request::object([
        ("parley", Some("1".into())),
        ("kind", Some(kind.into())),
        ("thread", options.thread.map(Into::into)),
        ("parent", options.parent.map(Into::into)),
        ("from", request::from(options.extension.as_deref())),
        ("body", Some(request::text_or_stdin(&options.body)?.into())),
    ]);
    let key = request::key(options.key.as_ref());
    let answer = client.post("/v1/messages", &envelope, &key).await?;
    options.server.print(&answer, |answer| {
        let message = render::message(&answer["message"], 0);
        format!("{message}{}\n", render::head(&answer["thread"]))
    })
}
