//! `parley inbox`: the threads that wait for a reply.

use std::fmt::Write as _;

use clap::{ArgAction, Args};
use serde_json::Value;

use crate::cli::client::with_query;
use crate::cli::error::CliResult;
use crate::cli::render;
use crate::cli::server::ServerArgs;
use crate::cli::text::in_one_line;

const EXAMPLES: &str = "Examples:
  parley inbox
  parley inbox --extension worker-2 --wait 25
  parley inbox --since CURSOR --anyone=false --json";

/// The arguments of `parley inbox`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InboxArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The inbox of this extension; else of the whole line
    #[arg(long, value_name = "E")]
    extension: Option<String>,
    /// Only what came after this cursor
    #[arg(long, value_name = "C")]
    since: Option<String>,
    /// Hold the answer back for up to so many seconds until there is something
    #[arg(long, value_name = "S")]
    wait: Option<u64>,
    /// At most so many items
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Whether questions to anyone are shown
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, default_value_t = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    anyone: bool,
}

/// Reads the inbox and prints it.
pub async fn run(options: InboxArgs) -> CliResult {
    let parameters = [
        ("extension", options.extension),
        ("since", options.since),
        ("limit", options.limit.map(|limit| limit.to_string())),
        ("wait_seconds", options.wait.map(|wait| wait.to_string())),
        ("anyone", (!options.anyone).then(|| "false".to_owned())),
    ];
    let path = with_query("/v1/inbox", &parameters);
    let answer = options.server.client()?.get(&path).await?;
    options.server.print(&answer, page)
}

fn page(page: &Value) -> String {
    let mut text = String::new();
    for item in page["items"].as_array().into_iter().flatten() {
        text.push_str(&render::thread(&item["thread"]));
        text.push_str(&render::message(&item["message"], 1));
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("Nothing waits for you.\n");
    }
    let cursor = in_one_line(page["cursor"].as_str().unwrap_or_default());
    let more = if page["more"] == true { "There is more: go" } else { "Go" };
    let _ = writeln!(text, "{more} on with --since {cursor}");
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Goal: an empty inbox and one with more to come both say how to go on. Method: both pages.
    #[test]
    fn pages_say_how_to_go_on() {
        let empty = page(&json!({ "items": [], "cursor": "16.0.ab", "more": false }));
        assert_eq!(empty, "Nothing waits for you.\nGo on with --since 16.0.ab\n");
        let more = page(&json!({ "items": [{}], "cursor": "32.0.cd", "more": true }));
        assert!(more.ends_with("There is more: go on with --since 32.0.cd\n"), "{more}");
    }
}
