//! Whether a peer has shut its sending side while its request is answered (bindings.md §1).
//!
//! A request that was read whole is answered all the same; an answer that is held or streamed ends
//! once there is nobody left to go on for. The socket is looked at only while such an answer waits:
//! an end of the input sets the flag, an error of the socket ends the connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

/// The sending side of the peer of one connection.
#[derive(Debug, Default)]
pub struct SenderWatch {
    /// Whether an answer waits for the end of the input.
    is_watched: AtomicBool,
    is_shut: AtomicBool,
    /// The task of the connection.
    task: AtomicWaker,
}

impl SenderWatch {
    /// Looks at the socket if an answer waits; called by the task of the connection after each time
    /// that it has polled the answer. Input that waits to be read hides the end behind it.
    ///
    /// # Errors
    /// That of the socket.
    pub fn look(&self, socket: &TcpStream, context: &mut Context<'_>) -> io::Result<()> {
        if !self.is_watched.load(Ordering::Acquire) || self.is_shut.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut byte = [0];
        if let Poll::Ready(count) = socket.poll_peek(context, &mut ReadBuf::new(&mut byte))
            && count? == 0
        {
            self.is_shut.store(true, Ordering::Release);
            self.task.wake();
        }
        Ok(())
    }
}

/// Ready once the peer of a connection has shut its sending side. One at a time for a connection.
#[derive(Debug)]
pub struct SenderShut(Arc<SenderWatch>);

impl SenderShut {
    /// Waits for the peer of `watch`.
    pub fn new(watch: &Arc<SenderWatch>) -> Self {
        watch.is_watched.store(true, Ordering::Release);
        Self(Arc::clone(watch))
    }
}

impl Future for SenderShut {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.task.register(context.waker());
        if self.0.is_shut.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for SenderShut {
    fn drop(&mut self) {
        self.0.is_watched.store(false, Ordering::Release);
    }
}
