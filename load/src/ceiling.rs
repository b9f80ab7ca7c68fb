//! The same machine without the forum: what the bare parts reach that a forum is made of.
//!
//! Each runs in a process of its own, started from this same program by a name that help does not
//! show, so that generator and server are as far apart as they are when a forum is measured.

mod actors;
pub mod feed;
mod process;
mod writes;

use std::path::PathBuf;

use anyhow::Context as _;

pub use self::process::CeilingProcess;

/// The hidden name of the ceiling for writes.
pub const WRITES: &str = "ceiling-server";
/// The hidden name of the ceiling for feeds.
pub const FEEDS: &str = "ceiling-feed";
/// The hidden name of the idle actors.
pub const ACTORS: &str = "ceiling-actors";

/// Plays a part, if the first argument names one.
pub fn run_hidden(arguments: &[String]) -> Option<anyhow::Result<()>> {
    let name = arguments.get(1)?.as_str();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
    let part = || -> anyhow::Result<()> {
        // A harness that is killed takes its ceilings along: their standard input ends then.
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(0);
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        match name {
            WRITES => {
                let folder = PathBuf::from(arguments.get(2).context("no folder")?);
                runtime.block_on(writes::serve(folder, number(3), number(4)))
            }
            FEEDS => runtime.block_on(feed::serve()),
            _ => runtime.block_on(actors::serve(number(3))),
        }
    };
    matches!(name, WRITES | FEEDS | ACTORS).then(part)
}
