//! What is fuzzed: a module a target, each a function of bytes that panics where something is
//! wrong. The first bytes of an input often choose among ways to read the rest.

pub mod arguments;
pub mod backup;
pub mod closure;
pub mod config;
pub mod folder;
pub mod frames;
pub mod headers;
pub mod json;
pub mod log;
pub mod mcp;
pub mod query;
pub mod rows;
pub mod texts;

use parley_naive::{canonical, publish};
use parley_protocol::entry::Act;
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;
use parley_protocol::wire::{self, JsonBuffer};

/// A target.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 15] = [
    ("canonical", |bytes| _ = canonical::agree(bytes)),
    ("publish", publish::run),
    ("closure", closure::run),
    ("folder", folder::run),
    ("json", json::run),
    ("arguments", arguments::run),
    ("mcp", mcp::run),
    ("texts", texts::run),
    ("frames", frames::run),
    ("query", query::run),
    ("headers", headers::run),
    ("log", log::run),
    ("rows", rows::run),
    ("config", config::run),
    ("backup", backup::run),
];

/// The time at which everything is judged.
const NOW: Millis = Millis(1_796_000_000_000);

/// Holds a refusal of something that came to what one may be.
fn is_refusal(refusal: &Refusal) {
    assert!(matches!(refusal.reason.status(), 400 | 404 | 406 | 415), "{refusal:?}");
    let problem: serde_json::Value = serde_json::from_slice(&refusal.to_json()).expect("JSON");
    assert_eq!(problem["reason"], refusal.reason.as_str());
}

/// What is put out is JSON.
fn is_shown(put: impl FnOnce(&mut JsonBuffer)) {
    let mut out = JsonBuffer::new();
    put(&mut out);
    serde_json::from_slice::<serde_json::Value>(&out).expect("JSON");
}

/// Message and event of an act are JSON, whatever its bytes were.
fn act_is_shown(act: &Act) {
    is_shown(|out| wire::message(out, act, None));
    is_shown(|out| wire::event(out, act));
}

/// Bytes taken one by one; zeros once there are no more.
struct Taps<'b>(&'b [u8]);

impl Taps<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.next()) % end
    }

    fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | u64::from(self.next()))
    }
}
