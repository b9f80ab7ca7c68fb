//! Random numbers from a seed.

use std::sync::atomic::{AtomicU64, Ordering};

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of random numbers (SplitMix64) that tasks may share: the same seed gives the same
/// numbers in the same order.
#[derive(Debug, Default)]
pub struct Rng(AtomicU64);

impl Clone for Rng {
    fn clone(&self) -> Self {
        Self::new(self.0.load(Ordering::Relaxed))
    }
}

impl Rng {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The sequence `name` of `seed`, unlike its others.
    pub fn series(seed: u64, name: u64) -> Self {
        let rng = Self::new(seed.wrapping_mul(STEP) ^ name);
        rng.number();
        rng
    }

    /// The next number.
    pub fn number(&self) -> u64 {
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&self, end: u64) -> u64 {
        self.number() % end
    }

    /// An index into something of this length, which is not 0.
    pub fn index(&self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// True once in `times`.
    pub fn once_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of `items`, which are not empty.
    pub fn pick<T: Clone>(&self, items: &[T]) -> T {
        items[self.index(items.len())].clone()
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
