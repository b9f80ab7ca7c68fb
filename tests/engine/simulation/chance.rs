//! Chance that comes again with its seed. One series is drawn from by all that take part in a run:
//! what comes when is part of what the seed decides.

use std::sync::atomic::{AtomicU64, Ordering};

/// Random numbers from a seed (SplitMix64).
#[derive(Debug)]
pub struct Chance(AtomicU64);

impl Chance {
    /// The series `name` of `seed`.
    pub fn new(seed: u64, name: u64) -> Self {
        let chance = Self(AtomicU64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ name));
        chance.number();
        chance
    }

    /// The next number.
    pub fn number(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&self, end: u64) -> u64 {
        self.number() % end
    }

    /// A place in something of this length, which is not 0.
    pub fn place(&self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which are not empty.
    pub fn pick<T: Copy>(&self, items: &[T]) -> T {
        items[self.place(items.len())]
    }

    /// One of `items`, by weight.
    pub fn weighed<T: Copy>(&self, items: &[(u64, T)]) -> T {
        let mut left = self.below(items.iter().map(|(weight, _)| weight).sum());
        for (weight, item) in items {
            if left < *weight {
                return *item;
            }
            left -= weight;
        }
        unreachable!("the weights sum up")
    }
}
