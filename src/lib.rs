//! The forum server: gateway, router, actors, journal, feed.

pub mod clock;
pub mod engine;
pub mod feed;
pub mod inbox;
pub mod journal;
pub mod router;
pub mod thread;
