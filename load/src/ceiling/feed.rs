//! The ceiling for feeds: the plain WebSocket library, sending the same bytes to all listeners.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};

use super::process::announce;

/// The path whose client sends the texts that all listeners receive.
pub const CONTROL: &str = "/control";

const QUEUE: usize = 256;
/// Most frames of one flush.
const BATCH: usize = 16;

type Senders = Arc<Mutex<Vec<mpsc::Sender<Message>>>>;

/// Serves until the process is ended.
pub async fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?)?;
    let listeners = Senders::default();
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection(stream, Arc::clone(&listeners)));
    }
}

async fn connection(stream: TcpStream, listeners: Senders) {
    let mut control = false;
    #[expect(clippy::result_large_err, reason = "the library's signature")]
    let callback = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        control = request.uri().path() == CONTROL;
        let protocol = HeaderValue::from_static("parley.v1");
        response.headers_mut().insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let config = WebSocketConfig::default().read_buffer_size(4096);
    let Ok(mut socket) = accept_hdr_async_with_config(stream, callback, Some(config)).await else {
        return;
    };
    if control {
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() {
                send_to_all(&listeners, &message);
            }
        }
        return;
    }
    let (sender, mut queue) = mpsc::channel(QUEUE);
    if let Ok(mut listeners) = listeners.lock() {
        listeners.push(sender);
    }
    if socket.send(Message::text("{\"type\":\"hello\",\"cursor\":\"0.1.x\"}")).await.is_err() {
        return;
    }
    while let Some(message) = queue.recv().await {
        if socket.feed(message).await.is_err() {
            return;
        }
        for _ in 1..BATCH {
            let Ok(message) = queue.try_recv() else { break };
            if socket.feed(message).await.is_err() {
                return;
            }
        }
        if socket.flush().await.is_err() {
            return;
        }
    }
}

fn send_to_all(listeners: &Senders, message: &Message) {
    if let Ok(mut listeners) = listeners.lock() {
        // A listener with a full queue is dropped; the generator reports the gap.
        listeners.retain(|listener| listener.try_send(message.clone()).is_ok());
    }
}
