//! The modes, one file each.

pub mod abuse;
mod commits;
pub mod crash;
pub mod fanout;
pub mod idle;
pub mod inbox;
pub mod measurement;
pub mod overload;
mod pairs;
pub mod post;
pub mod read;
mod stalled;
pub mod swarm;

use crate::options::{Mode, Options};
use crate::report::Report;

/// Runs the mode of the options.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    match options.mode {
        Mode::Ceiling => post::ceiling(options).await,
        Mode::Post if pairs::are_stored(options) => pairs::stored(options).await,
        Mode::Hot if pairs::are_prefilled(options) => pairs::prefilled(options).await,
        Mode::Post | Mode::Hot | Mode::Soak => post::run(options).await,
        Mode::Swarm => swarm::run(options).await,
        Mode::Fanout => fanout::run(options).await,
        Mode::Read => read::run(options).await,
        Mode::Idle => idle::run(options).await,
        Mode::Inbox => inbox::run(options).await,
        Mode::Abuse => abuse::run(options).await,
        Mode::Crash => crash::run(options).await,
    }
}
