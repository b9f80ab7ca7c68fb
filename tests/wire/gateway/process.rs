//! The process: what keeps it from starting, and what signals do (operations.md §1, §4).

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::wire::{Folder, Peer};

fn parley(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parley"));
    command.args(["serve", "--data"]).arg(folder.join("data")).args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PARLEY_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server process that is killed if a test fails.
struct Process {
    child: Child,
    address: SocketAddr,
    /// What it said after the first line.
    words: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(folder: &Path) -> Self {
        let mut child = parley(folder, &["--listen", "127.0.0.1:0"]).spawn().expect("it runs");
        let mut words = BufReader::new(child.stdout.take().expect("standard output"));
        let mut line = String::new();
        words.read_line(&mut line).expect("a line");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split([';', ' ']).next());
        let address = address.and_then(|text| text.trim().parse().ok());
        Self { address: address.unwrap_or_else(|| panic!("an address: {line}")), child, words }
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
    }

    fn ends(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn one_line(output: &Output, code: i32, named: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    let lines: Vec<&str> = error.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!((lines.len(), error.lines().count()), (1, 1), "{error}");
    for name in named {
        assert!(error.contains(name), "{name}: {error}");
    }
    assert!(output.stdout.is_empty(), "nothing is promised");
}

/// Goal: wrong configuration, a used port and a locked folder each stop the start with one line
/// and their exit code. Method: a process for each.
#[test]
fn what_keeps_it_from_starting() {
    let folder = Folder::new();
    let fails = |arguments: &[&str]| parley(folder.path(), arguments).output().expect("it runs");
    one_line(&fails(&["--set", "limits.pages=1"]), 2, &["limits.pages"]);
    one_line(&fails(&["--listen", "nowhere"]), 2, &["listen", "nowhere"]);
    one_line(&fails(&["--set", "limits.page_max=0"]), 2, &["limits.page_max", "1 to "]);
    one_line(&fails(&["--config", "none.toml"]), 2, &["none.toml"]);
    one_line(&fails(&["--set", "nothing"]), 2, &["nothing"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = taken.local_addr().map(|address| (taken, address.to_string())).expect("a port");
    one_line(&fails(&["--listen", &taken.1]), 1, &[&taken.1, "--listen"]);
    let running = Process::start(folder.path());
    let started = Instant::now();
    one_line(&fails(&["--listen", "127.0.0.1:0"]), 1, &["data"]);
    assert!(started.elapsed() < Duration::from_secs(5), "at once");
    drop(running);
}

/// Goal: the first start tells its tokens and how an agent connects, and leaves the
/// administrator's in the folder for its owner alone; the next says where it listens. Method: two
/// starts.
#[test]
fn first_words() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mut first = Process::start(folder.path());
    first.signal(Signal::TERM);
    assert_eq!(first.ends(), Some(0));
    let mut words = String::new();
    first.words.read_to_string(&mut words).expect("words");
    let path = folder.path().join("data/admin.token");
    let admin = std::fs::read_to_string(&path).expect("the administrator's token");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(words.contains(admin.trim()), "{words}");
    let snippet = &words[words.find('{').expect("a snippet")..];
    let snippet: serde_json::Value = serde_json::from_str(snippet).expect("a snippet of JSON");
    let server = &snippet["mcpServers"]["parley"];
    assert_eq!(server["url"], format!("http://{}/mcp", first.address));
    let header = server["headers"]["Authorization"].as_str().expect("a header");
    assert!(words.contains(header.trim_start_matches("Bearer ")));
    let mut second = Process::start(folder.path());
    let mut peer = Peer::connect(second.address);
    let own = second.address;
    peer.send(&format!("GET /v1/tokens HTTP/1.1\r\nHost: {own}\r\n"));
    peer.send(&format!("Authorization: Bearer {}\r\n\r\n", admin.trim()));
    assert_eq!(peer.answer(false).status, 200);
    second.signal(Signal::INT);
    assert_eq!(second.ends(), Some(0));
    let mut words = String::new();
    second.words.read_to_string(&mut words).expect("words");
    assert_eq!(words, "");
}

/// Goal: a second signal exits at once, with 130. Method: a request that never ends holds the
/// first stop back.
#[test]
fn second_signal() {
    let folder = Folder::new();
    let mut process = Process::start(folder.path());
    let mut peer = Peer::connect(process.address);
    let own = process.address;
    let token = std::fs::read_to_string(folder.path().join("data/admin.token")).expect("a token");
    peer.send(&format!("POST /v1/messages HTTP/1.1\r\nHost: {own}\r\nContent-Length: 9\r\n"));
    peer.send(&format!("Authorization: Bearer {}\r\nExpect: 100-continue\r\n\r\n", token.trim()));
    // The server asks for the body, so the request is under way.
    assert_eq!(peer.answer(false).status, 100);
    process.signal(Signal::TERM);
    // Once it has stopped to listen, the first signal was heard.
    while std::net::TcpStream::connect(own).is_ok() {}
    process.signal(Signal::TERM);
    assert_eq!(process.ends(), Some(130));
}
