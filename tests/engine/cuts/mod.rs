//! A load of two thousand acts, cut at each write and each sync, and with a fault at each write
//! and each sync of each of its commits: what was acknowledged is there, and no half act is.
//!
//! `PARLEY_CUTS=all cargo test --release --test engine cuts::` leaves nothing out; else every sync
//! is looked at and a part of the writes, another part with each `PARLEY_SEED`.

mod audit;
mod faults;
mod load;
mod power;

/// Threads that go through the moments of a load at once.
const WORKERS: usize = 2;

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Of so many writes one; of syncs each.
    stride: usize,
    seed: u64,
}

impl Extent {
    /// As the environment says; `stride` where it does not say "all".
    fn read(stride: usize) -> Self {
        let seed = std::env::var("PARLEY_SEED").ok().map_or(1, |text| text.parse().unwrap());
        let all = std::env::var("PARLEY_CUTS").is_ok_and(|text| text == "all");
        Self { stride: if all { 1 } else { stride }, seed }
    }

    /// Whether the moment `at` is one of those that are looked at.
    fn takes(self, at: usize) -> bool {
        (at as u64 + self.seed).is_multiple_of(self.stride as u64)
    }
}
