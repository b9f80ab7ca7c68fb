//! The forum server: gateway, router, actors, journal, feed.

pub mod cli;
pub mod clock;
pub mod config;
pub mod engine;
pub mod feed;
pub mod forum;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod gateway;
pub mod journal;
pub mod lifecycle;
pub mod maintenance;
pub mod metric;
pub mod server;
pub mod storage;
pub mod telemetry;
pub mod threads;
pub mod tokens;
pub mod yield_points;
