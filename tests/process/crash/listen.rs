//! A listener of everything that comes back after each kill, from the last cursor that it handled.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a frame is waited for: heartbeats come more often.
const PATIENCE: Duration = Duration::from_secs(60);

/// One listener.
pub struct Listener {
    token: String,
    cursor: String,
    /// How often it was told of each message, event and claim.
    pub told: BTreeMap<String, u32>,
    /// How often it came back.
    pub returns: u32,
}

impl Listener {
    /// Begins to listen, now.
    pub fn begin(address: SocketAddr, token: &str) -> Self {
        let (token, told) = (token.to_owned(), BTreeMap::new());
        let mut listener = Self { token, cursor: String::new(), told, returns: 0 };
        let mut stream = listener.connect(address).expect("the server listens");
        let hello = stream.frame().expect("hello");
        assert_eq!(hello["type"], "hello");
        hello["cursor"].as_str().expect("a cursor").clone_into(&mut listener.cursor);
        listener
    }

    /// Listens until the server is gone, or, if `catch_up`, until all that was missed is told.
    pub fn listen(&mut self, address: SocketAddr, catch_up: bool) {
        let Ok(mut stream) = self.connect(address) else { return };
        self.returns += 1;
        while let Ok(frame) = stream.frame() {
            let cursor = frame["cursor"].as_str().expect("a cursor").to_owned();
            let kind = frame["type"].as_str().expect("a type");
            let told = ["message", "event", "claim"].iter().find(|it| **it == kind);
            if let Some(told) = told {
                let id = frame[*told]["id"].as_str().expect("an id").to_owned();
                let count = self.told.entry(id).or_default();
                *count += 1;
                assert_eq!(*count, 1, "told twice: {frame}");
            }
            let is_later = position(&cursor) > position(&self.cursor);
            let tells = told.is_some() || matches!(kind, "awaiting" | "settled");
            assert!(is_later || !tells, "{kind} at {cursor} after {}", self.cursor);
            if is_later {
                self.cursor = cursor;
            }
            if catch_up && kind == "caught_up" {
                return;
            }
        }
        assert!(!catch_up, "the feed ends before it has caught up");
    }

    fn connect(&self, address: SocketAddr) -> io::Result<Stream> {
        let mut socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let since = match &*self.cursor {
            "" => String::new(),
            cursor => format!("&since={cursor}"),
        };
        let request = format!(
            "GET /v1/feed?scope=all{since} HTTP/1.1\r\nHost: {address}\r\n\
             Authorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
            self.token
        );
        socket.write_all(request.as_bytes())?;
        let mut stream = Stream { socket: BufReader::new(socket), unread: Vec::new() };
        let status = stream.line()?;
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while !stream.line()?.trim().is_empty() {}
        Ok(stream)
    }
}

/// The position that a cursor begins with.
fn position(cursor: &str) -> u64 {
    let number = cursor.split('.').next().and_then(|text| text.parse().ok());
    number.expect("a cursor begins with its position")
}

/// A body that comes in chunks.
struct Stream {
    socket: BufReader<TcpStream>,
    unread: Vec<u8>,
}

impl Stream {
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.socket.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }

    fn chunk(&mut self) -> io::Result<()> {
        let size = self.line()?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; size + 2];
        self.socket.read_exact(&mut bytes)?;
        self.unread.extend_from_slice(&bytes[..size]);
        Ok(())
    }

    /// The next frame; comments are passed over.
    fn frame(&mut self) -> io::Result<Value> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|end| end == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                let event = String::from_utf8(event).expect("a frame of text");
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data {
                    return Ok(serde_json::from_str(data).expect("a frame of JSON"));
                }
            }
            self.chunk()?;
        }
    }
}
