//! `parley read`: prints a thread.

use clap::Args;

use crate::cli::client::encode;
use crate::cli::error::CliResult;
use crate::cli::server::ServerArgs;
use crate::cli::{output, render};

const EXAMPLES: &str = "Examples:
  parley read th_1
  parley read 1 --flat --json";

/// The arguments of `parley read`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReadArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    /// In order of creation instead of as a tree; a thread of any length
    #[arg(long)]
    flat: bool,
}

/// Reads the thread and prints it.
pub async fn run(options: ReadArgs) -> CliResult {
    let client = options.server.client()?;
    let path = format!("/v1/threads/{}", encode(&options.thread));
    if options.server.json && !options.flat {
        return output::json(&client.get(&path).await?.text);
    }
    // The tree is built here, so that neither its messages nor its depth are bounded.
    let format = [("format", Some("flat".to_owned()))];
    let mut thread = client.pages(&path, &format, "messages", "since").await?;
    if options.server.json {
        return output::json(&thread.to_string());
    }
    let messages = thread["messages"].take();
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let messages = if options.flat {
        messages.iter().map(|message| render::message(message, 0)).collect()
    } else {
        render::tree(messages)
    };
    output::text(&format!("{}\n{messages}", render::thread(&thread)))
}
