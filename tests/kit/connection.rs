//! One end of a connection as a task holds it: for tests with more connections than threads.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::http::{self, Answer, PATIENCE};

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    pub socket: TcpStream,
    /// What has come and was not read.
    pub unread: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        Self::by(TcpSocket::new_v4()?, address).await
    }

    /// From another address of the loopback, `127.0.0.<last>`.
    pub async fn open_from(last: u8, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0)))?;
        Self::by(socket, address).await
    }

    /// By a socket that was set up by the caller.
    pub async fn by(socket: TcpSocket, address: SocketAddr) -> io::Result<Self> {
        let socket = socket.connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, unread: Vec::new() })
    }

    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    async fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8 << 10];
        let count = timeout(PATIENCE, self.socket.read(&mut bytes)).await??;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unread.extend_from_slice(&bytes[..count]);
        Ok(())
    }

    /// Reads until `take` finds what it takes.
    async fn take<T>(&mut self, take: impl Fn(&mut Vec<u8>) -> Option<T>) -> io::Result<T> {
        loop {
            if let Some(taken) = take(&mut self.unread) {
                return Ok(taken);
            }
            self.read().await?;
        }
    }

    /// The next chunk of a body; the last one is empty.
    pub async fn chunk(&mut self) -> io::Result<Vec<u8>> {
        self.take(http::take_chunk).await
    }

    /// Reads an answer. A body in chunks, which may be a stream, is left to [`Self::chunk`].
    pub async fn answer(&mut self) -> io::Result<Answer> {
        let mut answer = self.take(http::take_head).await?;
        answer.body = self.take(|unread| answer.take_body(unread)).await?;
        Ok(answer)
    }

    /// Sends a request and reads its answer. A request that the server does not read to its end
    /// may still be answered.
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        let sent = self.send(request).await;
        let answer = self.answer().await;
        if answer.is_err() {
            sent?;
        }
        answer
    }

    /// Waits until the server has closed the connection; gives what came before.
    pub async fn rest(mut self) -> Vec<u8> {
        while self.read().await.is_ok() {}
        self.unread
    }
}
