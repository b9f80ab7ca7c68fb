//! What must hold, and whether it does. Every mode ends in these checks.

pub mod audit;
pub mod feed;
pub mod readback;
pub mod shadow;
pub mod transitions;
pub mod turn;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many violations are told in words; the rest are counted.
const TOLD_MAX: usize = 20;

/// The violations found so far.
#[derive(Debug, Default)]
pub struct Findings {
    count: AtomicU64,
    texts: Mutex<Vec<String>>,
}

impl Findings {
    /// Notes a violation.
    pub fn add(&self, text: impl Into<String>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut told) = self.texts.lock()
            && told.len() < TOLD_MAX
        {
            told.push(text.into());
        }
    }

    /// Notes a violation, if there is one.
    pub fn check<E: Into<String>>(&self, result: Result<(), E>) {
        if let Err(text) = result {
            self.add(text);
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The first of them in words.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().map(|told| told.clone()).unwrap_or_default()
    }
}
