//! A connection that notices when the server is gone, and goes on living.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long an answer is waited for; far more than any needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// Whether it is the first outcome of a known key again.
    pub replayed: bool,
    pub body: Value,
}

/// One connection.
pub struct Client {
    socket: TcpStream,
    token: String,
    unread: Vec<u8>,
}

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr, token: &str) -> io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, token: token.to_owned(), unread: Vec::new() })
    }

    /// Reads `path`.
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask("GET", path, None, "")
    }

    /// Sends `body` to `path`.
    pub fn post(&mut self, path: &str, key: Option<&str>, body: &Value) -> io::Result<Answer> {
        self.ask("POST", path, key, &body.to_string())
    }

    fn ask(&mut self, verb: &str, path: &str, key: Option<&str>, body: &str) -> io::Result<Answer> {
        let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{key}\
             Content-Length: {}\r\n\r\n{body}",
            self.socket.peer_addr()?,
            self.token,
            body.len()
        );
        self.socket.write_all(request.as_bytes())?;
        self.answer()
    }

    fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 << 10];
        let count = self.socket.read(&mut bytes)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unread.extend_from_slice(&bytes[..count]);
        Ok(())
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|end| end == b"\r\n\r\n") {
                break at + 4;
            }
            self.read()?;
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).expect("a header of text");
        let head = head.to_ascii_lowercase();
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
        };
        let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        while self.unread.len() < length {
            self.read()?;
        }
        let body: Vec<u8> = self.unread.drain(..length).collect();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        Ok(Answer {
            status: status.expect("a status"),
            replayed: header("idempotent-replayed").is_some(),
            body: serde_json::from_slice(&body).expect("a body of JSON"),
        })
    }
}
