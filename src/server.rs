//! Wires the parts of a server; starts and stops it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::Language;
use parley_protocol::manifest::{ManifestFacts, manifest};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;

use crate::clock::Clock;
use crate::config::Config;
use crate::engine::{Engine, EngineError, EngineOptions};
use crate::feed::hub::FeedCaps;
use crate::feed::replay::FeedDeps;
use crate::forum::{Manifests, PassivationOptions};
use crate::gateway::{self, ConnectionBounds, Gateway, GatewayParts, Lifetime};
use crate::journal::Journal;
use crate::journal::archive::ArchiveMeta;
use crate::journal::options::{JournalOptions, STALL_MS};
use crate::metric;
use crate::storage::disk::{Disk, FolderDisk};
use crate::storage::error::StoreError;
use crate::telemetry;
use crate::threads::admission::AdmissionBounds;
use crate::tokens::{FirstStart, Tokens};
use crate::yield_points::Hook;

/// Time for answers in progress when the server stops (operations.md §4).
pub const GRACE: Duration = Duration::from_secs(10);
/// Time for connections to close after that.
const ABORT_MAX: Duration = Duration::from_secs(1);
/// File handles that are kept free for other uses than connections.
const FILES_RESERVED: u64 = 256;
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
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    lifetime: Lifetime,
    engine: Engine,
    first_start: Option<FirstStart>,
}

/// Binds the address, with a backlog that holds bursts of connections.
///
/// # Errors
/// [`StartError::Listen`].
pub fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    /// Connections that the system queues until they are accepted.
    const BACKLOG: u32 = 4_096;
    let open = || {
        let socket = if address.is_ipv4() {
            tokio::net::TcpSocket::new_v4()?
        } else {
            tokio::net::TcpSocket::new_v6()?
        };
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
    let disk = FolderDisk::open(&config.data)?;
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
    let tokens = Tokens::open(Arc::clone(&disk), &config.realm, Arc::clone(&clock))?;
    let engine = Engine::start(options(&config), Arc::clone(&disk), Arc::clone(&clock), |meta| {
        manifests(&config, meta)
    });
    let engine = engine.await?;
    let first_start = tokens.first_start(&config.data)?;
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
        let bounds = ConnectionBounds { connections_max: METRICS_CONNECTIONS_MAX, ..bounds };
        lifetime.accepting.spawn(gateway::run(listener, bounds, lifetime.clone(), serve));
    }
    let serve = move |connection, request| {
        let gateway = Arc::clone(&gateway);
        async move { gateway.serve(connection, request).await }
    };
    lifetime.accepting.spawn(gateway::run(listener, bounds, lifetime.clone(), serve));
    let stop = lifetime.stop.clone();
    let watched_disk = Arc::clone(&disk);
    let periodic = periodic(disk, clock, Arc::clone(&engine.feed_deps));
    tokio::spawn(async move { stop.run_until_cancelled(periodic).await });
    let (stop, journal) = (lifetime.stop.clone(), Arc::clone(&engine.journal));
    let watched = watch_room(watched_disk, config.store.free_bytes_min, journal);
    tokio::spawn(async move { stop.run_until_cancelled(watched).await });
    Ok(Running { address, metrics_address, lifetime, engine, first_start })
}

fn options(config: &Config) -> EngineOptions {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let Config { store, overload, runtime, feed, .. } = config;
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
            connections_max: size(feed.connections_max),
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
    let of = |language| manifest(&facts, language).into();
    Manifests { en: of(Language::En), de: of(Language::De), fr: of(Language::Fr) }
}

/// Periodic work: closes feeds of expired tokens, updates metrics, measures the disk.
async fn periodic(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>, deps: Arc<FeedDeps>) {
    /// Seconds between two updates of the metrics.
    const SLOW_EVERY: u64 = 5;
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for second in 0_u64.. {
        seconds.tick().await;
        deps.hub.expire(clock.now());
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
        connections_max: usize::try_from(connections_max).unwrap_or(usize::MAX),
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
    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of `metrics_listen`, if that is set.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// The tokens of the first start; `None` on later ones.
    pub fn first_start(&self) -> Option<&FirstStart> {
        self.first_start.as_ref()
    }

    /// Stops accepting, completes requests in progress, closes the remaining connections after
    /// [`GRACE`], and commits every accepted write.
    pub async fn stop(self) {
        let Lifetime { tasks, accepting, .. } = &self.lifetime;
        self.lifetime.stop();
        self.engine.forum.release_held();
        self.engine.feed_deps.hub.stop();
        accepting.close();
        accepting.wait().await;
        tasks.close();
        if tokio::time::timeout(GRACE, tasks.wait()).await.is_err() {
            tracing::warn!(left = tasks.len(), "connections did not end in time");
            self.lifetime.end();
            let _ = tokio::time::timeout(ABORT_MAX, tasks.wait()).await;
        }
        self.engine.stop().await;
    }
}
