//! Small file systems in memory, where this process may mount.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, mounted on a folder until this is dropped.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// Mounts one of this size (`size=64m`) on `folder`; `None`, and a line on standard error,
    /// where this process may not.
    #[expect(clippy::print_stderr, reason = "what is left out is said")]
    pub fn new(folder: &Path, size: &str) -> Option<Self> {
        let mounted = Self(folder.to_owned());
        if mount(size, folder) {
            return Some(mounted);
        }
        std::mem::forget(mounted);
        eprintln!("SKIPPED: no small file system can be mounted here; this needs root");
        None
    }

    /// Changes its options: `remount,size=64m`, `remount,ro`.
    pub fn change(&self, options: &str) {
        assert!(mount(options, &self.0), "{options}");
    }

    /// Bytes that are free.
    pub fn free(&self) -> u64 {
        let stat = rustix::fs::statvfs(&self.0).expect("a file system");
        stat.f_bavail * stat.f_frsize
    }

    /// Fills it until only `left` bytes are free; gives the file that fills it.
    pub fn fill(&self, left: u64) -> PathBuf {
        let path = self.0.join("ballast");
        let mut file = File::create(&path).expect("a file");
        while self.free() > left {
            let bytes = (self.free() - left).min(1 << 16);
            let written = file.write_all(&vec![1; usize::try_from(bytes).expect("a size")]);
            if written.is_err() {
                break;
            }
        }
        path
    }
}

fn mount(options: &str, folder: &Path) -> bool {
    let mut mount = Command::new("mount");
    let status = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).status();
    status.is_ok_and(|status| status.success())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
