//! A connection that notices when the server is gone, and goes on living.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

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
        self.ask("GET", path, "", "")
    }

    /// Sends `body` to `path`.
    pub fn post(&mut self, path: &str, key: Option<&str>, body: &Value) -> io::Result<Answer> {
        let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
        self.ask("POST", path, &key, &body.to_string())
    }

    /// Calls a tool over MCP; the answer is the one that HTTP would have given.
    pub fn call(&mut self, tool: &str, arguments: &Value, done: u16) -> io::Result<Answer> {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = "Accept: application/json, text/event-stream\r\n\
                       Content-Type: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n";
        let mut answer = self.ask("POST", "/mcp", headers, &body.to_string())?;
        let result = answer.body["result"].take();
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().expect("a problem");
            answer.body = serde_json::from_str(text).expect("a problem of JSON");
            answer.status = answer.body["status"].as_u64().expect("a status") as u16;
        } else {
            (answer.body, answer.status) = (result["structuredContent"].clone(), done);
        }
        Ok(answer)
    }

    fn ask(&mut self, verb: &str, path: &str, headers: &str, body: &str) -> io::Result<Answer> {
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}\
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
