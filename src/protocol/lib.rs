//! The Parley language: pure and synchronous. No I/O, no clock, no randomness, no runtime.
//!
//! A caller's request is read into a [`command::Command`]; [`thread::Thread::admit`] judges it and
//! gives the [`entry::Act`] to store, or a [`refusal::Refusal`]; [`thread::Thread::apply`] makes
//! of the acts what a thread is.

#[macro_use]
mod words;

pub mod act;
pub mod arguments;
pub mod artifact;
pub mod claim;
pub mod command;
pub mod entry;
pub mod feed;
pub mod identity;
pub mod ids;
pub mod json;
pub mod limits;
pub mod manifest;
pub mod operation;
pub mod rate;
pub mod refusal;
pub mod schema;
pub mod state;
pub mod text;
pub mod thread;
pub mod thread_summary;
pub mod time;
pub mod wire;
