//! Artifacts over HTTP: what is published, listed, verified and exported (artifacts.md §4).

mod export;
mod publish;
mod server;
