//! The forum of the demo: the shipped server on a free loopback port, its data in a temporary
//! directory.

use std::fs::DirBuilder;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::clock::{SystemClock, entropy};
use crate::config::Config;
use crate::server::{self, Running, StartError};

/// The mode of the data directory: access for its owner only.
const DIRECTORY_MODE: u32 = 0o700;

/// A server that runs until [`DemoForum::stop`].
pub struct DemoForum {
    running: Running,
    /// A client with the administrator's token.
    pub admin: Client,
    directory: TemporaryDirectory,
}

impl DemoForum {
    /// Starts a server.
    pub async fn start() -> CliResult<Self> {
        let directory = TemporaryDirectory::new()?;
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let config = Config { listen, data: directory.path.clone(), ..Config::default() };
        let failed = |error: StartError| CliError::failed(error.to_string());
        let listener = server::listen(listen).map_err(failed)?;
        let running = server::start(config, Arc::new(SystemClock), listener).await;
        let running = running.map_err(failed)?;
        let first = running.first_start.as_ref().map(|first| first.admin.clone());
        let url = format!("http://{}", running.address);
        let admin = Client::new(&url, first.as_deref())?;
        Ok(Self { running, admin, directory })
    }

    /// Stops the server and removes its directory.
    pub async fn stop(self) -> CliResult {
        let stopped = self.running.stop().await;
        self.directory.remove()?;
        stopped.map_err(|error| CliError::failed(error.to_string()))
    }
}

/// A directory that is removed on drop.
struct TemporaryDirectory {
    path: PathBuf,
}

impl TemporaryDirectory {
    fn new() -> CliResult<Self> {
        let name = format!("parley-demo-{:016x}", u64::from_le_bytes(entropy()));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(DIRECTORY_MODE).create(&path).map_err(|error| {
            let path = path.display();
            CliError::failed(format!("cannot create {path}: {error}; set TMPDIR to where one can"))
        })?;
        Ok(Self { path })
    }

    fn remove(self) -> CliResult {
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            CliError::failed(format!("cannot remove {}: {error}", self.path.display()))
        })
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // After `remove` nothing is left; without it the demo failed and reports that.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
