//! Carries a feed over a WebSocket (RFC 6455): one task for each connection, small buffers.
//!
//! The task never waits for its peer alone: while a write waits, it still reads the socket, checks
//! its timers and sees that the feed is to end.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::client;
use super::listener::Feed;
use super::replay::OutgoingFrame;
use super::subscriber::CloseReason;
use crate::metric;

/// How long a listener that is behind may leave the bytes written to it unread; then it is slow.
pub const SLOW_AFTER: Duration = Duration::from_secs(1);
/// How long the closing handshake may take.
pub const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// The part of a heartbeat by which a check of the timers is late if the server stood still.
const STOOD_STILL_PART: u32 = 4;
/// Bytes read at a time: clients send little. An idle connection holds as many, and they are
/// cleared before each read.
const READ_BYTES: usize = 1 << 10;
/// Bytes collected before they are written.
const WRITE_BYTES: usize = 32 << 10;
/// Bytes that may wait to be written: far more than the largest frame, of which one at a time
/// waits.
const WRITE_BYTES_MAX: usize = 64 << 20;
/// Answers to client frames, pongs too, that may wait to be written; beyond, the socket is not
/// read.
const ANSWERS_MAX: usize = 8;

/// The options of connections that carry feeds.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionOptions {
    /// The time between two pings, or two comments.
    pub heartbeat: Duration,
    /// Bytes of a client's message, at most.
    pub message_bytes_max: usize,
}

/// The reason for which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The feed ends.
    Ended(CloseReason),
    /// The peer violated the protocol: closed with this code.
    Broken(u16),
    /// The peer closed.
    Left,
    /// The connection broke.
    Gone,
    /// No byte came from the peer for twice the heartbeat.
    Silent,
    /// The peer read no byte for as long.
    Stuck,
}

/// Carries `feed` over `socket`, of which `read` was read already, until one of them ends or `end`
/// is cancelled; `permit` is held until then.
pub async fn serve_feed<S, P>(
    socket: S,
    read: Bytes,
    feed: Feed,
    options: ConnectionOptions,
    end: CancellationToken,
    permit: P,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let read = {
        // Its buffer is large, and would be kept.
        let read = read;
        read.to_vec()
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_write_buffer_size(WRITE_BYTES_MAX)
        .max_message_size(Some(options.message_bytes_max))
        .max_frame_size(Some(options.message_bytes_max));
    let socket =
        WebSocketStream::from_partially_read(socket, read, Role::Server, Some(config)).await;
    let now = Instant::now();
    let mut connection = FeedConnection {
        socket,
        feed,
        options,
        last_received: now,
        last_ping: now,
        check_due: now + options.heartbeat,
        unflushed: false,
        blocked_since: None,
        answers: 0,
    };
    // A server that must exit now waits for no peer.
    if let Some(over) = end.run_until_cancelled(connection.run()).await {
        // On the heap: a connection is not closing for most of its life.
        Box::pin(end.run_until_cancelled(connection.finish(over))).await;
    }
    drop(permit);
}

struct FeedConnection<S> {
    socket: WebSocketStream<S>,
    feed: Feed,
    options: ConnectionOptions,
    /// The time at which the peer sent last.
    last_received: Instant,
    /// The time of the last ping.
    last_ping: Instant,
    /// The time at which the timers are to be checked.
    check_due: Instant,
    /// Whether bytes were written and not flushed yet.
    unflushed: bool,
    /// The time since which they wait for the peer.
    blocked_since: Option<Instant>,
    /// Answers to client frames since the last flush.
    answers: usize,
}

/// An event of a socket.
enum SocketEvent {
    Received(Option<Result<Message, Error>>),
    Flushed(Result<(), Error>),
    /// The peer does not read the bytes written, for the moment.
    Blocked,
}

impl<S: AsyncRead + AsyncWrite + Unpin> FeedConnection<S> {
    async fn run(&mut self) -> ConnectionEnd {
        let hello = self.feed.hello(self.options.heartbeat.as_secs());
        if let Err(over) = self.send([hello]) {
            return over;
        }
        let mut alarm = std::pin::pin!(tokio::time::sleep_until(self.next_check()));
        loop {
            let Self { socket, feed, .. } = self;
            let reads = self.answers < ANSWERS_MAX && !feed.is_owing();
            let writes = self.unflushed;
            let is_blocked = self.blocked_since.is_some();
            let subscriber = Arc::clone(&feed.subscriber);
            let done = tokio::select! {
                biased;
                event = poll_fn(|context| poll(socket, reads, writes, is_blocked, context)) => {
                    self.on_socket_event(event).await
                }
                close = subscriber.closed(), if writes => Err(ConnectionEnd::Ended(close)),
                frames = feed.next(), if !writes => match frames {
                    Ok(frames) => self.send(frames),
                    Err(close) => Err(ConnectionEnd::Ended(close)),
                },
                () = &mut alarm => self.check_timers(),
            };
            if let Err(over) = done {
                return over;
            }
            // Set anew only if it must ring earlier, or has rung.
            let next = self.next_check();
            self.check_due = next;
            if next < alarm.deadline() || alarm.is_elapsed() {
                alarm.as_mut().reset(next);
            }
        }
    }

    /// The time at which timers must be checked next.
    fn next_check(&self) -> Instant {
        let silent = self.last_received + self.options.heartbeat * 2;
        let next = match self.blocked_since {
            // A listener may fall behind at any time while a write is blocked.
            Some(since) => Instant::now().max(since) + SLOW_AFTER,
            None => self.last_ping + self.options.heartbeat,
        };
        next.min(silent)
    }

    /// Ends a connection whose peer is too slow or silent; sends a ping if one is due.
    fn check_timers(&mut self) -> Result<(), ConnectionEnd> {
        let now = Instant::now();
        let patience = self.options.heartbeat * 2;
        if now >= self.check_due + self.options.heartbeat / STOOD_STILL_PART {
            // The server itself stood still: the frames of its peers may lie unread.
            self.last_received = now;
            self.blocked_since = self.blocked_since.map(|_| now);
            self.last_ping = now - self.options.heartbeat;
        }
        if let Some(since) = self.blocked_since {
            if self.feed.is_behind() && now >= since + SLOW_AFTER {
                self.feed.subscriber.close(CloseReason::SlowConsumer);
                return Err(ConnectionEnd::Ended(CloseReason::SlowConsumer));
            }
            if now >= since + patience {
                return Err(ConnectionEnd::Stuck);
            }
        }
        if now >= self.last_received + patience {
            return Err(ConnectionEnd::Silent);
        }
        if self.blocked_since.is_none() && now >= self.last_ping + self.options.heartbeat {
            self.last_ping = now;
            self.put(Message::Ping(Bytes::new()))?;
        }
        Ok(())
    }

    async fn on_socket_event(&mut self, event: SocketEvent) -> Result<(), ConnectionEnd> {
        match event {
            SocketEvent::Blocked => self.blocked_since = Some(Instant::now()),
            SocketEvent::Flushed(Ok(())) => {
                self.unflushed = false;
                self.blocked_since = None;
                self.answers = 0;
            }
            SocketEvent::Flushed(Err(_)) | SocketEvent::Received(None) => {
                return Err(ConnectionEnd::Gone);
            }
            SocketEvent::Received(Some(Err(error))) => return Err(broken(&error)),
            SocketEvent::Received(Some(Ok(message))) => {
                self.last_received = Instant::now();
                let answer = match message {
                    Message::Text(text) => self.feed.receive(&text).await,
                    Message::Binary(_) => Some(self.feed.notice(&client::binary())),
                    Message::Close(_) => return Err(ConnectionEnd::Left),
                    // The library queues a pong, which is an answer that waits as others do.
                    Message::Ping(_) => {
                        self.unflushed = true;
                        self.answers += 1;
                        None
                    }
                    Message::Pong(_) | Message::Frame(_) => None,
                };
                if let Some(answer) = answer {
                    self.answers += 1;
                    self.send([answer])?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, message: Message) -> Result<(), ConnectionEnd> {
        self.unflushed = true;
        self.socket.start_send_unpin(message).map_err(|_| ConnectionEnd::Gone)
    }

    fn send(
        &mut self,
        frames: impl IntoIterator<Item = OutgoingFrame>,
    ) -> Result<(), ConnectionEnd> {
        frames.into_iter().try_for_each(|sent| self.put(Message::Text(sent.text)))
    }

    /// Closes, with a handshake if the peer can take part in one.
    async fn finish(&mut self, over: ConnectionEnd) {
        count(over);
        let scope = self.feed.subscriber.subscription.scope.as_str();
        match over {
            ConnectionEnd::Ended(CloseReason::Failed) => tracing::warn!(scope, "a feed failed"),
            _ => tracing::debug!(scope, ?over, "a feed is over"),
        }
        // Its place under the caps is free from here on.
        self.feed.leave();
        let cursor = self.feed.cursor();
        let socket = &mut self.socket;
        let handshake = async {
            if let Some(frame) = close_frame(over, &cursor) {
                if SinkExt::<Message>::send(socket, Message::Close(Some(frame))).await.is_err() {
                    return;
                }
                if matches!(over, ConnectionEnd::Broken(_)) {
                    drain(socket.get_mut()).await;
                    return;
                }
            }
            // Until the peer has answered, or, if it closed first, our answer is sent.
            while let Some(Ok(_)) = socket.next().await {}
        };
        if !matches!(over, ConnectionEnd::Gone | ConnectionEnd::Stuck) {
            let _ = tokio::time::timeout(CLOSE_WAIT, handshake).await;
        }
    }
}

fn poll<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    reads: bool,
    writes: bool,
    is_blocked: bool,
    context: &mut Context<'_>,
) -> Poll<SocketEvent> {
    // Bytes written are flushed first.
    if writes {
        match socket.poll_flush_unpin(context) {
            Poll::Ready(flushed) => return Poll::Ready(SocketEvent::Flushed(flushed)),
            Poll::Pending if !is_blocked => return Poll::Ready(SocketEvent::Blocked),
            Poll::Pending => {}
        }
    }
    if reads && let Poll::Ready(received) = socket.poll_next_unpin(context) {
        return Poll::Ready(SocketEvent::Received(received));
    }
    Poll::Pending
}

/// Ends our side and reads the bytes that the peer still sends, so that it can read the close frame
/// instead of a reset.
async fn drain<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut S) {
    if socket.shutdown().await.is_ok() {
        let mut bytes = [0; 1_024];
        while socket.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
    }
}

fn broken(error: &Error) -> ConnectionEnd {
    match error {
        Error::Capacity(_) => ConnectionEnd::Broken(1009),
        Error::Utf8(_) => ConnectionEnd::Broken(1007),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => ConnectionEnd::Gone,
        Error::Protocol(_) => ConnectionEnd::Broken(1002),
        _ => ConnectionEnd::Gone,
    }
}

fn close_frame(over: ConnectionEnd, cursor: &str) -> Option<CloseFrame> {
    let (code, reason) = match over {
        ConnectionEnd::Ended(CloseReason::SlowConsumer) => (4008, "slow_consumer"),
        ConnectionEnd::Ended(CloseReason::Revoked) => (4001, "token_unknown"),
        ConnectionEnd::Ended(CloseReason::ShuttingDown) => (1001, "shutting_down"),
        ConnectionEnd::Ended(CloseReason::Failed) => (1011, "internal"),
        ConnectionEnd::Silent => (4000, "silent"),
        ConnectionEnd::Broken(1009) => (1009, "request_too_large"),
        ConnectionEnd::Broken(code) => (code, "invalid_body"),
        ConnectionEnd::Left | ConnectionEnd::Gone | ConnectionEnd::Stuck => return None,
    };
    let reason = format!("{reason} {cursor}").into();
    Some(CloseFrame { code: CloseCode::from(code), reason })
}

/// Counts a connection that the server ended (operations.md §4).
pub(super) fn count(over: ConnectionEnd) {
    let cause = match over {
        ConnectionEnd::Ended(CloseReason::SlowConsumer) => "slow_consumer",
        ConnectionEnd::Ended(CloseReason::Revoked) => "revoked",
        ConnectionEnd::Ended(CloseReason::ShuttingDown) => "shutdown",
        ConnectionEnd::Silent => "silent",
        ConnectionEnd::Stuck => "send_timeout",
        ConnectionEnd::Ended(CloseReason::Failed)
        | ConnectionEnd::Broken(_)
        | ConnectionEnd::Left
        | ConnectionEnd::Gone => return,
    };
    metrics::counter!(metric::FEED_DROPPED, "cause" => cause).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: an idle connection stays small. Method: the size of the future that carries one,
    /// without its buffers.
    #[test]
    fn small() {
        fn size<F>(_: impl FnOnce(tokio::net::TcpStream, Feed) -> F) -> usize {
            size_of::<F>()
        }
        fn next<'f, F>(_: impl FnOnce(&'f mut Feed) -> F) -> usize {
            size_of::<F>()
        }
        let options =
            ConnectionOptions { heartbeat: Duration::from_secs(20), message_bytes_max: 1 << 16 };
        let carried = size(|socket, feed| {
            serve_feed(socket, Bytes::new(), feed, options, CancellationToken::new(), Arc::new(()))
        });
        println!(
            "{carried} bytes: feed {}, next {}, socket {}, subscriber {}",
            size_of::<Feed>(),
            next(Feed::next),
            size_of::<WebSocketStream<tokio::net::TcpStream>>(),
            size_of::<crate::feed::subscriber::Subscriber>(),
        );
        assert!(carried <= 4 << 10, "{carried} bytes");
    }
}
