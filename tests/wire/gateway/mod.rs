//! The gateway, the configuration and the life of the process, seen from outside: over raw sockets,
//! since a client library would hide what is tested here.

mod caller;
mod config;
mod connections;
#[expect(dead_code, clippy::unwrap_used, reason = "shared with the tests of the journal")]
#[path = "../../support/disk.rs"]
mod disk;
mod full;
mod hosts;
mod problems;
mod process;
mod resources;
mod storage;
mod wire;
