//! An HTTP/1.1 client connection: one request at a time, one buffer, no copies.
//!
//! Hand-written to spare CPU: the client runs on the same cores as the measured server.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::clock;

/// Largest answer in bytes; a page of 200 messages at all limits is smaller.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A server closes connections that are idle for ten seconds; a connection idle for half of that is
/// replaced before the next call.
const REST_MAX: Duration = Duration::from_secs(5);

/// One kept-alive connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    used: Instant,
    buffer: Vec<u8>,
    filled: usize,
}

/// An answer, borrowed from the connection's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The content.
    pub body: &'a [u8],
}

impl Connection {
    /// Connects, with `TCP_NODELAY`.
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    /// A connection over a connected socket.
    pub fn over(stream: TcpStream) -> Self {
        Self { stream, used: clock::now(), buffer: vec![0; 4096], filled: 0 }
    }

    /// Connects anew if the server may have closed the connection for idleness.
    pub async fn refresh(&mut self, address: SocketAddr) -> io::Result<()> {
        if clock::now() - self.used > REST_MAX {
            *self = Self::open(address).await?;
        }
        Ok(())
    }

    /// Sends a request and waits for its answer.
    pub async fn call(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.used = clock::now();
        self.stream.write_all(request).await?;
        self.filled = 0;
        let head = self.read_head().await?;
        let status = status(&self.buffer[..head])?;
        let body = if status == 204 || status == 304 {
            head..head
        } else if let Some(length) = content_length(&self.buffer[..head]) {
            self.read_until(head + length).await?;
            head..head + length
        } else if is_chunked(&self.buffer[..head]) {
            self.read_chunks(head).await?
        } else {
            return Err(invalid("an answer without a length"));
        };
        Ok(Answer { status, body: &self.buffer[body] })
    }

    /// Requests an upgrade; returns the socket and the bytes read beyond the head, or the refusal.
    pub async fn upgrade(mut self, request: &[u8]) -> io::Result<Upgrade> {
        self.stream.write_all(request).await?;
        self.filled = 0;
        let head = self.read_head().await?;
        let status = status(&self.buffer[..head])?;
        if status != 101 {
            if let Some(length) = content_length(&self.buffer[..head]) {
                self.read_until(head + length).await?;
            }
            let text = String::from_utf8_lossy(&self.buffer[head..self.filled]).into_owned();
            return Ok(Upgrade::Refused { status, text });
        }
        let rest = self.buffer[head..self.filled].to_vec();
        Ok(Upgrade::Done { stream: self.stream, rest })
    }

    async fn read_head(&mut self) -> io::Result<usize> {
        let mut seen = 0;
        loop {
            self.read_more().await?;
            let from = seen.max(3) - 3;
            if let Some(end) = memmem::find(&self.buffer[from..self.filled], b"\r\n\r\n") {
                return Ok(from + end + 4);
            }
            seen = self.filled;
        }
    }

    async fn read_until(&mut self, end: usize) -> io::Result<()> {
        if end > ANSWER_BYTES_MAX {
            return Err(invalid("an answer beyond the largest size"));
        }
        if end > self.buffer.len() {
            self.buffer.resize(end, 0);
        }
        while self.filled < end {
            self.read_more().await?;
        }
        Ok(())
    }

    async fn read_more(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            if self.filled >= ANSWER_BYTES_MAX {
                return Err(invalid("an answer beyond the largest size"));
            }
            self.buffer.resize(self.filled * 2, 0);
        }
        let count = self.stream.read(&mut self.buffer[self.filled..]).await?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ));
        }
        self.filled += count;
        Ok(())
    }

    /// Joins the chunks in place, behind the head.
    async fn read_chunks(&mut self, head: usize) -> io::Result<Range<usize>> {
        let mut out = head;
        let mut at = head;
        loop {
            let line = loop {
                if let Some(end) = memmem::find(&self.buffer[at..self.filled], b"\r\n") {
                    break at + end;
                }
                self.read_more().await?;
            };
            let size = std::str::from_utf8(&self.buffer[at..line])
                .ok()
                .and_then(|text| usize::from_str_radix(text.split(';').next()?.trim(), 16).ok())
                .ok_or_else(|| invalid("a chunk without a size"))?;
            let data = line + 2;
            self.read_until(data + size + 2).await?;
            if size == 0 {
                return Ok(head..out);
            }
            self.buffer.copy_within(data..data + size, out);
            out += size;
            at = data + size + 2;
        }
    }
}

/// The outcome of an upgrade.
#[derive(Debug)]
pub enum Upgrade {
    /// The server switched protocols.
    Done {
        /// The socket.
        stream: TcpStream,
        /// Bytes of the new protocol that came with the head.
        rest: Vec<u8>,
    },
    /// The server refused.
    Refused {
        /// The status code.
        status: u16,
        /// The problem object.
        text: String,
    },
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

fn status(head: &[u8]) -> io::Result<u16> {
    let digits = head.get(9..12).filter(|_| head.starts_with(b"HTTP/1."));
    digits
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        .ok_or_else(|| invalid("no HTTP status line"))
}

/// The value of a header field; the name is case-insensitive.
fn field<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(rest) = line.get(name.len()..) else { continue };
        if rest.first() == Some(&b':') && line[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            return Some(rest[1..].trim_ascii());
        }
    }
    None
}

fn content_length(head: &[u8]) -> Option<usize> {
    std::str::from_utf8(field(head, "content-length")?).ok()?.parse().ok()
}

fn is_chunked(head: &[u8]) -> bool {
    field(head, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case(b"chunked"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn answered(pieces: &'static [&'static [u8]]) -> (u16, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut request = [0; 64];
            let _ = stream.read(&mut request).await.unwrap();
            for piece in pieces {
                stream.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let mut connection = Connection::open(address).await.unwrap();
        let answer = connection.call(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let result = (answer.status, answer.body.to_vec());
        server.await.unwrap();
        result
    }

    /// Goal: an answer in pieces is read whole. Method: a server that writes it in pieces.
    #[tokio::test]
    async fn reads_pieces() {
        let pieces: &[&[u8]] =
            &[b"HTTP/1.1 201 Created\r\ncontent-LENGTH: 5\r", b"\n\r\nhe", b"llo"];
        assert_eq!(answered(pieces).await, (201, b"hello".to_vec()));
    }

    /// Goal: chunks are joined. Method: three chunks, cut inside a size.
    #[tokio::test]
    async fn reads_chunks() {
        let pieces: &[&[u8]] = &[
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1",
            b"0\r\n0123456789abcdef\r\n0\r\n\r\n",
        ];
        assert_eq!(answered(pieces).await, (200, b"abc0123456789abcdef".to_vec()));
    }
}
