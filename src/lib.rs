//! The forum server: gateway, router, actors, journal, feed.

pub mod cli;
pub mod clock;
pub mod journal;
