//! What a connection is doing, and since when: a peer that sends its header too slowly, rests too
//! long or does not take its answer loses the connection.
//!
//! One timer a connection, set anew only when it has to ring earlier or has rung: a request that
//! is answered at once touches no timer at all.
//!
//! A connection whose first request has not come yet can be given up for one that comes after it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::bare_errors::BareErrors;

const RESTS: u64 = 0;
const HEADER: u64 = 1;
const BUSY: u64 = 2;
/// No whole header came yet.
const FIRST: u64 = 3;
/// Refused unread: what the peer still sends is dropped, so that it comes to read the answer.
const LEAVES: u64 = 4;
/// Bits of a phase.
const PHASE_BITS: u32 = 3;
const PHASE: u64 = (1 << PHASE_BITS) - 1;

/// How long what a refused peer still sends is read and dropped.
const LEAVE_TIME: Duration = Duration::from_secs(2);
/// And how many bytes of it at most.
const LEAVE_BYTES_MAX: usize = 8 << 20;

/// The state of one connection. Nearly everything happens in the connection's own task; the
/// atomics are there because a future that crosses threads must be `Send`.
#[derive(Debug)]
pub struct ConnectionDeadline {
    start: Instant,
    header: Duration,
    idle: Duration,
    /// Milliseconds since `start` at which the phase began, above the bits of the phase.
    phase: AtomicU64,
    /// Milliseconds since `start` at which a write found no room, plus one; 0 if none waits.
    stalled: AtomicU64,
    /// Whether the place goes to another one, if still no header came.
    evicted: AtomicBool,
    /// The connection's task, while no header came.
    task: AtomicWaker,
}

impl ConnectionDeadline {
    /// A new connection, whose first header is awaited.
    pub fn new(header: Duration, idle: Duration) -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            header,
            idle,
            phase: AtomicU64::new(FIRST),
            stalled: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            task: AtomicWaker::new(),
        })
    }

    /// Whether its first header is still awaited.
    pub fn is_new(&self) -> bool {
        self.phase() == FIRST
    }

    /// Ends the connection if its first header has not come by the time that it is looked at.
    pub fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        self.task.wake();
    }

    fn phase(&self) -> u64 {
        self.phase.load(Ordering::Relaxed) & PHASE
    }

    fn millis(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    fn enter(&self, phase: u64) {
        self.phase.store(self.millis() << PHASE_BITS | phase, Ordering::Relaxed);
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
        if self.phase() == RESTS {
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
        let began = since(phase >> PHASE_BITS);
        let turn = match phase & PHASE {
            RESTS => Some(began + self.idle),
            HEADER | FIRST => Some(began + self.header),
            LEAVES => Some(began + LEAVE_TIME),
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
        if self.is_new() {
            self.task.register(context.waker());
            if self.evicted.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
        }
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

/// A socket that tells its watch what it sees, and says in the gateway's own form what the HTTP
/// library would say in a bare one.
pub struct DeadlineStream<S> {
    /// The socket.
    pub socket: S,
    deadline: Arc<ConnectionDeadline>,
    unread: BareErrors,
    /// What is said last, once something came that is no request.
    last: Option<Box<FinalBytes>>,
}

/// The last words of a connection, and what is dropped after them.
struct FinalBytes {
    bytes: Vec<u8>,
    written: usize,
    is_shut: bool,
    dropped: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> DeadlineStream<S> {
    /// Watches `socket`.
    pub fn new(socket: S, watch: Arc<ConnectionDeadline>, unread: BareErrors) -> Self {
        Self { socket, deadline: watch, unread, last: None }
    }

    /// Writes our own last words in the place of `bytes`, if these are a bare error.
    fn poll_last(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Option<Poll<io::Result<usize>>> {
        if self.last.is_none() {
            let instead = self.unread.instead_of(bytes)?;
            self.last = Some(Box::new(FinalBytes {
                bytes: instead,
                written: 0,
                is_shut: false,
                dropped: 0,
            }));
            self.deadline.enter(LEAVES);
        }
        let last = self.last.as_mut()?;
        while last.written < last.bytes.len() {
            let polled =
                Pin::new(&mut self.socket).poll_write(context, &last.bytes[last.written..]);
            match polled {
                Poll::Ready(Ok(count)) if count > 0 => last.written += count,
                Poll::Ready(Ok(_)) => return Some(Poll::Ready(Ok(0))),
                other => return Some(other),
            }
        }
        Some(Poll::Ready(Ok(bytes.len())))
    }

    /// Ends our side, then drops what the peer still sends: with it unread, the answer would be
    /// lost to a reset.
    fn poll_leave(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(last) = self.last.as_mut() else {
            return Pin::new(&mut self.socket).poll_shutdown(context);
        };
        if !last.is_shut {
            ready!(Pin::new(&mut self.socket).poll_shutdown(context))?;
            last.is_shut = true;
        }
        let mut bytes = [0; 4_096];
        while last.dropped < LEAVE_BYTES_MAX {
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => break,
                count => last.dropped += count,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DeadlineStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.deadline.received();
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for DeadlineStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(polled) = self.poll_last(context, bytes) {
            return polled;
        }
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.deadline.wrote(polled.is_pending());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A bare error is written alone, in one piece.
        if let [only] = slices
            && let Some(polled) = self.poll_last(context, only)
        {
            return polled;
        }
        let polled = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.deadline.wrote(polled.is_pending());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_leave(context)
    }
}
