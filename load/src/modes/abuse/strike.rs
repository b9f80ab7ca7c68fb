//! The attackers: tasks on a runtime of their own, so that they do not delay the honest agents
//! within the generator.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;

use super::attack::{Attack, Manner};
use crate::http::{Connection, Upgrade};

/// Threads of the attackers.
const WORKERS: usize = 2;
/// Pause after a connection that was refused or cut off without an answer.
const PAUSE: Duration = Duration::from_millis(10);
/// Loopback addresses that silent connections come from.
const ADDRESSES: u64 = 250;
/// Frames that are written at a time.
const FRAMES: usize = 64;

/// A running attack.
pub struct Strikes {
    runtime: Runtime,
    struck: Arc<AtomicU64>,
}

impl Strikes {
    /// Begins to attack.
    pub fn start(attack: Attack, address: SocketAddr) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .enable_all()
            .build()
            .context("no runtime for the attackers")?;
        let struck = Arc::new(AtomicU64::new(0));
        let attack = Arc::new(attack);
        for index in 0..attack.connections {
            let attacker = Attacker {
                attack: Arc::clone(&attack),
                address,
                number: index as u64,
                turn: 0,
                struck: Arc::clone(&struck),
            };
            runtime.spawn(attacker.run());
        }
        Ok(Self { runtime, struck })
    }

    /// Ends the attack; returns how often it struck.
    pub fn stop(self) -> u64 {
        self.runtime.shutdown_background();
        self.struck.load(Ordering::Relaxed)
    }
}

/// One connection of an attack, made anew whenever it ends.
struct Attacker {
    attack: Arc<Attack>,
    address: SocketAddr,
    number: u64,
    turn: u64,
    struck: Arc<AtomicU64>,
}

impl Attacker {
    async fn run(mut self) {
        loop {
            let attack = Arc::clone(&self.attack);
            let ended = match &attack.manner {
                Manner::Flood(compose) => self.flood(compose).await,
                Manner::Unread(compose) => self.unread(compose).await,
                Manner::Rest(request) => self.rest(request).await,
                Manner::Frames { upgrade, frame } => self.frames(upgrade, frame).await,
            };
            if ended.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn strike(&self) {
        self.struck.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of the next request, of all connections' ones.
    fn next(&mut self) -> u64 {
        self.turn += 1;
        self.turn * self.attack.connections as u64 + self.number
    }

    /// Sends a request, reads the answer, and again.
    async fn flood(&mut self, compose: &super::attack::Compose) -> std::io::Result<()> {
        let mut connection = Connection::open(self.address).await?;
        loop {
            let request = compose(self.next());
            self.strike();
            connection.call(&request).await?;
        }
    }

    /// Sends requests as long as the socket takes them, and reads nothing.
    async fn unread(&mut self, compose: &super::attack::Compose) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(self.address).await?;
        loop {
            let request = compose(self.next());
            stream.write_all(&request).await?;
            self.strike();
        }
    }

    /// Sends what is no whole request, or one, and waits for the end of the connection.
    async fn rest(&mut self, request: &[u8]) -> std::io::Result<()> {
        let last = 1 + (self.next() % ADDRESSES) as u8;
        let socket = TcpSocket::new_v4()?;
        // Thousands of connections to one port need the ports of several addresses.
        socket.set_reuseaddr(true)?;
        socket.bind((IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0).into())?;
        let mut stream = socket.connect(self.address).await?;
        stream.write_all(request).await?;
        self.strike();
        let mut bytes = [0; 4_096];
        while stream.read(&mut bytes).await? > 0 {}
        Ok(())
    }

    /// Opens a feed and sends frames as long as the socket takes them, and reads nothing.
    async fn frames(&mut self, upgrade: &[u8], frame: &[u8]) -> std::io::Result<()> {
        let connection = Connection::open(self.address).await?;
        let Upgrade::Done { mut stream, .. } = connection.upgrade(upgrade).await? else {
            return Err(std::io::Error::other("no feed"));
        };
        let frames = frame.repeat(if frame.len() > 1_024 { 1 } else { FRAMES });
        loop {
            stream.write_all(&frames).await?;
            self.strike();
        }
    }
}
