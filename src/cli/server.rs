//! Which server a terminal command speaks to, and how it answers.

use clap::Args;

use crate::cli::client::Client;
use crate::cli::error::CliResult;

/// Where a server is if nothing else is said: the default of `listen`.
pub const URL_DEFAULT: &str = "http://127.0.0.1:7467";

/// The options that every terminal command has.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// The server's URL
    #[arg(long, env = "PARLEY_URL", default_value = URL_DEFAULT)]
    pub url: String,
    /// The token to speak under; better in PARLEY_TOKEN, where no list of processes shows it
    #[arg(long, env = "PARLEY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Answer with the server's JSON, for programs
    #[arg(long)]
    pub json: bool,
}

impl ServerArgs {
    /// A client for it.
    pub fn client(&self) -> CliResult<Client> {
        Client::new(&self.url, self.token.as_deref())
    }
}
