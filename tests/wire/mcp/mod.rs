//! The MCP binding over real sockets (mcp.md): statuses, headers, schemas, tools, resources, the
//! equality of HTTP and MCP, malformed input, streams, and the official client.

mod ask;
mod client;
mod equal;
mod fuzz;
mod listen;
mod progress;
mod resources;
mod schema;
mod script;
mod statuses;
mod tools;
