//! The throw-away forum: the shipped server on a free port of the loopback, its data in a
//! temporary folder.

use std::fs::DirBuilder;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::clock::{SystemClock, entropy};
use crate::config::Config;
use crate::server::{self, Running, StartError};

/// Only its owner may look into the data folder.
const FOLDER_MODE: u32 = 0o700;

/// A forum that ends with [`DemoForum::stop`].
pub struct DemoForum {
    running: Running,
    admin: Client,
    folder: TemporaryFolder,
}

impl DemoForum {
    /// Starts it.
    pub async fn start() -> CliResult<Self> {
        let folder = TemporaryFolder::new()?;
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let config = Config { listen, data: folder.path().to_owned(), ..Config::default() };
        let failed = |error: StartError| CliError::failed(error.to_string());
        let listener = server::listen(listen).map_err(failed)?;
        let running = server::start(config, Arc::new(SystemClock), listener).await;
        let running = running.map_err(failed)?;
        let first = running.first_start().map(|first| first.admin.clone());
        let url = format!("http://{}", running.address());
        let admin = Client::new(&url, first.as_deref())?;
        Ok(Self { running, admin, folder })
    }

    /// A client of its administrator.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// Ends it and removes its folder.
    pub async fn stop(self) -> CliResult {
        self.running.stop().await;
        self.folder.remove()
    }
}

/// A folder that goes when its owner goes.
struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    fn new() -> CliResult<Self> {
        let name = format!("parley-demo-{:016x}", u64::from_le_bytes(entropy()));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(FOLDER_MODE).create(&path).map_err(|error| {
            let path = path.display();
            CliError::failed(format!("cannot create {path}: {error}; set TMPDIR to where one can"))
        })?;
        Ok(Self { path })
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn remove(self) -> CliResult {
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            CliError::failed(format!("cannot remove {}: {error}", self.path.display()))
        })
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Gone already after `remove`; here the demo has failed otherwise and says so.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
