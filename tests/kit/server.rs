//! A server in this process, on a port of its own.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use parley::clock::SystemClock;
use parley::config::{Config, ConfigSources};
use parley::journal::Journal;
use parley::journal::options::JournalOptions;
use parley::server::{self, Running};
use parley::storage::disk::{Disk, MemoryDisk};
use parley_protocol::entry::Entry;
use tokio::runtime::Runtime;

use crate::client::Client;
use crate::clock::TestClock;
use crate::folder::Folder;
use crate::http::Answer;
use crate::peer::{self, Peer};

/// A server that runs on the runtime of its test.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// The token of `human:admin`; empty if the disk is not new.
    pub admin: String,
    /// The token of an agent that reads and writes; empty if the disk is not new.
    pub agent: String,
    /// Its clock, which runs.
    pub clock: Arc<TestClock>,
    /// Where its files lie.
    pub disk: Arc<dyn Disk>,
    config: Config,
    running: Option<Running>,
    /// Where the administrator's token is written.
    _folder: Option<Folder>,
}

impl Server {
    /// Starts one with its files in memory, whose configuration is what `change` makes of one that
    /// holds no conversation up.
    pub async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new("server");
        let mut config = Config { data: folder.path().to_owned(), ..Config::default() };
        config.limits.writes_per_minute = 0;
        config.limits.exchange_max = 1_000_000;
        config.limits.consecutive_max = 1_000_000;
        change(&mut config);
        Self::start_on(config, Arc::new(MemoryDisk::default()), Some(folder)).await
    }

    async fn start_on(config: Config, disk: Arc<dyn Disk>, folder: Option<Folder>) -> Self {
        let mut server = Self {
            address: ([127, 0, 0, 1], 0).into(),
            admin: String::new(),
            agent: String::new(),
            clock: Arc::new(TestClock::running()),
            disk,
            config,
            running: None,
            _folder: folder,
        };
        server.restart().await;
        server
    }

    /// The running server.
    pub fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }

    /// Stops it in good order.
    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await.expect("it stops in good order");
        }
    }

    /// Stops it, if it runs, and starts it on the same files, at another port.
    pub async fn restart(&mut self) {
        self.stop().await;
        let listener = server::listen(([127, 0, 0, 1], 0).into()).expect("a port is free");
        let (config, disk) = (self.config.clone(), Arc::clone(&self.disk));
        let running = server::start_on(config, self.clock.clone(), disk, listener).await;
        let running = running.expect("it starts");
        self.address = running.address;
        if let Some(first) = &running.first_start {
            (self.admin, self.agent) = (first.admin.clone(), first.agent.clone());
        }
        self.running = Some(running);
    }

    /// Stops it and gives every entry that its journal holds, with its number.
    pub async fn entries(&mut self) -> Vec<(u64, Entry)> {
        self.stop().await;
        let (options, disk) = (JournalOptions::default(), Arc::clone(&self.disk));
        let journal = Journal::open(options, disk, Arc::new(SystemClock)).unwrap().journal;
        journal.log().entries(0, usize::MAX, usize::MAX).unwrap().unwrap().entries
    }

    /// A client with this token; without one if it is empty.
    pub fn client(&self, token: &str) -> Client {
        Client::new(self.address, token)
    }

    /// Makes a token for a handle; gives its identifier and its secret.
    pub async fn token(&self, handle: &str, rights: &[&str]) -> (String, String) {
        self.client(&self.admin).make_token(handle, rights).await
    }

    /// A client that reads and writes as `handle`.
    pub async fn writer(&self, handle: &str) -> Client {
        self.client(&self.admin).writer(handle).await
    }
}

/// A server with a runtime of its own, for tests that block.
pub struct BlockingServer {
    runtime: Runtime,
    server: Server,
}

impl Deref for BlockingServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for BlockingServer {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl BlockingServer {
    /// Starts one with these settings over the defaults, its files in memory.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_on(Arc::new(MemoryDisk::default()), settings)
    }

    /// The same, its store on `disk`.
    pub fn start_on(disk: Arc<dyn Disk>, settings: &[(&str, &str)]) -> Self {
        let folder = Folder::new("server");
        Self::begin(&folder.text(""), disk, settings, Some(folder))
    }

    /// The same, with the data folder of a caller.
    pub fn start_in(folder: &Path, disk: Arc<dyn Disk>, settings: &[(&str, &str)]) -> Self {
        Self::begin(folder.to_str().expect("a path of text"), disk, settings, None)
    }

    fn begin(
        data: &str,
        disk: Arc<dyn Disk>,
        settings: &[(&str, &str)],
        folder: Option<Folder>,
    ) -> Self {
        let data = ("data", data);
        let flags = [data].into_iter().chain(settings.iter().copied());
        let flags = flags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let sources = ConfigSources { flags, ..ConfigSources::default() };
        let config = Config::load(&sources).expect("good settings");
        let runtime = Runtime::new().expect("a runtime starts");
        let server = runtime.block_on(Server::start_on(config, disk, folder));
        Self { runtime, server }
    }

    /// Stops it in good order while `meanwhile` happens.
    pub fn stop(mut self, meanwhile: impl FnOnce()) {
        let stopping = self.server.running.take().expect("it runs").stop();
        let stopping = self.runtime.spawn(stopping);
        meanwhile();
        let stopped = self.runtime.block_on(stopping).expect("it stops");
        stopped.expect("it stops in good order");
    }

    /// Stops it and starts it on the same files.
    pub fn restart(&mut self) {
        self.runtime.block_on(self.server.restart());
    }

    /// A connection.
    pub fn connect(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// Sends one request on a connection of its own and reads the answer. In `lines`, `{own}`
    /// stands for the server's address, `{agent}` and `{admin}` for their tokens.
    pub fn ask(&self, lines: &[&str], body: &str) -> Answer {
        let mut peer = self.connect();
        peer.send(self.request(lines, body));
        peer.answer(lines[0].starts_with("HEAD "))
    }

    /// The bytes of a request: the request line, headers, and a body with its length if there is
    /// one. Nothing is added, for requests that lack something.
    pub fn request(&self, lines: &[&str], body: &str) -> String {
        let length = format!("\r\nContent-Length: {}", body.len());
        let length = if body.is_empty() { "" } else { &length };
        format!("{}{length}\r\n\r\n{body}", lines.join("\r\n"))
            .replace("{own}", &self.address.to_string())
            .replace("{agent}", &self.agent)
            .replace("{admin}", &self.admin)
    }

    /// Revokes the token that was made last.
    pub fn revoke_last_token(&self) {
        let tokens = peer::get(self.address, &self.admin, "/v1/tokens");
        let last = tokens["items"].as_array().and_then(|items| items.last()).expect("a token");
        let line = format!("DELETE /v1/tokens/{}", last["id"].as_str().expect("an id"));
        peer::ask(self.address, &self.admin, &line, "", "").expect(204);
    }

    /// The secret of a new token made of `fields`.
    pub fn make_token(&self, fields: &serde_json::Value) -> String {
        let made = peer::post(self.address, &self.admin, "/v1/tokens", fields);
        made["secret"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }
}
