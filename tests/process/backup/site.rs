//! The binary, its folders, and requests to it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::dice::Dice;

/// How long an answer is waited for; far more than any needs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Settings under which a conversation is not held up by the language.
const SETTINGS: [&str; 4] = [
    "limits.writes_per_minute=0",
    "limits.consecutive_max=1000000",
    "limits.exchange_max=1000000",
    "limits.page_max=1000",
];

/// A number from the environment.
pub fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number")),
        Err(_) => default,
    }
}

/// Chance whose seed is printed, and comes from `PARLEY_SEED` if that is set.
pub fn rng() -> Dice {
    let seed = number("PARLEY_SEED", u64::from(std::process::id()));
    println!("seed {seed}");
    Dice(seed)
}

/// A folder of the test's own, on a disk, gone with it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("backup-{name}-{}-{count}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of `name` in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The names in it.
    pub fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
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

/// Whether a file of this name is a database.
pub fn is_database(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "redb")
}

/// Every file of a folder: digest and time of its last change.
pub fn state(folder: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let file = |name: String| {
        let path = folder.join(&name);
        let changed = path.metadata().unwrap().modified().unwrap();
        let digest = Sha256::digest(std::fs::read(path).unwrap()).to_vec();
        (name, (digest, changed))
    };
    names(folder).into_iter().map(file).collect()
}

/// Copies every file of a folder into a new one.
pub fn copy_folder(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir(to).unwrap();
    for name in names(from) {
        std::fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// How a run of the binary ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// The one line on standard error of a run that failed.
    pub fn failed(&self) -> &str {
        assert_eq!((self.code, self.err.lines().count()), (1, 1), "{self:?}");
        self.err.trim_end().strip_prefix("error: ").unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The standard output of a run that succeeded.
    pub fn succeeded(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        &self.out
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.succeeded()).unwrap()
    }
}

/// Runs the binary.
pub fn run(arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parley"));
    let output = command.args(arguments).env_clear().stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Takes a copy through the server at `url`; gives its cursor.
pub fn backup(server: &Server, file: &str) -> String {
    let ended = run(&["backup", file, "--url", &server.url(), "--token", &server.admin, "--json"]);
    let told = ended.json();
    assert_eq!(told["bytes"], std::fs::metadata(file).unwrap().len());
    told["cursor"].as_str().unwrap().to_owned()
}

/// Restores a copy; gives what is told.
pub fn restore(file: &str, data: &str) -> Value {
    run(&["restore", file, "--data", data, "--json"]).json()
}

/// The position that a cursor's text begins with.
pub fn position(cursor: &str) -> u64 {
    cursor.split('.').next().unwrap().parse().unwrap()
}

/// A running server.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    pub admin: String,
    _words: BufReader<ChildStdout>,
}

impl Server {
    /// Starts one; it is ready when this returns. How it ended if it does not start.
    pub fn try_start(data: &str) -> Result<Self, Ended> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parley"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-level", "off", "--data", data]);
        for setting in SETTINGS {
            command.args(["--set", setting]);
        }
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut words = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split([';', ' ']).next());
        let Some(address) = address.and_then(|text| text.trim().parse().ok()) else {
            let output = child.wait_with_output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            return Err(Ended { code: output.status.code().unwrap_or(-1), out: line, err });
        };
        // A test may have damaged it.
        let admin = std::fs::read(Path::new(data).join("admin.token")).unwrap();
        let admin = String::from_utf8_lossy(&admin).trim().to_owned();
        Ok(Self { child, address, admin, _words: words })
    }

    /// Starts one that starts.
    pub fn start(data: &str) -> Self {
        Self::try_start(data).unwrap_or_else(|ended| panic!("{ended:?}"))
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A new token.
    pub fn token(&self, body: &Value) -> String {
        let made = post(self.address, &self.admin, "/v1/tokens", body);
        made["secret"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// Ends it in good order.
    pub fn stop(mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer, as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// Opens a connection and sends a request, with one more header; its answer is still to come.
pub fn send(address: SocketAddr, token: &str, line: &str, header: &str, body: &str) -> TcpStream {
    let bearer = if token.is_empty() { "X-Nobody: 1" } else { "Authorization: Bearer " };
    let text = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\n{bearer}{token}\r\n{header}\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(text.as_bytes()).unwrap();
    socket
}

/// Asks for something and reads the whole answer.
pub fn ask(address: SocketAddr, token: &str, line: &str, body: &str) -> Answer {
    ask_for("*/*", address, token, line, body)
}

/// The same, for an answer of one type.
pub fn ask_for(kind: &str, address: SocketAddr, token: &str, line: &str, body: &str) -> Answer {
    let mut bytes = Vec::new();
    let accept = format!("Accept: {kind}");
    send(address, token, line, &accept, body).read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let rest = &bytes[end + 4..];
    let pieces = head.contains("transfer-encoding: chunked") && !line.starts_with("HEAD");
    let body = if pieces { joined(rest) } else { rest.to_vec() };
    Answer { status: head.split(' ').nth(1).unwrap().parse().unwrap(), head, body }
}

/// A body that came in pieces, put together.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|end| end == b"\r\n").expect("a length");
        let length = std::str::from_utf8(&rest[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
}

/// Reads JSON.
pub fn get(address: SocketAddr, token: &str, path: &str) -> Value {
    let answer = ask(address, token, &format!("GET {path}"), "");
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

/// Sends JSON; gives what is answered, whatever it is.
pub fn post(address: SocketAddr, token: &str, path: &str, body: &Value) -> Value {
    ask(address, token, &format!("POST {path}"), &body.to_string()).json()
}
