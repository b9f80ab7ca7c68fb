//! The ceilings: the libraries of a forum without the forum, on the same machine.
//!
//! Each ceiling runs in a process of its own, started from this program by a name that the help
//! does not show, so that the generator shares no process with the ceiling, as with a server.

mod actors;
pub mod feed;
mod process;
mod writes;

use std::path::PathBuf;

use anyhow::Context as _;

pub use self::process::{CeilingKind, CeilingProcess};

/// Runs a ceiling until its parent ends, if the first argument is the name of one.
pub fn run_hidden(arguments: &[String]) -> Option<anyhow::Result<()>> {
    CeilingKind::parse(arguments.get(1)?).map(|kind| serve(kind, arguments))
}

fn serve(kind: CeilingKind, arguments: &[String]) -> anyhow::Result<()> {
    // Standard input closes when the harness ends, even by a kill.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match kind {
        CeilingKind::Writes => {
            let directory = PathBuf::from(arguments.get(2).context("no directory")?);
            runtime.block_on(writes::serve(directory, number(3), number(4)))
        }
        CeilingKind::Feeds => runtime.block_on(feed::serve()),
        CeilingKind::Actors => runtime.block_on(actors::serve(number(3))),
    }
}
