//! Attacks on the real binary, each at a stated rate: its bound holds, others are served meanwhile,
//! and answering it costs the server at most a fifth of one core.
//!
//! `PARLEY_ATTACK=full PARLEY_BINARY=target/release/parley cargo test --test process attack:: --
//! --nocapture --test-threads=1` attacks a release build at the rates that SECURITY.md states;
//! without that the build under test is attacked at a tenth of them.

mod connections;
mod pace;
mod requests;
mod sockets;
mod target;

use std::time::Duration;

/// How hard is attacked.
#[derive(Clone, Copy, Debug)]
pub struct Force {
    /// Rates are divided by this.
    divisor: u64,
    /// How long each attack lasts.
    lasts: Duration,
}

impl Force {
    /// As the environment says.
    pub fn read() -> Self {
        match std::env::var("PARLEY_ATTACK").as_deref() {
            Ok("full") => Self { divisor: 1, lasts: Duration::from_secs(10) },
            _ => Self { divisor: 10, lasts: Duration::from_secs(2) },
        }
    }

    /// Whether the rates are those that are stated.
    pub fn is_full(self) -> bool {
        self.divisor == 1
    }

    /// The part of a stated rate, or number, that is used.
    pub fn of(self, stated: u64) -> u64 {
        (stated / self.divisor).max(1)
    }
}
