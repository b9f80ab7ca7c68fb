//! The Parley language: pure and synchronous. No I/O, no clock, no randomness, no runtime.
//!
//! The modules, in the order of the flow:
//!
//! * basic values: [`identity`] participants and rights; [`ids`] identifiers; [`time`] times;
//!   [`text`] characters; [`limits`] bounds; [`refusal`] reasons and refusals; [`mod@numbered`]
//!   constant texts with numbers;
//! * from a request to a call: [`url`] queries; [`json`] strict JSON; [`operation`] the table of
//!   operations; [`arguments`] fields read into a call; [`command`] calls, commands, queries;
//! * from a command to an act: [`rate`] the rate of writes; [`act`] the table of speech acts;
//!   [`state`] the states; [`claim`] claims; [`thread`] the state machine, in which
//!   [`thread::Thread::admit`] judges a command and gives the [`entry::Act`] to store, or a
//!   [`refusal::Refusal`], and [`thread::Thread::apply`] applies it; [`entry`] acts, entries,
//!   positions; [`thread_summary`] the Thread object;
//! * from acts to answers: [`wire`] objects, answers and frames as JSON; [`feed`] the frames that
//!   an act causes;
//! * [`artifact`]: artifacts, their closures, and threads as artifacts;
//! * the language described to clients: [`schema`] tools and OpenAPI; [`manifest`] the manifest.

#[macro_use]
pub mod numbered;
#[macro_use]
mod words;

pub mod identity;
pub mod ids;
pub mod limits;
pub mod refusal;
pub mod text;
pub mod time;

pub mod arguments;
pub mod command;
pub mod json;
pub mod operation;
pub mod url;

pub mod act;
pub mod claim;
pub mod entry;
pub mod rate;
pub mod state;
pub mod thread;
pub mod thread_summary;

pub mod feed;
pub mod wire;

pub mod artifact;

pub mod manifest;
pub mod schema;
