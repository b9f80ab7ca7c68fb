//! The sources of time and of randomness; no other module asks the machine for them.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parley_protocol::time::Millis;

/// A source of time; tests supply their own.
pub trait Clock: Send + Sync + 'static {
    /// The calendar time now, for what is stored or shown. It may be set ahead or back at any time.
    fn now(&self) -> Millis;

    /// The time that has passed, for rates, timeouts and stalls; it never runs backwards.
    fn moment(&self) -> Moment;

    /// Measures how long something takes.
    fn stopwatch(&self) -> Stopwatch {
        Stopwatch::start()
    }
}

/// Milliseconds since some moment in this process; comparable within one clock only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// Milliseconds from `earlier` until here; 0 if that is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the calendar clock")]
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's timer")]
    fn moment(&self) -> Moment {
        static START: OnceLock<Instant> = OnceLock::new();
        let passed = START.get_or_init(Instant::now).elapsed();
        Moment(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }
}

/// `N` unpredictable bytes, for secrets and keys.
///
/// # Panics
/// If the machine has no source of randomness: going on without one would give away secrets.
#[expect(clippy::disallowed_methods, reason = "the one place that draws random bytes")]
pub fn entropy<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the machine has a source of randomness");
    bytes
}

/// Measures how long something takes, for metrics and for how work is cut: nothing that is stored
/// or answered may depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Option<Instant>);

impl Stopwatch {
    /// Starts measuring.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's timer")]
    pub fn start() -> Self {
        Self(Some(Instant::now()))
    }

    /// One that always reads 0: under a test's clock no work takes time.
    pub fn stopped() -> Self {
        Self(None)
    }

    /// Seconds since the start.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's timer")]
    pub fn seconds(self) -> f64 {
        self.0.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }
}
