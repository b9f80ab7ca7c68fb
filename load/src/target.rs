//! Where a run takes place: a server of its own, or one that was named.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};

use crate::http::Connection;
use crate::options::Options;
use crate::server::{self, RunDirectory, Server};
use crate::wire::{Binding, Caller, Operation, Outcome, outcome};

/// The server under load.
#[derive(Debug)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// The authority that requests name.
    pub host: String,
    /// The process and its folder, if it is ours. Dropped in this order.
    pub own_server: Option<(Server, RunDirectory)>,
    token: String,
}

/// The rules are obeyed; only the rate is off, since a rate is what is to be measured.
const RATES_OFF: &str = "limits.writes_per_minute=0";

impl Target {
    /// Starts a server, or finds the one that was named.
    pub async fn prepare(options: &Options, keys: &[String]) -> anyhow::Result<Self> {
        match (&options.url, &options.token) {
            (Some(url), Some(token)) => Self::connect(url, token).await,
            _ => Self::start(options, keys),
        }
    }

    async fn connect(url: &str, token: &str) -> anyhow::Result<Self> {
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
        Ok(Self { address, host, own_server: None, token: token.to_owned() })
    }

    fn start(options: &Options, keys: &[String]) -> anyhow::Result<Self> {
        let binary = server::build(options.binary.as_deref())?;
        let folder = RunDirectory::new(options.mode.name())?;
        let set = Self::settings(options, keys);
        let server =
            Server::start(&binary, &folder.path().join("forum"), &set, options.server_core)?;
        let token = server.admin_token()?;
        let address = server.address();
        Ok(Self { address, host: address.to_string(), own_server: Some((server, folder)), token })
    }

    /// The keys that a server of our own gets: those of the mode, and over them what was asked for.
    pub fn settings(options: &Options, keys: &[String]) -> Vec<String> {
        let own = [RATES_OFF.to_owned()];
        own.iter().chain(keys).chain(&options.set).cloned().collect()
    }

    /// The admin, over HTTP.
    pub fn admin(&self) -> Caller {
        Caller::new(&self.host, &self.token, Binding::Http)
    }

    /// One sample of `/metrics`, by its name and labels as they are written there; none if the
    /// server has not counted it yet.
    pub async fn metric(&self, name: &str) -> anyhow::Result<Option<f64>> {
        Ok(self.metrics(&[name]).await?[0])
    }

    /// Some samples of `/metrics` of one moment.
    pub async fn metrics(&self, names: &[&str]) -> anyhow::Result<Vec<Option<f64>>> {
        let mut request = Vec::new();
        self.admin()
            .write(&mut request, &Operation::read("", "/metrics".into(), String::new(), &[]));
        let mut connection = Connection::open(self.address).await?;
        let answer = connection.call(&request).await?;
        let text = match outcome(Binding::Http, answer) {
            Outcome::Done(text) => String::from_utf8_lossy(text),
            Outcome::Refused { reason, detail, .. } => bail!("/metrics: {reason}: {detail}"),
            Outcome::Broken(text) => bail!("/metrics: {text}"),
        };
        let value = |line: &str, name: &str| -> Option<f64> {
            line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok()
        };
        let find = |name: &&str| text.lines().find_map(|line| value(line, name));
        Ok(names.iter().map(find).collect())
    }

    /// The server's process, if it runs here and is ours.
    pub fn pid(&self) -> Option<u32> {
        self.own_server.as_ref().map(|(server, _)| server.pid())
    }

    /// Whether a ceiling of this machine says something about that server.
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Ends the server, if it is ours.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        match &mut self.own_server {
            Some((server, _)) => server.stop(),
            None => Ok(()),
        }
    }
}
