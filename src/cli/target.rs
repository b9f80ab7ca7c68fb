//! The target of an administrator's command: a running server, or the data directory of a stopped
//! one.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::config::{Config, ConfigSources, url_of};
use crate::storage::disk::{FolderDisk, LOCK_NAME};
use crate::storage::error::StoreError;
use crate::tokens::ADMIN_TOKEN_NAME;

/// The options of a command with either target.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// The URL of a running server; without it the data folder, unless a server holds that
    #[arg(long, env = "PARLEY_URL")]
    pub url: Option<String>,
    /// The token to speak to it under; else the data folder's admin.token
    #[arg(long, env = "PARLEY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    #[command(flatten)]
    pub folder: DataFolder,
    /// Answer with JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// The data directory, found as `serve` finds it: flag over environment over file over default.
#[derive(Clone, Debug, Args)]
pub struct DataFolder {
    /// The data folder [env: PARLEY_DATA] [default: ./parley-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// The configuration file of the server [env: PARLEY_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl DataFolder {
    /// The configuration of the server of this directory.
    pub fn config(&self) -> CliResult<Config> {
        let named = [("data", self.data.clone())];
        let sources = ConfigSources::of_process(self.config.clone(), &[], &named);
        let config = sources.and_then(|sources| Config::load(&sources));
        config.map_err(|error| CliError::usage(error.to_string()))
    }
}

/// The target of a command.
#[derive(Debug)]
pub enum Target {
    /// A server.
    Server(Client),
    /// A data directory, locked against servers while this value lives.
    Folder(Arc<FolderDisk>, Box<Config>),
}

impl TargetArgs {
    /// Resolves the target: a given URL; else a data directory that no server holds; else the
    /// server at the configured address.
    pub fn resolve(&self) -> CliResult<Target> {
        if let (Some(url), Some(token)) = (&self.url, &self.token) {
            return Client::new(url, Some(token)).map(Target::Server);
        }
        let config = self.folder.config()?;
        let url = match &self.url {
            Some(url) => url.clone(),
            None => match lock(&config.data)? {
                Some(disk) => return Ok(Target::Folder(Arc::new(disk), Box::new(config))),
                None => url_of(config.listen),
            },
        };
        let token = match &self.token {
            Some(token) => Some(token.clone()),
            None => admin_token(&config.data)?,
        };
        Client::new(&url, token.as_deref()).map(Target::Server)
    }
}

/// Locks the data directory; `None` if it is none or a server holds it. Only a server creates one.
pub fn lock(data: &Path) -> CliResult<Option<FolderDisk>> {
    if !data.join(LOCK_NAME).exists() {
        return Ok(None);
    }
    match FolderDisk::open(data) {
        Ok(disk) => Ok(Some(disk)),
        Err(StoreError::Locked { .. }) => Ok(None),
        // A mount that is only read can be copied and looked at.
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::ReadOnlyFilesystem => {
            let disk = FolderDisk::open_read_only(data);
            disk.map(Some).map_err(|error| CliError::failed(error.to_string()))
        }
        Err(error) => Err(CliError::failed(error.to_string())),
    }
}

/// The token in the directory's `admin.token`; `None` without such a file.
pub fn admin_token(data: &Path) -> CliResult<Option<String>> {
    let path = data.join(ADMIN_TOKEN_NAME);
    match std::fs::read_to_string(&path) {
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let path = path.display();
            Err(CliError::failed(format!("cannot read {path}: {error}; give --token")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a directory that is no data directory stays unchanged. Method: an absent one.
    #[test]
    fn nothing_is_begun() {
        let absent = std::env::temp_dir().join("parley-no-such-folder");
        assert!(lock(&absent).unwrap().is_none());
        assert!(!absent.exists());
        assert_eq!(admin_token(&absent), Ok(None));
    }
}
