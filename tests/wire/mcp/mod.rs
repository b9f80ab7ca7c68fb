//! The MCP binding over real sockets (mcp.md): statuses, headers, schemas, tools, resources, the
//! equality of HTTP and MCP, malformed input, streams, and the official client.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::float_cmp,
    clippy::format_push_string,
    clippy::needless_for_each,
    clippy::unused_async,
    clippy::struct_field_names,
    reason = "a test that cannot go on panics, and says what it did"
)]

mod ask;
mod client;

mod equal;
mod fuzz;
mod listen;
mod resources;
mod schema;
mod script;
mod statuses;
mod tools;
#[expect(dead_code, reason = "the tests of the gateway use more of it")]
#[path = "../gateway/wire.rs"]
mod wire;
