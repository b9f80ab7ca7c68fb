//! `parley serve`: runs the forum. The flags of operations.md §2 are handed to the configuration.

use std::path::PathBuf;

use clap::Args;

use crate::cli::error::{CliError, CliResult};
use crate::config::ConfigSources;
use crate::lifecycle::{self, ServeError};

const EXAMPLES: &str = "Examples:
  parley serve
  parley serve --listen 127.0.0.1:0 --data ./forum --realm team
  parley serve --config config/parley.toml --set limits.writes_per_minute=0

Flags go before the environment (PARLEY_ and the key, __ for a dot), which goes before the file.";

/// The arguments of `parley serve`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// The configuration file, TOML [env: PARLEY_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// The realm of models' identities
    #[arg(long, value_name = "NAME")]
    pub realm: Option<String>,
    /// Which logs to write: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// How to write logs: text or json
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Any key of the configuration; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Runs the forum until a signal ends it.
pub fn run(options: ServeArgs) -> CliResult {
    let ServeArgs { config, listen, data, realm, log_level, log_format, set } = options;
    let named = [
        ("listen", listen),
        ("data", data),
        ("realm", realm),
        ("log.level", log_level),
        ("log.format", log_format),
    ];
    let served = ConfigSources::of_process(config, &set, &named)
        .map_err(Into::into)
        .and_then(|sources| lifecycle::serve(&sources));
    served.map_err(|error| match error {
        ServeError::Config(_) => CliError::usage(error.to_string()),
        ServeError::Start(_) | ServeError::Stop(_) | ServeError::System { .. } => {
            CliError::failed(error.to_string())
        }
    })
}
