//! Verification of the server's answers; every mode ends with it.

pub mod audit;
pub mod feed;
pub mod readback;
pub mod shadow;
pub mod transitions;
pub mod turn;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Violations kept as text; the rest are counted.
const TEXTS_MAX: usize = 20;

/// The violations found so far.
#[derive(Debug, Default)]
pub struct Findings {
    count: AtomicU64,
    texts: Mutex<Vec<String>>,
}

impl Findings {
    /// Adds a violation.
    pub fn add(&self, text: impl Into<String>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut texts) = self.texts.lock()
            && texts.len() < TEXTS_MAX
        {
            texts.push(text.into());
        }
    }

    /// Adds the violation of an error.
    pub fn check<E: Into<String>>(&self, result: Result<(), E>) {
        if let Err(text) = result {
            self.add(text);
        }
    }

    /// The number of violations.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The texts of the first violations.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().map(|texts| texts.clone()).unwrap_or_default()
    }
}
