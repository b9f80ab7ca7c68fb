//! The server that a terminal command uses, and the form of its output.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{ApiResponse, Client};
use crate::cli::error::CliResult;
use crate::cli::output;
use crate::config::{Config, url_of};

/// The options of every terminal command.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// The server's URL
    #[arg(long, env = "PARLEY_URL", default_value_t = url_of(Config::default().listen))]
    pub url: String,
    /// The token to speak under; better in PARLEY_TOKEN, where no list of processes shows it
    #[arg(long, env = "PARLEY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Answer with the server's JSON, for programs
    #[arg(long)]
    pub json: bool,
}

impl ServerArgs {
    /// A client for the server.
    pub fn client(&self) -> CliResult<Client> {
        Client::new(&self.url, self.token.as_deref())
    }

    /// Prints an answer: unchanged with `--json`, else as `render` puts it.
    pub fn print(&self, answer: &ApiResponse, render: impl FnOnce(&Value) -> String) -> CliResult {
        if self.json {
            return output::json(&answer.text);
        }
        output::text(&render(&answer.json()?))
    }
}
