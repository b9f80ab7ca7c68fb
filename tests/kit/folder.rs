//! A temporary folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder on a real disk, beside what is built, that is removed with its owner.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new one with `name` in its own.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{count}", std::process::id());
        let path = crate::process::target().join("tmp").join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of `name` in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.join(name).to_str().unwrap().to_owned()
    }

    /// Writes the file `name`; gives its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.join(name), bytes).unwrap();
        self.text(name)
    }

    /// The names in it, in order.
    pub fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The names in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
