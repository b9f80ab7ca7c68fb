//! A ceiling as a process: started, asked for its address, ended.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};

use crate::server::{RunDirectory, first_address};

/// A process that plays the ceiling.
#[derive(Debug)]
pub struct CeilingProcess {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    _folder: RunDirectory,
}

impl CeilingProcess {
    /// Starts this program again under a hidden name.
    pub fn start(name: &str, arguments: &[String]) -> anyhow::Result<Self> {
        let folder = RunDirectory::new(name)?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg(name)
            .arg(folder.path())
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
        Ok(Self { child, address, _folder: folder })
    }

    /// Its process.
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

/// Tells the parent where we listen.
pub fn announce(address: SocketAddr) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    Ok(())
}
