//! The one binary.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use parley::config::Sources;

#[derive(Parser)]
#[command(name = "parley", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the forum.
    Serve {
        #[arg(long)]
        config: Option<PathBuf>,
        #[arg(long)]
        listen: Option<String>,
        #[arg(long)]
        data: Option<String>,
        #[arg(long)]
        realm: Option<String>,
        #[arg(long)]
        log_level: Option<String>,
        #[arg(long)]
        log_format: Option<String>,
        #[arg(long)]
        set: Vec<String>,
    },
}

fn main() -> ExitCode {
    let Cli { command: Command::Serve { config, listen, data, realm, log_level, log_format, set } } =
        Cli::parse();
    let named = [
        ("listen", listen),
        ("data", data),
        ("realm", realm),
        ("log.level", log_level),
        ("log.format", log_format),
    ];
    let served = Sources::of_process(config, &set, &named)
        .map_err(Into::into)
        .and_then(|sources| parley::lifecycle::serve(&sources));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            error.exit_code()
        }
    }
}
