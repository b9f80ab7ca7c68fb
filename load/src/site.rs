//! Where a run takes place: a server of its own, or one that was named.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};

use crate::options::Options;
use crate::server::{self, Folder, Server};
use crate::wire::{Caller, Door};

/// The server under load.
#[derive(Debug)]
pub struct Site {
    /// Where it listens.
    pub address: SocketAddr,
    /// The authority that requests name.
    pub host: String,
    /// The process and its folder, if it is ours. Dropped in this order.
    pub own: Option<(Server, Folder)>,
    token: String,
}

/// The rules are obeyed; only the rate is off, since a rate is what is to be measured.
const RATES_OFF: &str = "limits.writes_per_minute=0";

impl Site {
    /// Starts a server, or finds the one that was named.
    pub async fn prepare(options: &Options, keys: &[String]) -> anyhow::Result<Self> {
        match (&options.url, &options.token) {
            (Some(url), Some(token)) => Self::named(url, token).await,
            _ => Self::own(options, keys),
        }
    }

    async fn named(url: &str, token: &str) -> anyhow::Result<Self> {
        let Some(rest) = url.strip_prefix("http://") else {
            bail!("--url must begin with http://; put a TLS server behind a local proxy");
        };
        let host = rest.trim_end_matches('/').to_owned();
        let authority = if host.contains(':') { host.clone() } else { format!("{host}:80") };
        let address = tokio::net::lookup_host(&authority)
            .await
            .with_context(|| format!("cannot find {host}"))?
            .next()
            .with_context(|| format!("{host} has no address"))?;
        Ok(Self { address, host, own: None, token: token.to_owned() })
    }

    fn own(options: &Options, keys: &[String]) -> anyhow::Result<Self> {
        let binary = server::build(options.binary.as_deref())?;
        let folder = Folder::new(options.mode.name())?;
        let mut set = vec![RATES_OFF.to_owned()];
        set.extend(keys.iter().cloned());
        set.extend(options.set.iter().cloned());
        let server =
            Server::start(&binary, &folder.path().join("forum"), &set, options.server_core)?;
        let token = server.admin_token()?;
        let address = server.address();
        Ok(Self { address, host: address.to_string(), own: Some((server, folder)), token })
    }

    /// The admin, over HTTP.
    pub fn admin(&self) -> Caller {
        Caller::new(&self.host, &self.token, Door::Http)
    }

    /// The server's process, if it runs here and is ours.
    pub fn pid(&self) -> Option<u32> {
        self.own.as_ref().map(|(server, _)| server.pid())
    }

    /// Whether a ceiling of this machine says something about that server.
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Ends the server, if it is ours.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        match &mut self.own {
            Some((server, _)) => server.stop(),
            None => Ok(()),
        }
    }
}
