//! A server in this process that can be stopped and started again, and requests to it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parley::clock::SystemClock;
use parley::config::{Config, ConfigSources};
use parley::server::{self, Running};
use serde_json::Value;
use tokio::runtime::Runtime;

/// How long an answer is waited for; far more than any test needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and its folder, which goes away with it.
pub struct Server {
    runtime: Runtime,
    running: Option<Running>,
    address: SocketAddr,
    admin: String,
    agent: String,
    folder: PathBuf,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    head: String,
    /// The body, put together if it came in pieces.
    pub body: Vec<u8>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Server {
    /// Starts one in a new folder.
    pub fn start() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("artifacts-{}-{count}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let runtime = Runtime::new().expect("a runtime starts");
        let running = run(&runtime, &folder);
        let first = running.first_start().expect("it is the first start").clone();
        let address = running.address();
        let (admin, agent) = (first.admin, first.agent);
        Self { runtime, running: Some(running), address, admin, agent, folder }
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop());
        }
    }

    /// Stops it and starts it again in the same folder.
    pub fn restart(&mut self) {
        self.stop();
        let running = run(&self.runtime, &self.folder);
        self.address = running.address();
        self.running = Some(running);
    }

    /// What the agent, a model that reads and writes, asks for.
    pub fn agent(&self, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        self.ask(&self.agent, line, headers, body)
    }

    /// What the administrator, a human, asks for.
    pub fn human(&self, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        self.ask(&self.admin, line, headers, body)
    }

    fn ask(&self, secret: &str, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut text =
            format!("{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        let _ = write!(text, "Authorization: Bearer {secret}\r\n");
        headers.iter().for_each(|header| text.push_str(&format!("{header}\r\n")));
        if line.starts_with("POST") {
            let _ = write!(text, "Content-Length: {}\r\n", body.len());
        }
        text.push_str("\r\n");
        let mut socket = TcpStream::connect(self.address).expect("the server listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        socket.write_all(&[text.as_bytes(), body].concat()).expect("the server reads");
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).expect("an answer within the time");
        Answer::read(&bytes)
    }
}

fn run(runtime: &Runtime, folder: &Path) -> Running {
    let data = folder.to_str().expect("a path of text").to_owned();
    // As many writes as come: the rate is no matter here.
    let rate = ("limits.writes_per_minute".to_owned(), "0".to_owned());
    let flags = [("data".to_owned(), data), rate].into_iter().collect();
    let config =
        Config::load(&ConfigSources { flags, ..ConfigSources::default() }).expect("good settings");
    runtime.block_on(async {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = server::listen(any).expect("a port is free");
        server::start(config, Arc::new(SystemClock), listener).await.expect("it starts")
    })
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("a whole head");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text").to_lowercase();
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        let rest = &bytes[end + 4..];
        let pieces = head.contains("\r\ntransfer-encoding: chunked");
        let body = if pieces { joined(rest) } else { rest.to_vec() };
        Self { status, head, body }
    }

    /// Whether this header stands there, written in lower case.
    pub fn has(&self, header: &str) -> bool {
        self.head.lines().any(|line| line == header)
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body of text")
    }

    /// Holds that this is a refusal for `reason`; gives the problem.
    pub fn problem(&self, status: u16, reason: &str) -> Value {
        let problem = self.json();
        assert!(self.has("content-type: application/problem+json"), "{self:?}");
        assert_eq!((self.status, &problem["reason"]), (status, &reason.into()), "{problem}");
        problem
    }
}

/// A body in chunks, put together; it must be whole.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|end| end == b"\r\n").expect("the length of a chunk");
        let length = std::str::from_utf8(&rest[..end]).expect("a number");
        let length = usize::from_str_radix(length, 16).expect("a number");
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
        if length == 0 {
            return body;
        }
    }
}
