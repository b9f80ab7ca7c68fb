//! The accept loop: bounds connections and headers; a stop lets answers complete.

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
use super::places::{Place, PlaceBounds, Places};
use super::poll_budget::PollBudget;
use super::sender::SenderWatch;

/// Bytes of a request's header, at most; above: 413.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Headers of a request, at most.
const HEADERS_MAX: usize = 100;
/// Connections above the cap that get an answer at a time; others are closed without one.
const REJECTIONS_MAX: usize = 256;
/// Time for a rejected connection to read its answer.
const REJECTION_TIME_MAX: Duration = Duration::from_secs(2);
/// Pause after a failed accept (no file handles left).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The stop signals and the tasks of a server, shared by its listeners and connections.
#[derive(Clone, Debug, Default)]
pub struct Lifetime {
    /// Cancelled: complete requests in progress, begin none.
    pub stop: CancellationToken,
    /// Cancelled: close every connection.
    pub end: CancellationToken,
    /// Set before either is cancelled; read without a lock.
    ending: Arc<AtomicBool>,
    /// The accept loops.
    pub accepting: TaskTracker,
    /// The connections, upgraded ones included.
    pub tasks: TaskTracker,
}

impl Lifetime {
    /// Completes requests in progress and begins none.
    pub fn stop(&self) {
        self.ending.store(true, Ordering::Release);
        self.stop.cancel();
    }

    /// Closes every connection.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.end.cancel();
    }

    /// Polls `signal` once, which registers the task, and again only once a signal is set: each
    /// poll of a token takes a lock that all connections share.
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
    /// The places; when all are taken and none rests: 503 `overloaded`.
    pub places: PlaceBounds,
    /// Time for a request's header.
    pub header: Duration,
    /// Time that a connection may be idle, or not read its answer.
    pub idle: Duration,
}

/// A connection, as its requests see it.
#[derive(Debug)]
pub struct Connection {
    /// The peer's address.
    pub peer: IpAddr,
    /// Its place; an upgraded socket keeps it.
    pub place: Place,
    /// The stop signals of the server.
    pub lifetime: Lifetime,
    /// The deadlines of the peer.
    pub deadline: Arc<ConnectionDeadline>,
    /// The sending side of the peer.
    pub sender: Arc<SenderWatch>,
}

/// Accepts connections until `lifetime.stop` and answers their requests with `serve`.
pub async fn run<S, F>(
    listener: TcpListener,
    bounds: ConnectionBounds,
    lifetime: Lifetime,
    serve: S,
) where
    S: Fn(Arc<Connection>, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = HttpResponse> + Send + 'static,
{
    let places = Places::new(bounds.places);
    let rejected = Arc::new(Semaphore::new(REJECTIONS_MAX));
    let bare_errors = BareErrors::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = lifetime.stop.cancelled() => return,
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
        // Without Nagle's algorithm: small answers must not wait for acknowledgements.
        let _ = socket.set_nodelay(true);
        let deadline = ConnectionDeadline::new(bounds.header, bounds.idle);
        if let Some(place) = places.take(&deadline) {
            let peer = peer.ip().to_canonical();
            let (lifetime, sender) = (lifetime.clone(), Arc::<SenderWatch>::default());
            let socket = DeadlineStream::new(
                socket,
                Arc::clone(&deadline),
                Arc::clone(&sender),
                bare_errors.clone(),
            );
            let tasks = lifetime.tasks.clone();
            let connection = Arc::new(Connection { peer, place, lifetime, deadline, sender });
            tasks.spawn(serve_connection(socket, bounds.header, connection, serve.clone()));
        } else if let Ok(permit) = Arc::clone(&rejected).try_acquire_owned() {
            let answer = bare_errors.answer(&Refusal::overloaded());
            lifetime.tasks.spawn(reject(socket, peer, permit, answer, lifetime.end.clone()));
        }
    }
}

fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Waits for the first bytes, then serves the connection: one that says nothing costs no buffers.
async fn serve_connection<S, F>(
    socket: DeadlineStream,
    header: Duration,
    connection: Arc<Connection>,
    serve: S,
) where
    S: Fn(Arc<Connection>, Request<Incoming>) -> F,
    F: Future<Output = HttpResponse>,
{
    let (lifetime, deadline) = (&connection.lifetime, &connection.deadline);
    let is_speaking = {
        let mut alarm = pin!(tokio::time::sleep(header));
        let mut stop = pin!(lifetime.stop.cancelled());
        let mut stop_armed = false;
        tokio::select! {
            biased;
            readable = socket.socket.readable() => readable.is_ok(),
            () = poll_fn(|context| deadline.poll_expired(alarm.as_mut(), context)) => false,
            () = poll_fn(|context| lifetime.poll_signal(stop.as_mut(), &mut stop_armed, context)) =>
                false,
        }
    };
    if is_speaking {
        Box::pin(serve_requests(socket, header, connection, serve)).await;
    }
}

async fn serve_requests<S, F>(
    socket: DeadlineStream,
    header: Duration,
    connection: Arc<Connection>,
    serve: S,
) where
    S: Fn(Arc<Connection>, Request<Incoming>) -> F,
    F: Future<Output = HttpResponse>,
{
    let (lifetime, deadline) = (connection.lifetime.clone(), Arc::clone(&connection.deadline));
    let io = TokioIo::new(socket);
    let service = service_fn(|request| {
        deadline.set_busy();
        let answer = serve(Arc::clone(&connection), request);
        let deadline = Arc::clone(&deadline);
        async move {
            let reply = answer.await;
            if reply.body().size_hint().exact().is_some() {
                deadline.set_idle();
                return Ok::<_, std::convert::Infallible>(reply);
            }
            // A streamed answer is in progress until its body is dropped.
            let ended = ResponseGuard(deadline);
            Ok(reply.map(|body| Body::new(body.map_frame(move |frame| ended.pass(frame)))))
        }
    });
    let http = http1::Builder::new()
        .max_buf_size(HEADER_BYTES_MAX)
        .max_header_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .half_close(true)
        .serve_connection(io, service)
        .with_upgrades();
    let mut http = pin!(http);
    let budget = PollBudget::default();
    let mut alarm = pin!(tokio::time::sleep(header));
    let (mut stop, mut end) = (pin!(lifetime.stop.cancelled()), pin!(lifetime.end.cancelled()));
    let (mut stop_armed, mut end_armed, mut stopping) = (false, false, false);
    loop {
        tokio::select! {
            biased;
            ended = poll_fn(|context| budget.poll(http.as_mut(), context)) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = poll_fn(|context| deadline.poll_expired(alarm.as_mut(), context)) => {
                return;
            }
            () = poll_fn(|context| lifetime.poll_signal(stop.as_mut(), &mut stop_armed, context)),
                if !stopping =>
            {
                stopping = true;
                http.as_mut().graceful_shutdown();
            }
            () = poll_fn(|context| lifetime.poll_signal(end.as_mut(), &mut end_armed, context)) => {
                return;
            }
        }
    }
}

/// Marks the connection as idle when the body that holds this value is dropped.
struct ResponseGuard(Arc<ConnectionDeadline>);

impl ResponseGuard {
    /// Returns the frame; called by the body, which thereby holds `self`.
    #[expect(clippy::unused_self, reason = "the body holds the value through this method")]
    fn pass(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        frame
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.set_idle();
    }
}

/// Answers a connection above the cap with 503 `overloaded` and closes it.
async fn reject(
    mut socket: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
    answer: Vec<u8>,
    end: CancellationToken,
) {
    tracing::debug!(%peer, "a connection above the cap");
    let answered = async {
        // Closing before the request is read would reset the connection and lose the answer.
        let mut request = [0; 4_096];
        let mut filled = 0;
        while filled < request.len() && !request[..filled].windows(4).any(|end| end == b"\r\n\r\n")
        {
            match socket.read(&mut request[filled..]).await {
                Ok(count) if count > 0 => filled += count,
                _ => return,
            }
        }
        if socket.write_all(&answer).await.is_ok() && socket.shutdown().await.is_ok() {
            while socket.read(&mut request).await.is_ok_and(|count| count > 0) {}
        }
    };
    tokio::select! {
        _ = tokio::time::timeout(REJECTION_TIME_MAX, answered) => {}
        () = end.cancelled() => {}
    }
    drop(permit);
}
