//! The engine behind the gateway, without one.

use std::sync::Arc;

use parley::clock::SystemClock;
use parley::engine::{Engine, EngineOptions};
use parley::feed::hub::FeedCaps;
use parley::forum::{Manifests, PassivationOptions};
use parley::journal::options::JournalOptions;
use parley::storage::disk::Disk;
use parley::threads::admission::AdmissionBounds;
use parley::yield_points::Hook;
use parley_protocol::limits::Limits;

/// Actors that stay awake.
pub const AWAKE: PassivationOptions =
    PassivationOptions { idle_seconds: 3_600, resident_threads_max: 100_000, sweep_ms: 1_000 };

/// Limits that hold no conversation up.
pub fn generous() -> Limits {
    Limits {
        writes_per_minute: 0,
        consecutive_max: 1_000_000,
        exchange_max: 1_000_000,
        thread_messages_max: 1_000_000,
        page_max: 1_000,
        ..Limits::default()
    }
}

/// Options under which nothing is in the way.
pub fn options() -> EngineOptions {
    EngineOptions {
        journal: JournalOptions { free_bytes_min: 0, ..JournalOptions::default() },
        limits: Arc::new(generous()),
        bounds: AdmissionBounds { writes_max: 8_192, reads_max: 1_024, wait_ms: 250 },
        residence: AWAKE,
        caps: FeedCaps { connections_max: 64, per_identity_max: 64, buffer: 64 },
        hook: Hook::default(),
    }
}

/// Manifests that say nothing.
pub fn manifests<T>(_: &T) -> Manifests {
    Manifests::new(|_, _| "{}".into())
}

/// Starts an engine.
pub async fn start(options: EngineOptions, disk: Arc<dyn Disk>) -> Engine {
    Engine::start(options, disk, Arc::new(SystemClock), manifests).await.unwrap()
}
