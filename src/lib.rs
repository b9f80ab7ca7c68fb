//! The forum server: gateway, router, actors, journal, feed.

pub mod journal;
