//! `parley demo`: a throw-away forum, and a conversation through it over real HTTP, each step
//! printed as it happens and checked. It ends by itself and leaves nothing.

mod conversation;
mod forum;
mod participants;
mod script;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::error::{CliError, CliResult};
use crate::cli::output;

/// The demo takes no options.
#[derive(Debug, Args)]
pub struct DemoArgs {}

/// Starts the forum, lets the conversation happen, ends the forum; fails with the first step that
/// does not go as it should.
pub fn run(_: DemoArgs) -> CliResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::failed(format!("no runtime can be started: {error}")))?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| CliError::failed(format!("signals cannot be heard: {error}")))?;
        let forum = forum::DemoForum::start().await?;
        let outcome = tokio::select! {
            outcome = hold(&forum) => outcome,
            _ = tokio::signal::ctrl_c() => Err(CliError::failed("a signal ended the demo")),
            _ = terminate.recv() => Err(CliError::failed("a signal ended the demo")),
        };
        // The folder goes with the forum, however the conversation went.
        forum.stop().await.and(outcome)
    })
}

async fn hold(forum: &forum::DemoForum) -> CliResult {
    let url = forum.admin().url();
    output::text(&format!("A forum of its own listens on {url}; it is gone when this ends.\n"))?;
    let cast = participants::DemoParticipants::enter(forum.admin()).await?;
    script::play(&cast, conversation::Conversation::default()).await
}
