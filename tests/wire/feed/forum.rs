//! A whole server on a port of its own, and the plainest of clients for its HTTP side.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parley::clock::{Clock, SystemClock};
use parley::config::Config;
use parley::journal::Journal;
use parley::journal::disk::MemoryDisk;
use parley::journal::options::JournalOptions;
use parley::server::{self, Running};
use parley_protocol::entry::Entry;
use parley_protocol::time::Millis;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A clock that is the machine's, and some milliseconds more.
#[derive(Default)]
pub struct Shifted(AtomicU64);

impl Clock for Shifted {
    fn now(&self) -> Millis {
        Millis(SystemClock.now().0 + self.0.load(Ordering::Relaxed))
    }
}

impl Shifted {
    /// Lets time pass.
    pub fn pass(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

/// A server in this process, its files in memory.
pub struct Forum {
    /// Where it listens.
    pub address: SocketAddr,
    /// The token of `human:admin`.
    pub admin: String,
    /// Its clock.
    pub clock: Arc<Shifted>,
    disk: MemoryDisk,
    folder: PathBuf,
    config: Config,
    running: Option<Running>,
}

impl Drop for Forum {
    fn drop(&mut self) {
        if self.folder.as_os_str().is_empty() {
            return;
        }
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

impl Forum {
    /// Starts one whose configuration is what `change` makes of the usual one.
    pub async fn start(change: impl FnOnce(&mut Config)) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("parley-feed-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut config = Config { data: folder.clone(), ..Config::default() };
        config.limits.writes_per_minute = 0;
        config.limits.exchange_max = 1_000_000;
        config.limits.consecutive_max = 1_000_000;
        config.listen = ([127, 0, 0, 1], 0).into();
        change(&mut config);
        let mut forum = Self {
            address: config.listen,
            admin: String::new(),
            clock: Arc::default(),
            disk: MemoryDisk::default(),
            folder,
            config,
            running: None,
        };
        forum.run().await;
        forum
    }

    /// One that runs in another process.
    pub fn elsewhere(address: SocketAddr, admin: String) -> Self {
        let (clock, disk) = (Arc::default(), MemoryDisk::default());
        let (folder, config) = (PathBuf::new(), Config::default());
        Self { address, admin, clock, disk, folder, config, running: None }
    }

    async fn run(&mut self) {
        let listener = server::listen(self.config.listen).unwrap();
        let (config, disk) = (self.config.clone(), Arc::new(self.disk.clone()));
        let running = server::start_on(config, self.clock.clone(), disk, listener).await.unwrap();
        self.address = running.address();
        if let Some(first) = running.first_start() {
            self.admin.clone_from(&first.admin);
        }
        self.running = Some(running);
    }

    /// Stops the server in good order.
    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    /// Starts it again on the same files.
    pub async fn start_again(&mut self) {
        self.stop().await;
        self.run().await;
    }

    /// Stops the server and gives every entry that its journal holds, with its number.
    pub async fn entries(&mut self) -> Vec<(u64, Entry)> {
        self.stop().await;
        let clock = Arc::new(SystemClock);
        let opened =
            Journal::open(JournalOptions::default(), Arc::new(self.disk.clone()), clock).unwrap();
        let log = opened.journal.log();
        log.entries(0, usize::MAX, usize::MAX).unwrap().unwrap().entries
    }

    /// A client without a token.
    pub fn client(&self) -> Http {
        Http { address: self.address, token: None, stream: None }
    }

    /// A client with this token.
    pub fn with(&self, token: &str) -> Http {
        Http { token: Some(token.to_owned()), ..self.client() }
    }

    /// A client with the administrator's token.
    pub fn admin(&self) -> Http {
        self.with(&self.admin)
    }

    /// Makes a token for a handle; gives its identifier and its secret.
    pub async fn token(&self, handle: &str, rights: &[&str]) -> (String, String) {
        let asked = json!({ "handle": handle, "rights": rights });
        let made = self.admin().post("/v1/tokens", &asked).await.body(201);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["token"]["id"]), text(&made["secret"]))
    }

    /// A client that reads and writes as `handle`.
    pub async fn writer(&self, handle: &str) -> Http {
        let (_, secret) = self.token(handle, &["read", "write"]).await;
        self.with(&secret)
    }

    /// One number among the metrics, 0 if it is not there.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.admin().get("/metrics").await;
        let text = String::from_utf8(text.bytes).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The body as JSON, the status being `status`.
    pub fn body(self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        assert_eq!(self.status, status, "{text}");
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// The status and the reason of a refusal.
    pub fn refused(&self) -> (u16, String) {
        let problem: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        (self.status, problem["reason"].as_str().unwrap_or_default().to_owned())
    }
}

/// A client that speaks HTTP over one connection, made when it is first needed.
pub struct Http {
    /// Where the server listens.
    pub address: SocketAddr,
    /// What it sends as a bearer token.
    pub token: Option<String>,
    stream: Option<BufReader<TcpStream>>,
}

impl Http {
    /// Asks, with headers and a body.
    pub async fn ask(&mut self, line: &str, headers: &str, body: &[u8]) -> Answer {
        let mut request = format!("{line} HTTP/1.1\r\nhost: {}\r\n{headers}", self.address);
        if let Some(token) = &self.token {
            request = request + "authorization: Bearer " + token + "\r\n";
        }
        let length = body.len();
        let mut bytes = format!("{request}content-length: {length}\r\n\r\n").into_bytes();
        bytes.extend_from_slice(body);
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().unwrap();
        stream.write_all(&bytes).await.unwrap();
        let answer = answer(stream).await;
        if answer.headers.get("connection").is_some_and(|value| value == "close") {
            self.stream = None;
        }
        answer
    }

    /// Reads.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), "", b"").await
    }

    /// Writes.
    pub async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.ask(&format!("POST {path}"), "", body.to_string().as_bytes()).await
    }

    /// Posts a message that is taken; gives the answer.
    pub async fn say(&mut self, message: Value) -> Value {
        self.post("/v1/messages", &message).await.body(201)
    }

    /// Opens a thread; gives its identifier.
    pub async fn open(&mut self, body: &str) -> String {
        let opened = self.say(json!({ "kind": "ask", "body": body })).await;
        opened["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Adds to a thread what nobody needs to reply to.
    pub async fn inform(&mut self, thread: &str, body: &str) {
        self.say(json!({ "kind": "inform", "thread": thread, "body": body })).await;
    }
}

/// Reads one answer, whose body has a length.
pub async fn answer(stream: &mut BufReader<TcpStream>) -> Answer {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status line: {line:?}"));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut bytes = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut bytes).await.unwrap();
    Answer { status, headers, bytes }
}
