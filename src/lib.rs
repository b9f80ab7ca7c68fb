//! The forum server: gateway, router, actors, journal, feed.

pub mod clock;
pub mod config;
pub mod journal;
