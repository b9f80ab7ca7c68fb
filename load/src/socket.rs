//! A WebSocket client for feeds: one buffer, no copies of received frames.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::{Connection, Upgrade};

const BUFFER_BYTES: usize = 4096;
const FRAME_BYTES_MAX: usize = 16 << 20;
const MASK: [u8; 4] = [0x5a, 0x17, 0xc3, 0x3c];

/// An open feed.
#[derive(Debug)]
pub struct Feed {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// A received frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A text.
    Text(&'a [u8]),
    /// The close, with code and reason.
    Closed(u16, String),
}

/// The request for a feed.
#[derive(Debug, Clone)]
pub struct Request {
    /// The address of the server.
    pub address: SocketAddr,
    /// The authority for the header `Host`.
    pub host: String,
    /// The token of the listener.
    pub token: String,
    /// Path and query.
    pub path: String,
}

impl Feed {
    /// Connects and upgrades.
    pub async fn open(request: &Request) -> io::Result<Self> {
        let connection = Connection::open(request.address).await?;
        Self::over(connection, request).await
    }

    /// Connects with a small receive buffer, so that unread frames soon fill the server's queue.
    pub async fn open_narrow(request: &Request) -> io::Result<Self> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4096)?;
        let stream = socket.connect(request.address).await?;
        Self::over(Connection::over(stream), request).await
    }

    async fn over(connection: Connection, request: &Request) -> io::Result<Self> {
        let Request { host, token, path: target, .. } = request;
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: cGFybGV5LWxvYWQtZmVlZA==\r\n\
             Sec-WebSocket-Protocol: parley.v1\r\n\r\n"
        );
        match connection.upgrade(head.as_bytes()).await? {
            Upgrade::Done { stream, rest } => {
                let end = rest.len();
                let mut buffer = rest;
                buffer.resize(end.max(BUFFER_BYTES), 0);
                Ok(Self { stream, buffer, start: 0, end })
            }
            Upgrade::Refused { status, text } => {
                Err(io::Error::other(format!("no feed: {status} {text}")))
            }
        }
    }

    /// The next text or close; answers pings.
    pub async fn next(&mut self) -> io::Result<Frame<'_>> {
        loop {
            let (first, payload) = self.frame().await?;
            match first {
                0x81 => return Ok(Frame::Text(&self.buffer[payload])),
                0x89 => {
                    let pong = masked(0x8a, &self.buffer[payload]);
                    self.stream.write_all(&pong).await?;
                }
                0x8a => {}
                0x88 => {
                    let close = self.buffer[payload].to_vec();
                    // The peer may have closed the socket already.
                    let _ = self.stream.write_all(&masked(0x88, &close)).await;
                    let code = close.get(..2).map_or(1005, |it| u16::from_be_bytes([it[0], it[1]]));
                    let reason = close.get(2..).unwrap_or_default();
                    return Ok(Frame::Closed(code, String::from_utf8_lossy(reason).into_owned()));
                }
                other => return Err(io::Error::other(format!("an unexpected frame {other:#x}"))),
            }
        }
    }

    /// Sends a text.
    pub async fn send(&mut self, text: &[u8]) -> io::Result<()> {
        self.stream.write_all(&masked(0x81, text)).await
    }

    async fn frame(&mut self) -> io::Result<(u8, Range<usize>)> {
        loop {
            let held = &self.buffer[self.start..self.end];
            let wanted = match frame_size(held) {
                Some((head, payload)) if held.len() >= head + payload => {
                    let from = self.start + head;
                    self.start = from + payload;
                    return Ok((held[0], from..from + payload));
                }
                Some((head, payload)) => head + payload,
                None => 0,
            };
            self.read_more(wanted).await?;
        }
    }

    async fn read_more(&mut self, wanted: usize) -> io::Result<()> {
        if wanted > FRAME_BYTES_MAX {
            return Err(io::Error::other("a frame beyond the largest size"));
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.next_power_of_two(), 0);
        }
        let count = self.stream.read(&mut self.buffer[self.end..]).await?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the feed"));
        }
        self.end += count;
        Ok(())
    }
}

/// Length of head and payload; none if the head is incomplete.
fn frame_size(held: &[u8]) -> Option<(usize, usize)> {
    let length = usize::from(*held.get(1)? & 0x7f);
    match length {
        126 => {
            let bytes = held.get(2..4)?;
            Some((4, usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))))
        }
        127 => {
            let bytes: [u8; 8] = held.get(2..10)?.try_into().ok()?;
            Some((10, usize::try_from(u64::from_be_bytes(bytes)).ok()?))
        }
        length => Some((2, length)),
    }
}

/// A frame of a client: first byte, length, mask, payload of at most 65 535 bytes.
pub fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    if payload.len() < 126 {
        out.push(0x80 | payload.len() as u8);
    } else {
        out.push(0xfe);
        out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    }
    out.extend_from_slice(&MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: heads of all three forms are measured. Method: one of each, and incomplete ones.
    #[test]
    fn sizes() {
        assert_eq!(frame_size(&[0x81, 5]), Some((2, 5)));
        assert_eq!(frame_size(&[0x81, 126, 1, 0]), Some((4, 256)));
        assert_eq!(frame_size(&[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]), Some((10, 65_536)));
        assert_eq!(frame_size(&[0x81, 126, 1]), None);
        assert_eq!(frame_size(&[0x81]), None);
    }

    /// Goal: a sent frame can be unmasked. Method: unmask one.
    #[test]
    fn masks() {
        let frame = masked(0x81, b"hello");
        let text: Vec<u8> =
            frame[6..].iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        assert_eq!((&frame[..2], text.as_slice()), (&[0x81, 0x85][..], &b"hello"[..]));
    }
}
