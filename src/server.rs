//! Wires the parts of a server; starts and stops it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parley_protocol::manifest::{ManifestFacts, manifest};
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::Clock;
use crate::config::Config;
use crate::engine::{Engine, EngineError, EngineOptions};
pub use crate::engine::{PartEnd, StopError};
use crate::feed::hub::FeedCaps;
use crate::feed::replay::FeedDeps;
use crate::forum::{Manifests, PassivationOptions};
use crate::gateway::{self, ConnectionBounds, Gateway, GatewayParts, Lifetime, PlaceBounds};
use crate::journal::Journal;
use crate::journal::archive::{self, ArchiveMeta};
use crate::journal::options::{JournalOptions, STALL_MS};
use crate::metric;
use crate::storage::disk::{self, Disk, FolderDisk};
use crate::storage::error::StoreError;
use crate::telemetry;
use crate::threads::admission::AdmissionBounds;
use crate::tokens::{self, FirstStart, Tokens};
use crate::yield_points::Hook;

/// Time in which a stop ends, whatever is under way (operations.md §4).
pub const STOP_MAX: Duration = Duration::from_secs(10);
/// Time of it for answers in progress.
const GRACE: Duration = Duration::from_millis(7_500);
/// Time of it for connections to close after that.
const ABORT_MAX: Duration = Duration::from_millis(500);
/// Time of it that is left to the process for its own end.
const RESERVE: Duration = Duration::from_millis(500);
/// Bytes that a start may have to write.
const START_BYTES_MIN: u64 = 16 << 20;
/// File handles that are kept free for other uses than connections.
const FILES_RESERVED: u64 = 256;
/// The part of all places that feeds take at most: seven eighths.
const FEED_PARTS: u64 = 7;
const PLACE_PARTS: u64 = 8;
/// Connections to `metrics_listen` at a time, at most.
const METRICS_CONNECTIONS_MAX: usize = 64;

/// A failed start: one line with what to do.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address cannot be bound.
    #[error(
        "cannot listen on {address}: {source}. Name another address with --listen, or stop \
             what uses it"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The parts behind the gateway do not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A running server.
pub struct Running {
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The address of `metrics_listen`, if that is set.
    pub metrics_address: Option<SocketAddr>,
    /// The tokens of the first start; `None` on later ones.
    pub first_start: Option<FirstStart>,
    lifetime: Lifetime,
    engine: Engine,
}

/// Binds the address, with a backlog that holds bursts of connections.
///
/// # Errors
/// [`StartError::Listen`].
pub fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    /// Connections that the system queues until they are accepted.
    const BACKLOG: u32 = 4_096;
    let open = || {
        let new = if address.is_ipv4() { TcpSocket::new_v4 } else { TcpSocket::new_v6 };
        let socket = new()?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    open().map_err(|source| StartError::Listen { address, source })
}

/// Starts a server on `listener`, in the data directory of `config`.
///
/// # Errors
/// The store or another part does not start.
pub async fn start(
    config: Config,
    clock: Arc<dyn Clock>,
    listener: TcpListener,
) -> Result<Running, StartError> {
    let disk = FolderDisk::open(&config.data)
        .map_err(|error| error.in_folder(&config.data, START_BYTES_MIN))?;
    start_on(config, clock, Arc::new(disk), listener).await
}

/// Starts a server on `listener`, with its files on `disk`; only the administrator's token is
/// written to the data directory of `config`.
///
/// # Errors
/// The store or another part does not start.
pub async fn start_on(
    config: Config,
    clock: Arc<dyn Clock>,
    disk: Arc<dyn Disk>,
    listener: TcpListener,
) -> Result<Running, StartError> {
    telemetry::metrics();
    let config = Arc::new(config);
    let refused = |source| StartError::Listen { address: config.listen, source };
    let address = listener.local_addr().map_err(refused)?;
    let metrics = config.metrics_listen.map(listen).transpose()?;
    let metrics_address = metrics.as_ref().and_then(|listener| listener.local_addr().ok());
    let needed_bytes = config.store.free_bytes_min.max(START_BYTES_MIN);
    let in_folder = |error: StoreError| error.in_folder(&config.data, needed_bytes);
    let names = disk::names(&*disk)?;
    let has = |file: &str| names.iter().any(|name| name == file);
    if has(archive::FILE_NAME) && !has(tokens::FILE_NAME) {
        return Err(StoreError::NoTokens { folder: config.data.clone() }.into());
    }
    let tokens = Tokens::open(Arc::clone(&disk), &config.realm, Arc::clone(&clock));
    let tokens = tokens.map_err(in_folder)?;
    let engine = Engine::start(options(&config), Arc::clone(&disk), Arc::clone(&clock), |meta| {
        manifests(&config, meta)
    });
    let engine = engine.await.map_err(|error| match error {
        EngineError::Store(error) => EngineError::Store(in_folder(error)),
        other => other,
    })?;
    let first_start = tokens.first_start(&config.data).map_err(in_folder)?;
    let lifetime = Lifetime::default();
    let gateway = Arc::new(Gateway::new(GatewayParts {
        forum: engine.forum.clone(),
        feed_deps: Arc::clone(&engine.feed_deps),
        tokens: Arc::new(tokens),
        config: Arc::clone(&config),
        clock: Arc::clone(&clock),
        address,
    }));
    let bounds = bounds(&config);
    if let Some(listener) = metrics {
        let serve = |_, request| async move { gateway::metrics_only(&request) };
        let bounds = {
            let places = PlaceBounds::new(METRICS_CONNECTIONS_MAX, 0, METRICS_CONNECTIONS_MAX);
            ConnectionBounds { places, ..bounds }
        };
        lifetime.accepting.spawn(gateway::run(listener, bounds, lifetime.clone(), serve));
    }
    let watched_disk = Arc::clone(&disk);
    let periodic = periodic(disk, clock, Arc::clone(&engine.feed_deps), Arc::clone(&gateway));
    let serve = move |connection, request| {
        let gateway = Arc::clone(&gateway);
        async move { gateway.serve(connection, request).await }
    };
    lifetime.accepting.spawn(gateway::run(listener, bounds, lifetime.clone(), serve));
    let stop = lifetime.stop.clone();
    tokio::spawn(async move { stop.run_until_cancelled(periodic).await });
    let (stop, journal) = (lifetime.stop.clone(), Arc::clone(&engine.journal));
    let watched = watch_room(watched_disk, config.store.free_bytes_min, journal);
    tokio::spawn(async move { stop.run_until_cancelled(watched).await });
    Ok(Running { address, metrics_address, first_start, lifetime, engine })
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn options(config: &Config) -> EngineOptions {
    let Config { store, overload, runtime, feed, gateway, .. } = config;
    EngineOptions {
        journal: JournalOptions { replay_max: feed.replay_max, ..store.clone() },
        limits: Arc::new(config.limits.clone()),
        bounds: AdmissionBounds {
            writes_max: size(overload.writes_max),
            reads_max: size(overload.reads_max),
            wait_ms: overload.wait_ms,
        },
        residence: PassivationOptions {
            idle_seconds: runtime.idle_seconds,
            resident_threads_max: size(runtime.resident_threads_max),
            sweep_ms: 1_000,
        },
        caps: FeedCaps {
            // Feeds do not rest: some places stay for requests.
            connections_max: size(
                feed.connections_max.min(gateway.connections_max * FEED_PARTS / PLACE_PARTS).max(1),
            ),
            per_identity_max: size(feed.per_identity_max),
            buffer: size(feed.buffer),
        },
        hook: Hook::default(),
    }
}

fn manifests(config: &Config, meta: &ArchiveMeta) -> Manifests {
    let instance = format!("{:032x}", u128::from_be_bytes(meta.instance));
    let facts = ManifestFacts {
        version: env!("CARGO_PKG_VERSION"),
        realm: &config.realm,
        instance: &instance,
        era: meta.era,
        profiles: gateway::profiles(config),
        limits: &config.limits,
    };
    Manifests::new(|language, part| manifest(&facts, language, part).into())
}

/// Periodic work: closes feeds of expired tokens, updates metrics, measures the disk.
async fn periodic(
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    deps: Arc<FeedDeps>,
    gateway: Arc<Gateway>,
) {
    /// Seconds between two updates of the metrics.
    const SLOW_EVERY: u64 = 5;
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for second in 0_u64.. {
        seconds.tick().await;
        deps.hub.expire(clock.now());
        gateway.log_sums();
        telemetry::log_dropped_lines();
        if second % SLOW_EVERY == 0 {
            telemetry::upkeep();
            let disk = Arc::clone(&disk);
            let measured = move || (disk.bytes(), disk.free_bytes());
            if let Ok((bytes, free)) = tokio::task::spawn_blocking(measured).await {
                let gauge = |name, bytes: std::io::Result<u64>| {
                    if let Ok(bytes) = bytes {
                        metrics::gauge!(name).set(bytes as f64);
                    }
                };
                gauge(metric::STORE_BYTES, bytes);
                gauge(metric::STORE_FREE_BYTES, free);
            }
        }
    }
}

/// Measures the free space each second, so that readiness tells of a full disk, or of one that does
/// not answer within [`STALL_MS`], before a write fails.
async fn watch_room(disk: Arc<dyn Disk>, free_bytes_min: u64, journal: Arc<Journal>) {
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        let disk = Arc::clone(&disk);
        let mut measured = tokio::task::spawn_blocking(move || disk.free_bytes());
        let in_time = tokio::time::timeout(Duration::from_millis(STALL_MS), &mut measured).await;
        let measured = if let Ok(measured) = in_time {
            measured
        } else {
            journal.set_room(false);
            measured.await
        };
        journal.set_room(matches!(measured, Ok(Ok(free)) if free >= free_bytes_min));
    }
}

/// The bounds of connections, lowered to the limit of open files.
fn bounds(config: &Config) -> ConnectionBounds {
    let wanted = config.gateway.connections_max;
    let files = raise_file_limit();
    let connections_max = wanted.min(files.saturating_sub(FILES_RESERVED).max(1));
    if connections_max < wanted {
        tracing::warn!(wanted, connections_max, "the limit of open files bounds connections");
    }
    ConnectionBounds {
        places: PlaceBounds::new(
            size(connections_max),
            size(config.gateway.authenticated_reserve),
            size(config.gateway.per_address_max),
        ),
        header: Duration::from_secs(config.gateway.header_seconds),
        idle: Duration::from_secs(config.gateway.idle_seconds),
    }
}

/// Raises the limit of open files as far as the process may; returns the new limit.
fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limit };
    now.current.unwrap_or(u64::MAX)
}

impl Running {
    /// Waits until a part ends that nothing restarts: the journal's writer or publisher, the hub,
    /// the archiver. The server is to be stopped then; what was acknowledged is stored.
    pub fn part_ended(&self) -> impl Future<Output = PartEnd> + use<> {
        self.engine.part_ended()
    }

    /// Stops accepting, completes requests in progress, closes the remaining connections, and
    /// commits every accepted write: all within [`STOP_MAX`], whatever is under way.
    ///
    /// # Errors
    /// [`StopError`]: an accepted write was not answered. What was acknowledged is stored.
    pub async fn stop(self) -> Result<(), StopError> {
        let deadline = Instant::now() + STOP_MAX - RESERVE;
        let Lifetime { tasks, accepting, .. } = &self.lifetime;
        self.lifetime.stop();
        self.engine.forum.release_held();
        self.engine.feed_deps.hub.stop();
        accepting.close();
        tasks.close();
        let ended = async {
            accepting.wait().await;
            tasks.wait().await;
        };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::warn!(left = tasks.len(), "connections did not end in time");
            self.lifetime.end();
            let _ = tokio::time::timeout(ABORT_MAX, tasks.wait()).await;
        }
        self.engine.stop_by(deadline).await
    }
}
