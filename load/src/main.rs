//! The load harness of Parley: it loads a forum, checks everything that it answers, and says how
//! fast it was, beside what the bare machine can do.

mod body;
mod cast;
mod ceiling;
mod ceiling_actors;
mod ceiling_feed;
mod chorus;
mod clock;
mod compare;
mod conversation;
mod course;
mod fan;
mod gauge;
mod http;
mod listener;
mod measure;
mod modes;
mod objects;
mod options;
mod pace;
mod report;
mod rng;
mod scan;
mod script;
mod server;
mod site;
mod socket;
mod statistics;
mod swarm;
mod verdict;
mod verify;
mod wire;
mod work;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

/// Wrong usage, as for the server's own command line.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(played) = ceiling::play(&arguments) {
        return played.map_or_else(|error| failed(&error, 1), |()| ExitCode::SUCCESS);
    }
    if arguments.get(1).is_some_and(|name| name == compare::NAME) {
        return compare_builds(&arguments[1..]);
    }
    match options::Cli::parse().resolve() {
        Ok(options) => ended(run(&options)),
        Err(error) => failed(&error, EXIT_USAGE),
    }
}

fn compare_builds(arguments: &[String]) -> ExitCode {
    match compare::Arguments::parse_from(arguments).resolve() {
        Ok(plan) => ended(on_runtime(plan.options.workers, compare::run(&plan))),
        Err(error) => failed(&error, EXIT_USAGE),
    }
}

fn run(options: &options::Options) -> anyhow::Result<bool> {
    on_runtime(options.workers, modes::run(options))?.publish()
}

fn on_runtime<T>(
    workers: usize,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            result = work => result,
            // What runs is dropped, and a server of our own ends with it.
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    })
}

/// The exit code of a run that ended well, or not, or that could not be brought to its end.
fn ended(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error, 1),
    }
}

fn failed(error: &anyhow::Error, code: u8) -> ExitCode {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    ExitCode::from(code)
}
