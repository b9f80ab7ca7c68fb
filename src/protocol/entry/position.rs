//! Positions in the instance's one order (parley.md §7): an entry and a slot within it.

use serde::{Deserialize, Serialize};

/// The places within one entry: position = entry × 16 + slot.
pub mod slot {
    /// Positions of one entry.
    pub const COUNT: u64 = 16;
    /// The message.
    pub const MESSAGE: u64 = 0;
    /// The event.
    pub const EVENT: u64 = 1;
    /// The first of up to nine claims.
    pub const CLAIMS: u64 = 2;
    /// The thread now waits for the listener.
    pub const AWAITING: u64 = 11;
    /// The turn has left the listener.
    pub const SETTLED: u64 = 12;
    /// After all that the entry caused.
    pub const END: u64 = 15;

    const _: () = assert!(CLAIMS + 1 + crate::limits::SUPERSEDES_MAX as u64 <= AWAITING);
}

/// A place in the instance's one order. Cursors are made of these.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position(pub u64);

impl Position {
    /// The place `slot` of the entry numbered `entry`.
    pub fn of(entry: u64, slot: u64) -> Self {
        Self(entry * slot::COUNT + slot)
    }

    /// The place after everything that the entry numbered `entry` caused.
    pub fn after(entry: u64) -> Self {
        Self::of(entry, slot::END)
    }

    /// The number of the entry.
    pub fn entry(self) -> u64 {
        self.0 / slot::COUNT
    }
}
