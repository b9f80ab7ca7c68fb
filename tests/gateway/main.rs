//! The gateway, the configuration and the life of the process, seen from outside: over raw sockets,
//! since a client library would hide what is tested here.

mod caller;
mod config;
mod connections;
mod hosts;
mod problems;
mod process;
mod resources;
mod wire;
