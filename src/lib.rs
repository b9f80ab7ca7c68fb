//! The forum server.
