//! Arguments as they come over HTTP and MCP, and the documents generated from the operation table.

mod envelope;
mod generated;
mod ways_in;
