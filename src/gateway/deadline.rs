//! Deadlines of a connection: it is closed if the peer sends a header too slowly, is idle too long
//! or does not read its answer.
//!
//! Each connection has one timer, reset only to an earlier time or after it has fired; a request
//! that is answered at once touches no timer.
//!
//! A connection that rests can be evicted for a newer one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::bare_errors::BareErrors;
use super::sender::SenderWatch;

const IDLE: u64 = 0;
const HEADER: u64 = 1;
const BUSY: u64 = 2;
/// The first header has not come.
const FIRST: u64 = 3;
/// Refused unread: input is dropped, so that the peer reads the answer.
const DRAINING: u64 = 4;
/// Bits of a phase.
const PHASE_BITS: u32 = 3;
const PHASE: u64 = (1 << PHASE_BITS) - 1;

/// Time for which the input of a refused peer is dropped.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);
/// Bytes of it that are dropped, at most.
const DRAIN_BYTES_MAX: usize = 8 << 20;

/// The beginning of the time that deadlines count.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Milliseconds since the first call: the time of all connections of the process.
pub fn now_millis() -> u64 {
    start().elapsed().as_millis() as u64
}

/// The phase of one connection and its time limits. Only the task of the connection changes the
/// phase; the fields are atomic because a future that crosses threads must be `Send`.
#[derive(Debug)]
pub struct ConnectionDeadline {
    header: Duration,
    idle: Duration,
    /// The start of the phase in milliseconds of [`now_millis`], shifted above the bits of the
    /// phase.
    phase: AtomicU64,
    /// The milliseconds, plus one, since which a write is blocked; 0 if none is.
    stalled: AtomicU64,
    /// Whether the connection closes as soon as it rests.
    evicted: AtomicBool,
    /// The task of the connection, while it rests.
    task: AtomicWaker,
    /// Whether the last answer was given before its request's body had come.
    is_body_unread: AtomicBool,
}

impl ConnectionDeadline {
    /// A connection before its first header.
    pub fn new(header: Duration, idle: Duration) -> Arc<Self> {
        Arc::new(Self {
            header,
            idle,
            phase: AtomicU64::new(now_millis() << PHASE_BITS | FIRST),
            stalled: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            task: AtomicWaker::new(),
            is_body_unread: AtomicBool::new(false),
        })
    }

    /// The milliseconds since which it rests: no request is under way, its first has not come, or
    /// its last was refused unread.
    pub fn resting_since(&self) -> Option<u64> {
        let phase = self.phase.load(Ordering::Relaxed);
        matches!(phase & PHASE, IDLE | FIRST | DRAINING).then_some(phase >> PHASE_BITS)
    }

    /// Closes the connection as soon as it rests.
    pub fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        self.task.wake();
    }

    /// Whether it was evicted.
    pub fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }

    fn phase(&self) -> u64 {
        self.phase.load(Ordering::Relaxed) & PHASE
    }

    fn enter(&self, phase: u64) {
        self.phase.store(now_millis() << PHASE_BITS | phase, Ordering::Relaxed);
    }

    /// Marks the connection as answering a request.
    pub fn set_busy(&self) {
        self.enter(BUSY);
    }

    /// Marks the connection as idle: the answer is complete.
    pub fn set_idle(&self) {
        self.enter(IDLE);
    }

    /// Marks the body of the last request as unread: the connection closes after the answer, and
    /// what the peer still sends is dropped.
    pub fn set_body_unread(&self) {
        self.is_body_unread.store(true, Ordering::Relaxed);
    }

    fn received(&self) {
        if self.phase() == IDLE {
            self.enter(HEADER);
        }
    }

    fn wrote(&self, pending: bool) {
        if !pending {
            self.stalled.store(0, Ordering::Relaxed);
        } else if self.stalled.load(Ordering::Relaxed) == 0 {
            self.stalled.store(now_millis() + 1, Ordering::Relaxed);
        }
    }

    /// The peer's deadline; `None` while the server answers.
    fn deadline(&self) -> Option<Instant> {
        let since = |millis| start() + Duration::from_millis(millis);
        let phase = self.phase.load(Ordering::Relaxed);
        let began = since(phase >> PHASE_BITS);
        let limit = match phase & PHASE {
            IDLE => Some(began + self.idle),
            HEADER | FIRST => Some(began + self.header),
            DRAINING => Some(began + DRAIN_TIME_MAX),
            _ => None,
        };
        let stalled = self.stalled.load(Ordering::Relaxed).checked_sub(1);
        let stalled = stalled.map(|millis| since(millis) + self.idle);
        limit.into_iter().chain(stalled).min()
    }

    /// Ready once the deadline has passed. Must be polled after each poll of the connection, in the
    /// same task.
    pub fn poll_expired(&self, alarm: Pin<&mut Sleep>, context: &mut Context<'_>) -> Poll<()> {
        let mut alarm = alarm;
        if self.resting_since().is_some() {
            self.task.register(context.waker());
            if self.is_evicted() {
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

/// A socket that reports reads and writes to its deadline, looks whether its peer has shut its
/// sending side, and replaces bare errors of the HTTP library by problem details.
pub struct DeadlineStream {
    /// The socket.
    pub socket: TcpStream,
    deadline: Arc<ConnectionDeadline>,
    sender: Arc<SenderWatch>,
    bare_errors: BareErrors,
    /// The answer to an unreadable request, which ends the connection.
    final_bytes: Option<Box<FinalBytes>>,
    /// The bytes of input that were dropped since the socket was shut for writing.
    dropped: Option<usize>,
}

/// The answer to an unreadable request, and how far it is written.
#[derive(Default)]
struct FinalBytes {
    bytes: Vec<u8>,
    written: usize,
}

impl DeadlineStream {
    /// Wraps `socket`.
    pub fn new(
        socket: TcpStream,
        deadline: Arc<ConnectionDeadline>,
        sender: Arc<SenderWatch>,
        bare_errors: BareErrors,
    ) -> Self {
        Self { socket, deadline, sender, bare_errors, final_bytes: None, dropped: None }
    }

    /// Writes the replacement of `bytes`, if these are a bare error.
    fn poll_final(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Option<Poll<io::Result<usize>>> {
        if self.final_bytes.is_none() {
            let bytes = self.bare_errors.instead_of(bytes)?;
            self.final_bytes = Some(Box::new(FinalBytes { bytes, ..FinalBytes::default() }));
            self.deadline.enter(DRAINING);
        }
        let final_bytes = self.final_bytes.as_mut()?;
        while final_bytes.written < final_bytes.bytes.len() {
            let polled = Pin::new(&mut self.socket)
                .poll_write(context, &final_bytes.bytes[final_bytes.written..]);
            match polled {
                Poll::Ready(Ok(count)) if count > 0 => final_bytes.written += count,
                Poll::Ready(Ok(_)) => return Some(Poll::Ready(Ok(0))),
                other => return Some(other),
            }
        }
        Some(Poll::Ready(Ok(bytes.len())))
    }

    /// Shuts the socket for writing. After an answer to a request that was not read whole it then
    /// drops input: unread input would make the system reset the connection and lose the answer.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let is_unread = self.deadline.is_body_unread.load(Ordering::Relaxed);
        if self.final_bytes.is_none() && !is_unread {
            return Pin::new(&mut self.socket).poll_shutdown(context);
        }
        let mut dropped = match self.dropped {
            Some(dropped) => dropped,
            None => {
                ready!(Pin::new(&mut self.socket).poll_shutdown(context))?;
                self.deadline.enter(DRAINING);
                0
            }
        };
        let mut bytes = [0; 4_096];
        while dropped < DRAIN_BYTES_MAX {
            self.dropped = Some(dropped);
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => break,
                count => dropped += count,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for DeadlineStream {
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

impl AsyncWrite for DeadlineStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(polled) = self.poll_final(context, bytes) {
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
        // The library writes a bare error as one slice.
        if let [only] = slices
            && let Some(polled) = self.poll_final(context, only)
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
        // The library flushes after each time that it has polled the answer.
        self.sender.look(&self.socket, context)?;
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(context)
    }
}
