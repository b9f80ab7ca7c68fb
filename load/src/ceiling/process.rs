//! The process of a ceiling: starts, announces its address, ends with its owner.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};

use crate::server::{RunDirectory, first_address};

/// What a ceiling serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CeilingKind {
    /// Writes over HTTP with a group commit.
    Writes,
    /// Feeds over WebSocket.
    Feeds,
    /// Nothing; holds idle actors.
    Actors,
}

impl CeilingKind {
    const ALL: [Self; 3] = [Self::Writes, Self::Feeds, Self::Actors];

    /// The first argument that starts the ceiling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Writes => "ceiling-server",
            Self::Feeds => "ceiling-feed",
            Self::Actors => "ceiling-actors",
        }
    }

    /// The inverse of `as_str`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A running ceiling; killed when dropped.
#[derive(Debug)]
pub struct CeilingProcess {
    child: Child,
    /// The address on which the ceiling listens.
    pub address: SocketAddr,
    _directory: RunDirectory,
}

impl CeilingProcess {
    /// Starts this program again as a ceiling of `kind`.
    pub fn start(kind: CeilingKind, arguments: &[String]) -> anyhow::Result<Self> {
        let name = kind.as_str();
        let directory = RunDirectory::new(name)?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg(name)
            .arg(directory.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("no standard output")?;
        let address = first_address(stdout);
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{name} did not start");
        };
        Ok(Self { child, address, _directory: directory })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for CeilingProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints the address of a ceiling for the parent process.
pub fn announce(address: SocketAddr) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    Ok(())
}
