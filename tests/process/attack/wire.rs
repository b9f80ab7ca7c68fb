//! One connection of somebody who may say anything, and the pace at which it is said.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, MissedTickBehavior};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at how much is due.
const TICK: Duration = Duration::from_millis(10);

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The reason of a refusal, which has the form of bindings.md §1.
    pub fn reason(&self) -> String {
        let problem: Value = serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("a refusal without a problem: {}", self.head));
        assert!(self.head.contains("content-type: application/problem+json"), "{}", self.head);
        assert!(self.head.contains("x-request-id: "), "{}", self.head);
        assert_eq!(problem["status"], self.status, "{problem}");
        problem["reason"].as_str().unwrap_or_default().to_owned()
    }
}

/// A connection.
pub struct Wire {
    pub socket: TcpStream,
    unread: Vec<u8>,
}

impl Wire {
    /// Connects.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, unread: Vec::new() })
    }

    /// Connects from another address of the loopback, `127.0.0.<last>`.
    pub async fn connect_from(last: u8, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0)))?;
        Ok(Self { socket: socket.connect(address).await?, unread: Vec::new() })
    }

    /// Sends all of `bytes`.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    /// Sends a request and reads its answer. Whoever sends what nobody reads to its end may still
    /// be answered.
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        let sent = self.send(request).await;
        let answer = self.answer().await;
        if answer.is_err() {
            sent?;
        }
        answer
    }

    /// Reads one answer.
    pub async fn answer(&mut self) -> io::Result<Answer> {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|end| end == b"\r\n\r\n") {
                break at + 4;
            }
            self.read().await?;
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
        };
        let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        while self.unread.len() < length {
            self.read().await?;
        }
        let body = self.unread.drain(..length).collect();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        Ok(Answer { status: status.ok_or(io::ErrorKind::InvalidData)?, head, body })
    }

    async fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8 << 10];
        let count = tokio::time::timeout(PATIENCE, self.socket.read(&mut bytes)).await??;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unread.extend_from_slice(&bytes[..count]);
        Ok(())
    }

    /// Waits until the server has closed the connection; gives what came before.
    pub async fn rest(mut self) -> Vec<u8> {
        while self.read().await.is_ok() {}
        self.unread
    }
}

/// Gives `rate` turns a second for as long as it lasts.
pub struct Pace {
    began: Instant,
    lasts: Duration,
    rate: u64,
    given: u64,
    due: u64,
    ticks: tokio::time::Interval,
}

impl Pace {
    /// From now on.
    pub fn new(rate: u64, lasts: Duration) -> Self {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self { began: Instant::now(), lasts, rate, given: 0, due: 0, ticks }
    }

    /// Waits for the next turn and gives its number; `None` once it is over.
    pub async fn next(&mut self) -> Option<u64> {
        while self.given >= self.due {
            if self.began.elapsed() >= self.lasts {
                return None;
            }
            self.ticks.tick().await;
            let passed = self.began.elapsed().min(self.lasts);
            self.due = (passed.as_millis() as u64 * self.rate) / 1_000;
        }
        self.given += 1;
        Some(self.given - 1)
    }
}
