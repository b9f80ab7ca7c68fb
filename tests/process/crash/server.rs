//! The server as a process that can be killed and started again on the same folder.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Settings under which a conversation is not held up by the language.
const SETTINGS: [&str; 4] = [
    "limits.writes_per_minute=0",
    "limits.consecutive_max=1000000",
    "limits.exchange_max=1000000",
    "limits.page_max=1000",
];

/// A data folder that goes with its owner.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one, beside what is built: on a disk, where a sync costs something.
    pub fn new() -> Self {
        let name = format!("crash-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// The administrator's token, once a server has started.
    pub fn admin(&self) -> String {
        let token = std::fs::read_to_string(self.0.join("data/admin.token"));
        token.expect("the administrator's token").trim().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running server.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    _words: BufReader<ChildStdout>,
}

impl Server {
    /// Starts one on `folder`; it is ready when this returns.
    pub fn start(folder: &Folder) -> Self {
        let binary = std::env::var("PARLEY_BINARY");
        let mut command = Command::new(binary.as_deref().unwrap_or(env!("CARGO_BIN_EXE_parley")));
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data"]);
        command.arg(folder.0.join("data"));
        for setting in SETTINGS {
            command.args(["--set", setting]);
        }
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut words = BufReader::new(child.stdout.take().expect("standard output"));
        let mut line = String::new();
        words.read_line(&mut line).expect("a line");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split([';', ' ']).next());
        let address = address.and_then(|text| text.trim().parse().ok());
        let address = address.unwrap_or_else(|| panic!("an address: {line:?}"));
        Self { child, address, _words: words }
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
