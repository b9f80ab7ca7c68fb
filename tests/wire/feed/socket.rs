//! A listener over a WebSocket.

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::forum::{Answer, Forum, answer};

/// A key that the standard uses as its example.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A frame as it came.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its JSON.
    pub json: Value,
    /// The position in its cursor.
    pub position: u64,
}

impl Frame {
    /// Reads a frame.
    pub fn read(text: &str) -> Self {
        let json: Value = serde_json::from_str(text).unwrap();
        let cursor = json["cursor"].as_str().unwrap();
        let position = cursor.split('.').next().unwrap().parse().unwrap();
        Self { json, position }
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        self.json["type"].as_str().unwrap()
    }

    /// Its cursor.
    pub fn cursor(&self) -> &str {
        self.json["cursor"].as_str().unwrap()
    }
}

/// What a listener hears.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A frame.
    Frame(Frame),
    /// The server says goodbye: code and reason.
    Closed(u16, String),
    /// The connection broke off.
    Gone,
}

/// A listener.
pub struct Listener {
    /// The socket.
    pub socket: WebSocketStream<BufReader<TcpStream>>,
    /// What the server answered.
    pub answer: Answer,
}

/// The headers of an upgrade, with `more`.
pub fn upgrade(more: &str) -> String {
    format!(
        "connection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: {KEY}\r\n{more}"
    )
}

/// The header of a token.
pub fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// Asks for an upgrade with these headers over a socket whose receive buffer has `buffer` bytes.
pub async fn ask(
    forum: &Forum,
    query: &str,
    headers: &str,
    buffer: Option<u32>,
) -> (Answer, BufReader<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    if let Some(bytes) = buffer {
        socket.set_recv_buffer_size(bytes).unwrap();
    }
    let stream = socket.connect(forum.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::with_capacity(4_096, stream);
    let host = if headers.contains("host:") {
        String::new()
    } else {
        format!("host: {}\r\n", forum.address)
    };
    let request = format!("GET /v1/feed{query} HTTP/1.1\r\n{host}{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = answer(&mut stream).await;
    (answer, stream)
}

impl Listener {
    /// Listens with a token.
    pub async fn connect(forum: &Forum, token: &str, query: &str) -> Self {
        Self::with(forum, query, &upgrade(&bearer(token)), None).await
    }

    /// Listens with these headers over a socket whose receive buffer has `buffer` bytes.
    pub async fn with(forum: &Forum, query: &str, headers: &str, buffer: Option<u32>) -> Self {
        let (answer, stream) = ask(forum, query, headers, buffer).await;
        let text = String::from_utf8_lossy(&answer.bytes);
        assert_eq!(answer.status, 101, "{query}: {text}");
        let accept = answer.headers.get("sec-websocket-accept");
        assert_eq!(accept.map(String::as_str), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
        Self { socket, answer }
    }

    /// What comes next.
    pub async fn hear(&mut self) -> Heard {
        loop {
            return match self.socket.next().await {
                Some(Ok(Message::Text(text))) => Heard::Frame(Frame::read(&text)),
                Some(Ok(Message::Close(Some(frame)))) => {
                    let (code, reason) = (frame.code.into(), frame.reason.to_string());
                    // The answer to it leaves with the next reading.
                    drop(self.socket.next().await);
                    Heard::Closed(code, reason)
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(None)) | Err(_)) | None => Heard::Gone,
                Some(Ok(other)) => panic!("{other:?}"),
            };
        }
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Frame {
        match self.hear().await {
            Heard::Frame(frame) => frame,
            other => panic!("no frame: {other:?}"),
        }
    }

    /// The next frame, which is of this type.
    pub async fn expect(&mut self, kind: &str) -> Frame {
        let frame = self.frame().await;
        assert_eq!(frame.kind(), kind, "{}", frame.json);
        frame
    }

    /// All frames up to the first of this type, which is the last.
    pub async fn until(&mut self, kind: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.frame().await);
            if frames[frames.len() - 1].kind() == kind {
                return frames;
            }
        }
    }

    /// Says something.
    pub async fn say(&mut self, message: impl Into<Message>) {
        self.socket.send(message.into()).await.unwrap();
    }

    /// How the server says goodbye, frames before it passed over.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.hear().await {
                Heard::Frame(_) => {}
                Heard::Closed(code, reason) => return (code, reason),
                Heard::Gone => return (0, String::new()),
            }
        }
    }
}
