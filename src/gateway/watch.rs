//! What a connection is doing, and since when: a peer that sends its header too slowly, rests too
//! long or does not take its answer loses the connection.
//!
//! One timer a connection, set anew only when it has to ring earlier or has rung: a request that
//! is answered at once touches no timer at all.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

const RESTS: u64 = 0;
const HEADER: u64 = 1;
const BUSY: u64 = 2;

/// The state of one connection. Everything happens in the connection's own task; the atomics are
/// there because a future that crosses threads must be `Send`.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    header: Duration,
    idle: Duration,
    /// Milliseconds since `start` at which the phase began, times four, and the phase.
    phase: AtomicU64,
    /// Milliseconds since `start` at which a write found no room, plus one; 0 if none waits.
    stalled: AtomicU64,
}

impl Watch {
    /// A new connection, whose first header is awaited.
    pub fn new(header: Duration, idle: Duration) -> Arc<Self> {
        let phase = AtomicU64::new(HEADER);
        Arc::new(Self { start: Instant::now(), header, idle, phase, stalled: AtomicU64::new(0) })
    }

    fn millis(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    fn enter(&self, phase: u64) {
        self.phase.store(self.millis() << 2 | phase, Ordering::Relaxed);
    }

    /// A request is being answered.
    pub fn busy(&self) {
        self.enter(BUSY);
    }

    /// Its answer has left.
    pub fn rest(&self) {
        self.enter(RESTS);
    }

    fn received(&self) {
        if self.phase.load(Ordering::Relaxed) & 3 == RESTS {
            self.enter(HEADER);
        }
    }

    fn wrote(&self, pending: bool) {
        if !pending {
            self.stalled.store(0, Ordering::Relaxed);
        } else if self.stalled.load(Ordering::Relaxed) == 0 {
            self.stalled.store(self.millis() + 1, Ordering::Relaxed);
        }
    }

    /// When the peer's time is over; `None` while it is the server's turn.
    fn deadline(&self) -> Option<Instant> {
        let since = |millis| self.start + Duration::from_millis(millis);
        let phase = self.phase.load(Ordering::Relaxed);
        let turn = match phase & 3 {
            RESTS => Some(since(phase >> 2) + self.idle),
            HEADER => Some(since(phase >> 2) + self.header),
            _ => None,
        };
        let stalled = self.stalled.load(Ordering::Relaxed).checked_sub(1);
        let stalled = stalled.map(|millis| since(millis) + self.idle);
        turn.into_iter().chain(stalled).min()
    }

    /// Ready once the peer's time is over. To be polled after the connection in the same task, and
    /// whenever that is polled.
    pub fn poll_over(&self, alarm: Pin<&mut Sleep>, context: &mut Context<'_>) -> Poll<()> {
        let mut alarm = alarm;
        loop {
            let Some(deadline) = self.deadline() else { return Poll::Pending };
            if deadline < alarm.deadline() || (alarm.is_elapsed() && deadline > Instant::now()) {
                alarm.as_mut().reset(deadline);
            }
            match alarm.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if deadline <= Instant::now() => return Poll::Ready(()),
                Poll::Ready(()) => alarm.as_mut().reset(deadline),
            }
        }
    }
}

/// A socket that tells its watch what it sees.
#[derive(Debug)]
pub struct Watched<S> {
    /// The socket.
    pub socket: S,
    /// The watch.
    pub watch: Arc<Watch>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.watch.received();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch.wrote(polled.is_pending());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch.wrote(polled.is_pending());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
