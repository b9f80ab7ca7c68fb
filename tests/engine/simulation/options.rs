//! What a world is like: its bounds, its pace, how much goes wrong. The seed decides.

use parley::forum::PassivationOptions;
use parley::journal::options::JournalOptions;
use parley::threads::admission::AdmissionBounds;
use parley_kit::Rng;
use parley_protocol::limits::Limits;

/// A world's options.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// Calls under way at most.
    pub calls: usize,
    /// Threads at most.
    pub threads: usize,
    /// Listeners at most.
    pub listeners: usize,
    /// Milliseconds between two steps at most.
    pub pace_ms: u64,
    /// Milliseconds that a send is delayed at most.
    pub delay_ms: u64,
    /// Entries of a commit at most.
    pub batch: u64,
    /// Calls that come under a key, in percent.
    pub keys: u64,
    /// Panics in a thousand acts.
    pub panics: u64,
    /// The weight of a commit among what happens next.
    pub commits: u64,
    /// The weight of crashes, and of a disk that fails, likewise.
    pub crashes: u64,
    pub troubles: u64,
    /// The weight of clock jumps.
    pub jumps: u64,
    pub limits: Limits,
    pub journal: JournalOptions,
    pub bounds: AdmissionBounds,
    pub residence: PassivationOptions,
    /// Live frames that a listener's queue holds.
    pub buffer: usize,
}

impl WorldOptions {
    /// The options that rng gives.
    pub fn new(rng: &Rng) -> Self {
        let calls = 3 + rng.index(8);
        let mut limits = Limits { writes_per_minute: 0, ..Limits::default() };
        if rng.percent(20) {
            (limits.writes_per_minute, limits.writes_burst) = (60, 20);
        }
        if rng.percent(30) {
            limits.consecutive_max = 2 + rng.below(3);
            limits.exchange_max = 2 + rng.below(8);
        }
        Self {
            calls,
            threads: 1 + rng.index(8),
            listeners: rng.index(5),
            pace_ms: rng.pick(&[1, 2, 4, 8]),
            delay_ms: rng.pick(&[0, 1, 3, 8]),
            batch: rng.pick(&[1, 3, 64]),
            keys: rng.pick(&[10, 30, 70]),
            panics: rng.pick(&[0, 0, 5, 25]),
            commits: rng.pick(&[20, 40, 80]),
            crashes: rng.pick(&[0, 1, 2]),
            troubles: rng.pick(&[0, 1, 2]),
            jumps: rng.pick(&[0, 1, 3]),
            journal: JournalOptions {
                free_bytes_min: 1,
                segment_bytes: rng.pick(&[2 << 10, 16 << 10, 64 << 20]),
                tail_entries_max: rng.pick(&[64, 1_000, 200_000]),
                ..JournalOptions::default()
            },
            bounds: AdmissionBounds {
                writes_max: rng.pick(&[2, calls, 64]),
                reads_max: 64,
                wait_ms: rng.pick(&[20, 250]),
            },
            residence: PassivationOptions {
                idle_seconds: rng.below(3),
                resident_threads_max: rng.pick(&[1, 2, 100]),
                sweep_ms: rng.pick(&[1, 5, 20]),
            },
            buffer: rng.pick(&[1, 4, 64]),
            limits,
        }
    }
}
