//! Which way an administrator's command goes: to a running server, or straight to the data folder
//! of a stopped one.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::client::Client;
use crate::cli::failure::{Failure, Outcome};
use crate::cli::server::URL_DEFAULT;

/// The file in the data folder that holds the first administrator's token.
pub const ADMIN_TOKEN_FILE: &str = "admin.token";

/// The options of a command that can go both ways.
#[derive(Clone, Debug, Args)]
pub struct Reach {
    /// The URL of a running server; without it the data folder, unless a server holds that
    #[arg(long, env = "PARLEY_URL")]
    pub url: Option<String>,
    /// The token to speak to it under; else the data folder's admin.token
    #[arg(long, env = "PARLEY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The data folder
    #[arg(long, value_name = "DIR", env = "PARLEY_DATA", default_value = "./parley-data")]
    pub data: PathBuf,
    /// Answer with JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// The way that a command goes.
#[derive(Debug)]
pub enum Way {
    /// To the server.
    Server(Client),
    /// Straight to the folder, which no server holds.
    Folder(PathBuf),
}

impl Reach {
    /// Finds the way: a URL given is followed; else a folder that no server holds is opened; else
    /// the server is looked for where it listens by default.
    pub fn way(&self) -> Outcome<Way> {
        if self.url.is_none() && is_stopped(&self.data) {
            return Ok(Way::Folder(self.data.clone()));
        }
        let url = self.url.as_deref().unwrap_or(URL_DEFAULT);
        match &self.token {
            Some(token) => Client::new(url, Some(token)),
            None => Client::new(url, admin_token(&self.data)?.as_deref()),
        }
        .map(Way::Server)
    }
}

/// The token in the folder's `admin.token`; `None` if there is no such file.
pub fn admin_token(data: &Path) -> Outcome<Option<String>> {
    let path = data.join(ADMIN_TOKEN_FILE);
    match std::fs::read_to_string(&path) {
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let path = path.display();
            Err(Failure::failed(format!("cannot read {path}: {error}; give --token")))
        }
    }
}

/// Whether `data` is a data folder that no server holds.
fn is_stopped(data: &Path) -> bool {
    // The hook for the journal's own look at its lock.
    let _ = data;
    false
}
