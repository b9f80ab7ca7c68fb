//! The server under load: started by the harness, or named by `--url`.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};

use crate::http::Connection;
use crate::options::Options;
use crate::server::{self, RunDirectory, Server};
use crate::wire::{Binding, Caller, Operation, Outcome, outcome};

/// The server under load.
#[derive(Debug)]
pub struct Target {
    /// The address of the server.
    pub address: SocketAddr,
    /// The authority for the header `Host`.
    pub host: String,
    /// Process and directory, if the harness started the server. Dropped in this order.
    pub own_server: Option<(Server, RunDirectory)>,
    token: String,
}

/// Limits stay in force but for the write rate, which is the quantity that a run measures.
const RATES_OFF: &str = "limits.writes_per_minute=0";

impl Target {
    /// Starts a server with the configuration `keys`, or resolves the address of `--url`.
    pub async fn prepare(options: &Options, keys: &[String]) -> anyhow::Result<Self> {
        match &options.url {
            Some(url) => {
                let token = options.token.as_deref().context("--url needs an admin --token")?;
                Self::connect(url, token).await
            }
            None => Self::start(options, keys),
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
        let directory = RunDirectory::new(options.mode.name())?;
        let set = Self::settings(options, keys);
        let server =
            Server::start(&binary, &directory.path().join("forum"), &set, options.server_core)?;
        let token = server.admin_token()?;
        let address = server.address();
        Ok(Self {
            address,
            host: address.to_string(),
            own_server: Some((server, directory)),
            token,
        })
    }

    /// The configuration of a started server: keys of the mode, then those of `--set`, which win.
    pub fn settings(options: &Options, keys: &[String]) -> Vec<String> {
        let own = [RATES_OFF.to_owned()];
        own.iter().chain(keys).chain(&options.set).cloned().collect()
    }

    /// A caller with the admin token, over HTTP.
    pub fn admin(&self) -> Caller {
        Caller::new(&self.host, &self.token, Binding::Http)
    }

    /// One sample of `/metrics`, by name and labels as written there; none before the server's
    /// first count.
    pub async fn metric(&self, name: &str) -> anyhow::Result<Option<f64>> {
        Ok(self.metrics(&[name]).await?[0])
    }

    /// Samples of `/metrics` from one request.
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

    /// The process id, if the harness started the server.
    pub fn pid(&self) -> Option<u32> {
        self.own_server.as_ref().map(|(server, _)| server.pid())
    }

    /// Whether the server runs on this machine, so that a ceiling can be compared with it.
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Stops the server, if the harness started it.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        match &mut self.own_server {
            Some((server, _)) => server.stop(),
            None => Ok(()),
        }
    }
}
