//! A feed's listener, over a WebSocket and as an event stream.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::connection::Connection;
use crate::http::{Answer, bearer, field, request, take_event};

/// A key that the standard uses as its example.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A frame as it came.
#[derive(Clone, Debug)]
pub struct Frame {
    pub json: Value,
    /// The position in its cursor.
    pub position: u64,
}

impl Frame {
    /// Reads a frame.
    pub fn read(text: &str) -> Self {
        let json: Value = serde_json::from_str(text).unwrap();
        let position = crate::position(json["cursor"].as_str().unwrap());
        Self { json, position }
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        self.json["type"].as_str().unwrap()
    }

    pub fn cursor(&self) -> &str {
        self.json["cursor"].as_str().unwrap()
    }
}

/// What comes over a WebSocket.
#[derive(Clone, Debug)]
pub enum Heard {
    Frame(Frame),
    /// The server closes it, with code and reason.
    Closed(u16, String),
    /// The connection broke off.
    Gone,
}

/// A listener over a WebSocket.
#[derive(Debug)]
pub struct Listener {
    pub socket: WebSocketStream<TcpStream>,
    /// What the upgrade was answered with.
    pub answer: Answer,
}

/// The headers of an upgrade, with `more`.
pub fn upgrade(more: &str) -> String {
    format!(
        "connection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: {KEY}\r\n{more}"
    )
}

/// Asks for a feed with these headers over a socket whose receive buffer has `buffer` bytes.
pub async fn ask(
    address: SocketAddr,
    query: &str,
    headers: &str,
    buffer: Option<u32>,
) -> (Answer, Connection) {
    let socket = TcpSocket::new_v4().unwrap();
    if let Some(bytes) = buffer {
        socket.set_recv_buffer_size(bytes).unwrap();
    }
    let mut connection = Connection::by(socket, address).await.unwrap();
    let request = request(address, "", &format!("GET /v1/feed{query}"), headers, "");
    let answer = connection.ask(&request).await.unwrap();
    (answer, connection)
}

impl Listener {
    /// Listens with a token.
    pub async fn connect(address: SocketAddr, token: &str, query: &str) -> Self {
        Self::with(address, query, &upgrade(&bearer(token)), None).await
    }

    /// The same; gives the `hello` too, which comes first.
    pub async fn greeted(address: SocketAddr, token: &str, query: &str) -> (Self, Frame) {
        let mut listener = Self::connect(address, token, query).await;
        let hello = listener.expect("hello").await;
        (listener, hello)
    }

    /// Listens with these headers over a socket whose receive buffer has `buffer` bytes.
    pub async fn with(
        address: SocketAddr,
        query: &str,
        headers: &str,
        buffer: Option<u32>,
    ) -> Self {
        let (answer, Connection { socket, unread }) = ask(address, query, headers, buffer).await;
        assert_eq!(answer.status, 101, "{query}: {}", answer.text());
        assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let (client, socket) = (Role::Client, socket);
        let socket = WebSocketStream::from_partially_read(socket, unread, client, None).await;
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
        let mut frames = vec![self.frame().await];
        while frames[frames.len() - 1].kind() != kind {
            frames.push(self.frame().await);
        }
        frames
    }

    /// Sends a message.
    pub async fn say(&mut self, message: impl Into<Message>) {
        self.socket.send(message.into()).await.unwrap();
    }

    /// Sends messages at once.
    pub async fn say_all(&mut self, messages: impl IntoIterator<Item = String>) {
        for message in messages {
            self.socket.feed(message.into()).await.unwrap();
        }
        self.socket.flush().await.unwrap();
    }

    /// Code and reason with which the server closes, frames before it passed over.
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

/// A listener to an event stream.
#[derive(Debug)]
pub struct Events {
    pub answer: Answer,
    connection: Connection,
    /// What has come of events that were not taken yet.
    pub text: String,
}

impl Events {
    /// Listens with a token and more headers.
    pub async fn open(address: SocketAddr, token: &str, query: &str, more: &str) -> Self {
        let headers = format!("accept: text/event-stream\r\n{}{more}", bearer(token));
        let (answer, connection) = ask(address, query, &headers, None).await;
        assert_eq!(answer.status, 200, "{query} {more}");
        Self { answer, connection, text: String::new() }
    }

    /// Reads on; false once the stream has ended as it should.
    pub async fn read(&mut self) -> bool {
        let chunk = self.connection.chunk().await.expect("a stream ends with an empty chunk");
        self.text.push_str(&String::from_utf8(chunk.clone()).expect("events of text"));
        !chunk.is_empty()
    }

    /// The next event as a frame, with whose type and cursor it must agree.
    pub async fn next(&mut self) -> Frame {
        loop {
            if let Some(event) = take_event(&mut self.text) {
                let frame = Frame::read(field(&event, "data").expect("an event with data"));
                let named = (field(&event, "event"), field(&event, "id"));
                assert_eq!(named, (Some(frame.kind()), Some(frame.cursor())));
                return frame;
            }
            assert!(self.read().await, "the stream ended");
        }
    }
}
