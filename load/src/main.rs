//! The load harness of Parley: loads a forum, checks every answer, and reports rates and latencies
//! beside those of a ceiling without a forum on the same machine.

mod body;
mod ceiling;
mod clock;
mod compare;
mod concurrent;
mod conversation;
mod fanout_tracker;
mod http;
mod listener;
mod measure;
mod modes;
mod objects;
mod options;
mod pace;
mod participants;
mod process_sampler;
mod report;
mod rng;
mod round;
mod scan;
mod script;
mod server;
mod socket;
mod statistics;
mod swarm;
mod target;
mod verdict;
mod verify;
mod wire;
mod write_load;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

/// Exit code of wrong usage, as of the server's own command line.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(result) = ceiling::run_hidden(&arguments) {
        return result.map_or_else(|error| failed(&error, 1), |()| ExitCode::SUCCESS);
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
        // Dropping the work ends a server that the harness started.
                    _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
                }
    })
}

/// The exit code: success if the result is true, failure if it is false or an error.
fn ended(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error, 1),
    }
}

fn failed(error: &anyhow::Error, code: u8) -> ExitCode {
    // A closed standard error leaves nowhere to report.
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    ExitCode::from(code)
}
