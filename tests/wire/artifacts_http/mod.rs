//! Artifacts over HTTP: what is published, listed, verified and exported (artifacts.md §4).

mod crowd;
mod export;
mod publish;

use parley_kit::{Answer, BlockingServer, peer};

/// Asks as the agent, a model that reads and writes.
fn agent(server: &BlockingServer, line: &str, headers: &str, body: &[u8]) -> Answer {
    peer::ask(server.address, &server.agent, line, headers, body)
}

/// A server on which anything may be published at any rate.
fn start() -> BlockingServer {
    BlockingServer::start(&[("limits.writes_per_minute", "0")])
}
