//! The process of a server: built, started, killed, stopped.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::clock;

const START_MAX: Duration = Duration::from_secs(120);
/// The server lets requests under way finish for 10 s.
const STOP_MAX: Duration = Duration::from_secs(15);

/// A directory that is removed when dropped.
#[derive(Debug)]
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// A new directory beside the build's output, which is on a disk: a memory file system would
    /// make every sync free.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{number}", std::process::id());
        let path = build_directory().join("load-data").join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the directory {}", path.display()))?;
        Ok(Self(path))
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Raises the limit of open files, for this process and its children, to the hard limit.
///
/// # Errors
/// If the hard limit is below `wanted`.
pub fn raise_files(wanted: usize) -> anyhow::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
            .context("cannot raise the limit of open files")?;
    }
    let allowed = maximum.unwrap_or(u64::MAX);
    ensure!(
        allowed >= wanted as u64,
        "this run needs {wanted} open files, the system allows {allowed}: raise `ulimit -Hn`"
    );
    Ok(())
}

/// The build directory that holds this program.
fn build_directory() -> PathBuf {
    let built = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.into()));
    built.filter(|path: &PathBuf| path.join("CACHEDIR.TAG").exists()).unwrap_or("target".into())
}

/// Builds the server in release, or checks that `binary` exists.
pub fn build(binary: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(binary) = binary {
        ensure!(binary.exists(), "there is no binary at {}", binary.display());
        return Ok(binary.to_owned());
    }
    let target = build_directory();
    let status = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--release", "-p", "parley", "--bin", "parley", "--target-dir"])
        .arg(&target)
        .status()
        .context("cannot run cargo; name a server with --binary or --url")?;
    ensure!(status.success(), "the server does not build; name one with --binary or --url");
    Ok(target.join("release").join("parley"))
}

/// A running `parley serve`.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    binary: PathBuf,
    set: Vec<String>,
    data: PathBuf,
    core: Option<usize>,
}

impl Server {
    /// Starts a server on the directory `data`, pinned to `core` if given, and waits for the line
    /// with the address.
    pub fn start(
        binary: &Path,
        data: &Path,
        set: &[String],
        core: Option<usize>,
    ) -> anyhow::Result<Self> {
        let (child, address) = spawn(binary, data, set, core, "127.0.0.1:0")?;
        let (binary, data) = (binary.to_owned(), data.to_owned());
        Ok(Self { child, address, binary, set: set.to_vec(), data, core })
    }

    /// Starts the server again on the same directory and address, with other settings if given.
    pub fn start_again(&mut self, set: Option<Vec<String>>) -> anyhow::Result<()> {
        if let Some(set) = set {
            self.set = set;
        }
        let listen = self.address.to_string();
        let (child, address) = spawn(&self.binary, &self.data, &self.set, self.core, &listen)?;
        ensure!(address == self.address, "the server came back at {address}");
        self.child = child;
        Ok(())
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The admin token that the first start wrote.
    pub fn admin_token(&self) -> anyhow::Result<String> {
        let path = self.data.join("admin.token");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.trim().to_owned())
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends SIGTERM and expects exit code 0.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the server had already ended: {status}; its log: {}", self.log_tail());
        }
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let until = clock::now() + STOP_MAX;
        while clock::now() < until {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the server ended with {status}: {}", self.log_tail());
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill()?;
        bail!("the server did not end within {STOP_MAX:?} of SIGTERM")
    }

    fn log_tail(&self) -> String {
        log_tail(&self.data)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_path(data: &Path) -> PathBuf {
    data.with_extension("log")
}

fn log_tail(data: &Path) -> String {
    let text = std::fs::read_to_string(log_path(data)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn spawn(
    binary: &Path,
    data: &Path,
    set: &[String],
    core: Option<usize>,
    listen: &str,
) -> anyhow::Result<(Child, SocketAddr)> {
    let log = File::options().create(true).append(true).open(log_path(data))?;
    let mut command = match core {
        None => Command::new(binary),
        Some(core) => {
            // taskset replaces itself by the server, so that the child is the server's process.
            let mut command = Command::new("taskset");
            command.arg("-c").arg(core.to_string()).arg(binary);
            command
        }
    };
    command.args(["serve", "--listen", listen, "--data"]).arg(data);
    for pair in set {
        command.args(["--set", pair]);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let Some(stdout) = child.stdout.take() else { bail!("no standard output of the server") };
    match first_address(stdout) {
        Some(address) => Ok((child, address)),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            bail!("the server did not say where it listens; its log:\n{}", log_tail(data))
        }
    }
}

/// Waits for a line with an address; goes on reading in a thread, so that the pipe never fills.
pub fn first_address(stdout: impl Read + Send + 'static) -> Option<SocketAddr> {
    let (found, address) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(address) = address_in(&line) {
                let _ = found.try_send(address);
            }
        }
    });
    address.recv_timeout(START_MAX).ok()
}

fn address_in(line: &str) -> Option<SocketAddr> {
    line.split(|sign: char| !(sign.is_ascii_hexdigit() || ".:[]".contains(sign)))
        .map(|word| word.trim_matches(':').trim_end_matches('.'))
        .find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the address is found in any sentence that names it. Method: some sentences.
    #[test]
    fn finds_address() {
        let expected: SocketAddr = "127.0.0.1:7467".parse().unwrap();
        for line in [
            "parley listens on http://127.0.0.1:7467, open it in a browser",
            "listening: 127.0.0.1:7467.",
            "listening address=127.0.0.1:7467 realm=local",
            "http://127.0.0.1:7467/ — next: parley post",
        ] {
            assert_eq!(address_in(line), Some(expected), "{line}");
        }
        assert_eq!(address_in("nothing here: 12"), None);
    }
}
