//! A server of its own for each test, and requests as bytes.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley::clock::SystemClock;
use parley::config::{Config, ConfigSources};
use parley::journal::disk::{Disk, FolderDisk};
use parley::server::{self, Running};
use serde_json::Value;
use tokio::runtime::Runtime;

/// How long an answer is waited for; far more than any test needs.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A folder that goes away with its owner.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gateway-{}-{count}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server in this process.
pub struct Server {
    runtime: Runtime,
    running: Option<Running>,
    /// Where it listens.
    pub address: SocketAddr,
    /// The secret of the administrator.
    pub admin: String,
    /// The secret of an agent that reads and writes.
    pub agent: String,
    _folder: Option<Folder>,
}

/// The tokens of a folder's first start.
#[derive(Clone)]
pub struct Secrets {
    /// The administrator's.
    pub admin: String,
    /// That of an agent that reads and writes.
    pub agent: String,
}

impl Server {
    /// Starts one with these settings over the defaults.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        let folder = Folder::new();
        let disk = FolderDisk::open(folder.path()).expect("a folder of its own");
        Self::start_on(folder, Arc::new(disk), settings)
    }

    /// The same, its store on `disk`.
    pub fn start_on(folder: Folder, disk: Arc<dyn Disk>, settings: &[(&str, &str)]) -> Self {
        let server = Self::start_in(folder.path(), disk, settings, None);
        Self { _folder: Some(folder), ..server }
    }

    /// The same in a folder of somebody else, with the tokens of its first start if this is none.
    pub fn start_in(
        folder: &Path,
        disk: Arc<dyn Disk>,
        settings: &[(&str, &str)],
        known: Option<Secrets>,
    ) -> Self {
        let mut flags = vec![("data", folder.to_str().expect("a path of text"))];
        flags.extend(settings);
        let flags = flags.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        let sources = ConfigSources { flags: flags.collect(), ..ConfigSources::default() };
        let config = Config::load(&sources).expect("good settings");
        let runtime = Runtime::new().expect("a runtime starts");
        let running = runtime.block_on(async {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let listener = server::listen(any).expect("a port is free");
            let clock = Arc::new(SystemClock);
            server::start_on(config, clock, disk, listener).await.expect("it starts")
        });
        let Secrets { admin, agent } = known.unwrap_or_else(|| {
            let first = running.first_start().expect("it is the first start").clone();
            Secrets { admin: first.admin, agent: first.agent }
        });
        let address = running.address();
        Self { runtime, running: Some(running), address, admin, agent, _folder: None }
    }

    /// Its tokens.
    pub fn secrets(&self) -> Secrets {
        Secrets { admin: self.admin.clone(), agent: self.agent.clone() }
    }

    /// The running server.
    pub fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }

    /// Stops it gracefully while `meanwhile` happens.
    pub fn stop(mut self, meanwhile: impl FnOnce()) {
        let stopping = self.runtime.spawn(self.running.take().expect("it runs").stop());
        meanwhile();
        self.runtime.block_on(stopping).expect("it stops");
    }

    /// A connection.
    pub fn connect(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// Sends one request on a connection of its own and reads the answer. In `lines`, `{own}`
    /// stands for the server's address, `{agent}` and `{admin}` for their tokens.
    pub fn ask(&self, lines: &[&str], body: &str) -> Answer {
        let mut peer = self.connect();
        peer.send(&self.request(lines, body));
        peer.answer(lines[0].starts_with("HEAD "))
    }

    /// The bytes of a request: the request line, headers, and a body with its length if there is
    /// one.
    pub fn request(&self, lines: &[&str], body: &str) -> String {
        let mut text = lines.join("\r\n");
        if !body.is_empty() {
            let _ = write!(text, "\r\nContent-Length: {}", body.len());
        }
        text.push_str("\r\n\r\n");
        text.push_str(body);
        text.replace("{own}", &self.address.to_string())
            .replace("{agent}", &self.agent)
            .replace("{admin}", &self.admin)
    }
}

/// One end of a connection.
pub struct Peer {
    socket: TcpStream,
    unread: Vec<u8>,
}

impl Peer {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).expect("the server listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        Self { socket, unread: Vec::new() }
    }

    /// Sends these bytes.
    pub fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).expect("the server reads");
    }

    /// Closes this side.
    pub fn send_nothing_more(&mut self) {
        self.socket.shutdown(Shutdown::Write).expect("a connection");
    }

    fn read(&mut self) -> usize {
        let mut bytes = [0; 16 << 10];
        let count = self.socket.read(&mut bytes).expect("an answer within the time");
        self.unread.extend_from_slice(&bytes[..count]);
        count
    }

    /// Reads one answer; to a `HEAD` there is no body.
    pub fn answer(&mut self, headless: bool) -> Answer {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|end| end == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(self.read() > 0, "an answer and no end of the connection");
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).expect("a header of text");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let mut answer = Answer {
            status: status.parse().expect("a status"),
            headers: headers.collect(),
            body: String::new(),
        };
        let length =
            answer.header("content-length").map_or(0, |text| text.parse().expect("a length"));
        if !headless {
            while self.unread.len() < length {
                assert!(self.read() > 0, "the whole body");
            }
            let body = self.unread.drain(..length).collect();
            answer.body = String::from_utf8(body).expect("a body of text");
        }
        answer
    }

    /// Waits until the server closes the connection; gives what came before that.
    pub fn rest(mut self) -> String {
        let mut bytes = [0; 16 << 10];
        while let Ok(count) = self.socket.read(&mut bytes) {
            if count == 0 {
                break;
            }
            self.unread.extend_from_slice(&bytes[..count]);
        }
        String::from_utf8_lossy(&self.unread).into_owned()
    }

    /// Whether the server has closed the connection, once it says anything.
    pub fn is_closed(&mut self) -> bool {
        self.read() == 0
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The value of a header, which stands there once at most.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| &**value);
        assert!(found.next().is_none(), "{name} stands there once");
        value
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body of JSON")
    }

    /// Holds that this is a refusal for `reason` in the form of bindings.md §1; gives the problem.
    pub fn problem(&self, reason: &str, what: &str) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{what}");
        let problem = self.json();
        assert_eq!(problem["reason"], reason, "{what}: {problem}");
        assert_eq!(problem["status"], self.status, "{what}");
        assert_eq!(problem["type"], format!("urn:parley:reason:{reason}"), "{what}");
        for member in ["title", "detail"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{what}");
        }
        problem
    }
}
