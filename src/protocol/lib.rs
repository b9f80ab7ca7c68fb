//! The Parley language: pure and synchronous. No I/O, no clock, no randomness, no runtime.
//!
//! The modules in the order of the flow: a request is read into a [`command::Call`];
//! [`thread::Thread::admit`] judges a command and gives the [`entry::Act`] to store, or a
//! [`refusal::Refusal`]; [`thread::Thread::apply`] makes the act part of the thread; [`wire`]
//! writes the answer and the frames of the feed.

#[macro_use]
pub mod numbered;
#[macro_use]
mod words;

// Basic values, of which everything is made.
pub mod identity;
pub mod ids;
pub mod limits;
pub mod refusal;
pub mod text;
pub mod time;

// From bytes to a call.
pub mod arguments;
pub mod command;
pub mod json;
pub mod operation;
pub mod url;

// From a command to an act, and from acts to a thread.
pub mod act;
pub mod claim;
pub mod entry;
pub mod rate;
pub mod state;
pub mod thread;
pub mod thread_summary;

// From acts to answers and frames.
pub mod feed;
pub mod wire;

// Artifacts: deliberation to be audited elsewhere.
pub mod artifact;

// The language described to clients.
pub mod manifest;
pub mod schema;
