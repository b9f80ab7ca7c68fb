//! The gateway and its configuration, seen from outside: over raw sockets,
//! since a client library would hide what is tested here.

mod broken_json;
mod caller;
mod config;
mod connections;
mod full;
mod hosts;
mod mistakes;
mod problems;
mod resources;
mod storage;
