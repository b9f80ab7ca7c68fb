//! What happened in a run, boiled down to one number: two runs of one seed must come to the same.

use std::fmt::Arguments;
use std::hash::{DefaultHasher, Hasher};

/// The trace of a run. `PARLEY_TRACE` set prints it as it grows.
#[derive(Debug)]
pub struct Trace {
    hasher: DefaultHasher,
    prints: bool,
}

impl Default for Trace {
    fn default() -> Self {
        // Its keys are fixed: the same texts come to the same number in every process.
        let prints = std::env::var_os("PARLEY_TRACE").is_some();
        Self { hasher: DefaultHasher::new(), prints }
    }
}

impl Trace {
    /// Something happened.
    pub fn note(&mut self, what: &str, numbers: &[u64]) {
        self.hasher.write(what.as_bytes());
        for number in numbers {
            self.hasher.write_u64(*number);
        }
        if self.prints {
            eprintln!("{what} {numbers:?}");
        }
    }

    /// A remark for readers of the trace; no part of the sum.
    pub fn remark(&self, what: Arguments<'_>) {
        if self.prints {
            eprintln!("{what}");
        }
    }

    /// The number so far.
    pub fn sum(&self) -> u64 {
        self.hasher.finish()
    }
}

/// The number that stands for these bytes.
pub fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
