//! The gateway, the configuration and the life of the process, seen from outside: over raw sockets,
//! since a client library would hide what is tested here.

mod caller;
mod config;
mod connections;
#[expect(dead_code, reason = "the tests of the journal use more of it")]
#[path = "../support/disk.rs"]
mod disk;
mod hosts;
mod problems;
mod process;
mod resources;
mod storage;
mod wire;
