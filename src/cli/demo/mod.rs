//! `parley demo`: starts a forum, holds a conversation over HTTP in it, prints and checks each
//! step, then removes the forum.

mod conversation;
mod forum;
mod participants;
mod script;

use clap::Args;

use crate::cli::error::{CliError, CliResult};
use crate::cli::{output, runtime};
use crate::lifecycle::Signals;

/// The demo takes no options.
#[derive(Debug, Args)]
pub struct DemoArgs {}

/// Runs the demo; fails at the first step whose answer is not the expected one.
pub fn run(_: DemoArgs) -> CliResult {
    runtime(tokio::runtime::Builder::new_multi_thread())?.block_on(async {
        let mut signals = Signals::new()
            .map_err(|error| CliError::failed(format!("signals cannot be heard: {error}")))?;
        let forum = forum::DemoForum::start().await?;
        let outcome = tokio::select! {
            outcome = converse(&forum) => outcome,
            _ = signals.next() => Err(CliError::failed("a signal ended the demo")),
        };
        forum.stop().await.and(outcome)
    })
}

async fn converse(forum: &forum::DemoForum) -> CliResult {
    let url = &forum.admin.url;
    output::text(&format!("A forum of its own listens on {url}; it is gone when this ends.\n"))?;
    let participants = participants::DemoParticipants::create(&forum.admin).await?;
    script::run(&participants, conversation::Conversation::default()).await
}
