//! The binary as a shell runs it: what it prints where, and how it ends (operations.md §1).

mod artifacts;
mod conversation;
mod demo;
mod serving;
mod tokens;
mod usage;
mod watching;

use parley_kit::process::run;
use parley_kit::{Ended, Folder, Process};

/// A server on the data in `folder`.
fn serve(folder: &Folder) -> Process {
    Process::start(&folder.text("data"), &["--log-level", "warn"])
}

/// A new token, made by the command line.
fn token(server: &Process, arguments: &[&str]) -> String {
    let line = ["token", "create", "--url", &server.url(), "--data", server.data()];
    run(&[&line, arguments].concat()).succeeded().trim_end().to_owned()
}

/// Holds that a command was refused for `reason`, which its line on standard error begins with.
fn refused(ended: &Ended, reason: &str) {
    assert!(ended.failed(1).starts_with(&format!("{reason}: ")), "{ended:?}");
}

/// Holds that a command succeeded, and printed `text` with other things.
fn prints(ended: &Ended, text: &str) {
    assert!(ended.succeeded().contains(text), "{text}: {ended:?}");
}
