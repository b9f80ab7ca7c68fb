//! The forum server: gateway, router, actors, journal, feed.

pub mod clock;
pub mod config;
pub mod gateway;
pub mod journal;
pub mod lifecycle;
#[path = "stub_router.rs"]
pub mod router;
pub mod server;
pub mod telemetry;
