//! Which way an administrator's command goes: to a running server, or straight to the data folder
//! of a stopped one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::config::{Config, ConfigSources};
use crate::storage::disk::{FolderDisk, LOCK_NAME};
use crate::storage::error::StoreError;
use crate::tokens::ADMIN_TOKEN_NAME;

/// The options of a command that can go both ways.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// The URL of a running server; without it the data folder, unless a server holds that
    #[arg(long, env = "PARLEY_URL")]
    pub url: Option<String>,
    /// The token to speak to it under; else the data folder's admin.token
    #[arg(long, env = "PARLEY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    #[command(flatten)]
    pub place: DataFolder,
    /// Answer with JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// Where the data lies, as `serve` finds it: flag over environment over file over default.
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
    /// The configuration of the server whose data these are.
    pub fn config(&self) -> CliResult<Config> {
        let named = [("data", self.data.clone())];
        let sources = ConfigSources::of_process(self.config.clone(), &[], &named);
        let config = sources.and_then(|sources| Config::load(&sources));
        config.map_err(|error| CliError::usage(error.to_string()))
    }
}

/// The way that a command goes.
#[derive(Debug)]
pub enum Target {
    /// To the server.
    Server(Client),
    /// Straight to the folder, which no server holds and, while this lives, none can.
    Folder(Arc<FolderDisk>, Box<Config>),
}

impl TargetArgs {
    /// Finds the way: a URL given is followed; else a folder that no server holds is taken; else
    /// the server is looked for where its configuration says that it listens.
    pub fn way(&self) -> CliResult<Target> {
        if let (Some(url), Some(token)) = (&self.url, &self.token) {
            return Client::new(url, Some(token)).map(Target::Server);
        }
        let config = self.place.config()?;
        let url = match &self.url {
            Some(url) => url.clone(),
            None => match take(&config.data)? {
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

/// Takes the data folder, if it is one and no server holds it. What is no data folder is not made
/// one: only a server begins it.
pub fn take(data: &Path) -> CliResult<Option<FolderDisk>> {
    if !data.join(LOCK_NAME).exists() {
        return Ok(None);
    }
    match FolderDisk::open(data) {
        Ok(disk) => Ok(Some(disk)),
        Err(StoreError::Locked { .. }) => Ok(None),
        Err(error) => Err(CliError::failed(error.to_string())),
    }
}

/// The token in the folder's `admin.token`; `None` if there is no such file.
pub fn admin_token(data: &Path) -> CliResult<Option<String>> {
    let path = data.join(ADMIN_TOKEN_NAME);
    match std::fs::read_to_string(&path) {
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let path = path.display();
            Err(CliError::failed(format!("cannot read {path}: {error}; give --token")))
        }
    }
}

/// How a server is reached from its own machine that listens on `address`.
fn url_of(mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a server that listens everywhere is reached on the loopback. Method: a row a case.
    #[test]
    fn urls() {
        for (listen, want) in [
            ("127.0.0.1:7467", "http://127.0.0.1:7467"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("10.0.0.1:80", "http://10.0.0.1:80"),
        ] {
            assert_eq!(url_of(listen.parse().unwrap()), want);
        }
    }

    /// Goal: a folder that is no data folder is left as it is. Method: an absent one.
    #[test]
    fn nothing_is_begun() {
        let absent = std::env::temp_dir().join("parley-no-such-folder");
        assert!(take(&absent).unwrap().is_none());
        assert!(!absent.exists());
        assert_eq!(admin_token(&absent), Ok(None));
    }
}
