//! The accept loop: bounded connections, bounded headers, and an end that lets answers out.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parley_protocol::refusal::Refusal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};
use tokio_util::task::TaskTracker;

use super::answer::HttpResponse;
use super::bare_errors::BareErrors;
use super::deadline::{ConnectionDeadline, DeadlineStream};
use super::pending_connections::PendingConnections;
use super::poll_budget::PollBudget;

/// Bytes of a request's header at most; more is refused with 413.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Headers of a request at most.
const HEADERS_MAX: usize = 100;
/// Connections above the cap that are told so at a time; others are just closed.
const REJECTIONS_MAX: usize = 256;
/// How long is waited for the place of a connection that was given up.
const PLACE_TIME: Duration = Duration::from_secs(1);
/// How long one of them is given to take the answer.
const REJECTION_TIME: Duration = Duration::from_secs(2);
/// How long no connection is accepted after accepting one failed (no file handles left).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What ends and what must have ended: one for a server, shared by all that serves.
#[derive(Clone, Debug, Default)]
pub struct Lifetime {
    /// Cancelled: finish what is under way, begin nothing.
    pub stop: CancellationToken,
    /// Cancelled: let go at once.
    pub end: CancellationToken,
    /// Set before either is cancelled: looking here costs no lock.
    ending: Arc<AtomicBool>,
    /// The accept loops, which end first.
    pub accepting: TaskTracker,
    /// Every connection, upgraded ones too.
    pub tasks: TaskTracker,
}

impl Lifetime {
    /// Finish what is under way, begin nothing.
    pub fn stop(&self) {
        self.ending.store(true, Ordering::Release);
        self.stop.cancel();
    }

    /// Let go at once.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.end.cancel();
    }

    /// Polls `signal` the first time, so that it wakes the task, and then only once something
    /// ends: a token takes a lock that all connections share, at every look.
    fn poll_signal(
        &self,
        signal: Pin<&mut WaitForCancellationFuture<'_>>,
        is_armed: &mut bool,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if *is_armed && !self.ending.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        *is_armed = true;
        signal.poll(context)
    }
}

/// The bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionBounds {
    /// Connections at a time.
    pub connections_max: usize,
    /// Within which a request's header must have come.
    pub header: Duration,
    /// That a connection may rest, or not take its answer.
    pub idle: Duration,
}

/// A connection, as requests on it see it.
#[derive(Debug)]
pub struct Connection {
    /// Who is at the other end.
    pub peer: IpAddr,
    /// The place among the connections; an upgraded socket keeps it.
    pub permit: Arc<OwnedSemaphorePermit>,
    /// The server's life.
    pub lifetime: Lifetime,
}

/// Accepts connections until `life.stop`, and answers their requests with `serve`.
pub async fn run<S, F>(listener: TcpListener, bounds: ConnectionBounds, life: Lifetime, serve: S)
where
    S: Fn(Arc<Connection>, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = HttpResponse> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(bounds.connections_max));
    let rejected = Arc::new(Semaphore::new(REJECTIONS_MAX));
    let mut newcomers = PendingConnections::new(bounds.connections_max);
    let unread = BareErrors::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = life.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_of_one_connection(&error) {
                    tracing::error!(%error, "no connection can be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        // Small answers must not wait for the acknowledgement of earlier ones.
        let _ = socket.set_nodelay(true);
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) if newcomers.evict_oldest() => {
                let freed = tokio::time::timeout(PLACE_TIME, Arc::clone(&places).acquire_owned());
                freed.await.ok().and_then(Result::ok)
            }
            Err(_) => None,
        };
        if let Some(permit) = place {
            let watch = ConnectionDeadline::new(bounds.header, bounds.idle);
            newcomers.add(&watch);
            let peer = peer.ip().to_canonical();
            let permit = Arc::new(permit);
            let connection = Arc::new(Connection { peer, permit, lifetime: life.clone() });
            let socket = DeadlineStream::new(socket, Arc::clone(&watch), unread.clone());
            life.tasks.spawn(serve_connection(
                socket,
                bounds.header,
                watch,
                connection,
                serve.clone(),
            ));
        } else if let Ok(permit) = Arc::clone(&rejected).try_acquire_owned() {
            let answer = unread.answer(&Refusal::overloaded());
            life.tasks.spawn(reject(socket, peer, permit, answer, life.end.clone()));
        }
    }
}

fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection<S, F>(
    socket: DeadlineStream<TcpStream>,
    header: Duration,
    watch: Arc<ConnectionDeadline>,
    connection: Arc<Connection>,
    serve: S,
) where
    S: Fn(Arc<Connection>, Request<Incoming>) -> F,
    F: Future<Output = HttpResponse>,
{
    let life = connection.lifetime.clone();
    let io = TokioIo::new(socket);
    let service = service_fn(|request| {
        watch.busy();
        let answer = serve(Arc::clone(&connection), request);
        let watch = Arc::clone(&watch);
        async move {
            let reply = answer.await;
            if reply.body().size_hint().exact().is_some() {
                watch.rest();
                return Ok::<_, std::convert::Infallible>(reply);
            }
            // A stream is the server's turn until it ends.
            let ended = ResponseGuard(watch);
            Ok(reply.map(|body| Body::new(body.map_frame(move |frame| ended.pass(frame)))))
        }
    });
    let http = http1::Builder::new()
        .max_buf_size(HEADER_BYTES_MAX)
        .max_header_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(io, service)
        .with_upgrades();
    let mut http = pin!(http);
    let rounds = PollBudget::default();
    let mut alarm = pin!(tokio::time::sleep(header));
    let (mut stop, mut end) = (pin!(life.stop.cancelled()), pin!(life.end.cancelled()));
    let (mut stop_armed, mut end_armed, mut stopping) = (false, false, false);
    loop {
        tokio::select! {
            biased;
            ended = poll_fn(|context| rounds.poll(http.as_mut(), context)) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = poll_fn(|context| watch.poll_over(alarm.as_mut(), context)) => {
                return;
            }
            () = poll_fn(|context| life.poll_signal(stop.as_mut(), &mut stop_armed, context)),
                if !stopping =>
            {
                stopping = true;
                http.as_mut().graceful_shutdown();
            }
            () = poll_fn(|context| life.poll_signal(end.as_mut(), &mut end_armed, context)) => {
                return;
            }
        }
    }
}

/// Tells the watch when it is dropped, with the body that it belongs to.
struct ResponseGuard(Arc<ConnectionDeadline>);

impl ResponseGuard {
    /// Keeps `self` in the body that passes its frames through here.
    #[expect(clippy::unused_self, reason = "being held is what it is for")]
    fn pass(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        frame
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// Answers a connection above the cap: whatever it asks, 503 `overloaded`, and goodbye.
async fn reject(
    mut socket: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
    answer: Vec<u8>,
    end: CancellationToken,
) {
    tracing::debug!(%peer, "a connection above the cap");
    let said = async {
        // The request is waited for, or the answer would be lost to a reset.
        let mut asked = [0; 4_096];
        let mut filled = 0;
        while filled < asked.len() && !asked[..filled].windows(4).any(|end| end == b"\r\n\r\n") {
            match socket.read(&mut asked[filled..]).await {
                Ok(count) if count > 0 => filled += count,
                _ => return,
            }
        }
        if socket.write_all(&answer).await.is_ok() && socket.shutdown().await.is_ok() {
            while socket.read(&mut asked).await.is_ok_and(|count| count > 0) {}
        }
    };
    tokio::select! {
        _ = tokio::time::timeout(REJECTION_TIME, said) => {}
        () = end.cancelled() => {}
    }
    drop(permit);
}
