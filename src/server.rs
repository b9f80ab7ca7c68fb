//! The one place that wires the parts of a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parley_protocol::command::Language;
use parley_protocol::manifest::{ManifestFacts, manifest};
use thiserror::Error;
use tokio::net::TcpListener;

use crate::clock::Clock;
use crate::config::Config;
use crate::engine::{Engine, EngineError, EngineOptions};
use crate::feed::hub::Caps;
use crate::gateway::{self, Bounds, Gateway, Life};
use crate::journal::archive::Meta;
use crate::journal::disk::{Disk, FolderDisk};
use crate::journal::error::StoreError;
use crate::journal::options::Options;
use crate::journal::tokens::{FirstStart, Tokens};
use crate::router::{self, Manifests, Residence};
use crate::telemetry;

/// How long answers under way are waited for when the server stops (operations.md §4).
pub const GRACE: Duration = Duration::from_secs(10);
/// How long what was let go then is waited for.
const LET_GO: Duration = Duration::from_secs(1);
/// File handles kept for everything that is no connection.
const FILES_RESERVED: u64 = 256;

/// Why a server does not start: one line that says what to do.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address}: {source}. Name another address with --listen, or stop \
             what uses it"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The data folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The parts behind the gateway do not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A server that runs.
pub struct Running {
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    life: Life,
    engine: Engine,
    first_start: Option<FirstStart>,
}

/// Takes the address, so that the queue of those who come at once is long enough.
///
/// # Errors
/// [`StartError::Listen`].
pub fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    /// Connections that the system holds until they are accepted.
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

/// Starts a server on `listener`, in the data folder of `config`.
///
/// # Errors
/// What keeps it from starting.
pub async fn start(
    config: Config,
    clock: Arc<dyn Clock>,
    listener: TcpListener,
) -> Result<Running, StartError> {
    telemetry::metrics();
    let disk: Arc<dyn Disk> = Arc::new(FolderDisk::open(&config.data)?);
    let tokens = Arc::new(Tokens::open(Arc::clone(&disk), &config.realm, Arc::clone(&clock))?);
    let engine = Engine::start(engine_options(&config), disk, Arc::clone(&clock), |meta| {
        manifests(&config, meta)
    });
    let engine = engine.await?;
    let first_start = tokens.first_start(&config.data)?;
    let config = Arc::new(config);
    let forum = engine.forum.clone();
    let hub = Arc::clone(&engine.sources.hub);
    let life = Life::default();
    let address = listener
        .local_addr()
        .map_err(|source| StartError::Listen { address: config.listen, source })?;
    let metrics = config.metrics_listen.map(listen).transpose()?;
    let metrics_address = metrics.as_ref().and_then(|listener| listener.local_addr().ok());
    let bounds = bounds(&config);
    let gateway =
        Arc::new(Gateway::new(forum.clone(), tokens, Arc::clone(&config), clock, address, hub));
    let stop = life.stop.clone();
    tokio::spawn(async move { stop.run_until_cancelled(telemetry::upkeep()).await });
    if let Some(listener) = metrics {
        let serve = |_, request| async move { gateway::metrics_only(&request) };
        let bounds = Bounds { connections_max: 64, ..bounds };
        tokio::spawn(gateway::run(listener, bounds, life.clone(), serve));
    }
    let serve = move |connection, request| {
        let gateway = Arc::clone(&gateway);
        async move { gateway.serve(connection, request).await }
    };
    tokio::spawn(gateway::run(listener, bounds, life.clone(), serve));
    Ok(Running { address, metrics_address, life, engine, first_start })
}

fn engine_options(config: &Config) -> EngineOptions {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let store = &config.store;
    EngineOptions {
        journal: Options {
            batch_entries_max: store.batch_entries_max,
            batch_delay_us: store.batch_delay_us,
            cache_bytes: store.cache_bytes,
            free_bytes_min: store.free_bytes_min,
            segment_bytes: store.segment_bytes,
            tail_entries_max: store.tail_entries_max,
            queue_max: store.queue_max,
            replay_max: config.feed.replay_max,
        },
        limits: Arc::new(config.limits.clone()),
        bounds: router::Bounds {
            writes_max: count(config.overload.writes_max),
            reads_max: count(config.overload.reads_max),
            wait_ms: config.overload.wait_ms,
        },
        residence: Residence {
            idle_seconds: config.runtime.idle_seconds,
            resident_threads_max: count(config.runtime.resident_threads_max),
            sweep_ms: 1_000,
        },
        caps: Caps {
            connections_max: count(config.feed.connections_max),
            per_identity_max: count(config.feed.per_identity_max),
            buffer: count(config.feed.buffer),
        },
        interference: None,
    }
}

fn manifests(config: &Config, meta: &Meta) -> Manifests {
    let instance: String = meta.instance.iter().map(|byte| format!("{byte:02x}")).collect();
    let facts = ManifestFacts {
        version: env!("CARGO_PKG_VERSION"),
        realm: &config.realm,
        instance: &instance,
        era: meta.era,
        profiles: gateway::profiles(config),
        limits: &config.limits,
    };
    let make = |language| manifest(&facts, language).into();
    Manifests { en: make(Language::En), de: make(Language::De), fr: make(Language::Fr) }
}

/// The bounds of connections, as far as the system lets the process have files.
fn bounds(config: &Config) -> Bounds {
    let wanted = config.gateway.connections_max;
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(u64::MAX);
    let connections_max = wanted.min(files.saturating_sub(FILES_RESERVED).max(1));
    if connections_max < wanted {
        tracing::warn!(wanted, connections_max, "the limit of open files bounds connections");
    }
    Bounds {
        connections_max: usize::try_from(connections_max).unwrap_or(usize::MAX),
        header: Duration::from_secs(config.gateway.header_seconds),
        idle: Duration::from_secs(config.gateway.idle_seconds),
    }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it gives its metrics without a token.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// What this start made, if it was the first.
    pub fn first_start(&self) -> Option<&FirstStart> {
        self.first_start.as_ref()
    }

    /// Stops accepting, answers what is under way, lets go of what is left after [`GRACE`], and
    /// writes everything down.
    pub async fn stop(self) {
        let Life { stop, end, tasks } = &self.life;
        stop.cancel();
        self.engine.forum.release_held();
        tasks.close();
        if tokio::time::timeout(GRACE, tasks.wait()).await.is_err() {
            tracing::warn!(left = tasks.len(), "connections did not end in time");
            end.cancel();
            let _ = tokio::time::timeout(LET_GO, tasks.wait()).await;
        }
        self.engine.stop().await;
    }
}
