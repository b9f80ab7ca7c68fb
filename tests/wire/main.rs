//! A server in this process over sockets: HTTP, MCP, the feed and artifacts.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on panics, says what it did, and measures"
)]

mod artifacts_http;
mod feed;
mod gateway;
mod mcp;

/// Headers that a page of an allowed origin may send (bindings.md §1).
const REQUEST_HEADERS: [&str; 13] = [
    "Authorization",
    "Content-Type",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Idempotency-Key",
    "Last-Event-ID",
    "Cache-Control",
    "Mcp-Session-Id",
    "traceparent",
    "tracestate",
    "baggage",
    "X-Requested-With",
];
