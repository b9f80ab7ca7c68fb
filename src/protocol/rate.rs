//! The rate of writes of one identity (parley.md §9): a bucket that fills steadily and admits a
//! burst. Time is an argument.

use crate::limits::Limits;

/// Milliseconds of a minute.
const MINUTE_MS: u64 = 60_000;

/// The writes that one identity has left.
///
/// Counted in parts, so that no rounding loses or gives anything: a write costs 60 000 of them, and
/// each millisecond brings `writes_per_minute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateBucket {
    parts: u64,
    at_ms: u64,
}

impl RateBucket {
    /// A full bucket at `now_ms`, a time that never runs backwards; earlier ones count as none
    /// passed.
    pub fn full(limits: &Limits, now_ms: u64) -> Self {
        Self { parts: capacity(limits), at_ms: now_ms }
    }

    /// Takes one write.
    ///
    /// # Errors
    /// The milliseconds after which one will be there, at least 1.
    pub fn take(&mut self, limits: &Limits, now_ms: u64) -> Result<(), u64> {
        let per_ms = limits.writes_per_minute;
        if per_ms == 0 {
            return Ok(());
        }
        self.fill(limits, now_ms);
        match self.parts.checked_sub(MINUTE_MS) {
            Some(rest) => {
                self.parts = rest;
                Ok(())
            }
            None => Err((MINUTE_MS - self.parts).div_ceil(per_ms).max(1)),
        }
    }

    /// Whether it is full at `now_ms`, so that forgetting it changes nothing.
    pub fn is_full(&mut self, limits: &Limits, now_ms: u64) -> bool {
        self.fill(limits, now_ms);
        self.parts >= capacity(limits)
    }

    fn fill(&mut self, limits: &Limits, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.at_ms);
        let brought = passed.saturating_mul(limits.writes_per_minute);
        self.parts = self.parts.saturating_add(brought).min(capacity(limits));
        self.at_ms = self.at_ms.max(now_ms);
    }
}

fn capacity(limits: &Limits) -> u64 {
    limits.writes_burst.saturating_mul(MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(writes_per_minute: u64, writes_burst: u64) -> Limits {
        Limits { writes_per_minute, writes_burst, ..Limits::default() }
    }

    /// Goal: a burst, then the steady rate, and the wait named is the least that helps. Method:
    /// take all, then at the named moment and just before it.
    #[test]
    fn burst_then_rate() {
        let limits = limits(600, 3);
        let mut bucket = RateBucket::full(&limits, 1_000);
        for _ in 0..3 {
            assert_eq!(bucket.take(&limits, 1_000), Ok(()));
        }
        assert_eq!(bucket.take(&limits, 1_000), Err(100));
        assert_eq!(bucket.take(&limits, 1_099), Err(1));
        assert!(!bucket.is_full(&limits, 1_099));
        assert_eq!(bucket.take(&limits, 1_100), Ok(()));
        assert_eq!(bucket.take(&limits, 900), Err(100));
        assert!(bucket.is_full(&limits, 1_400));
        assert_eq!(bucket.take(&limits, u64::MAX), Ok(()));
    }

    /// Goal: over a long time exactly the rate gets through, with any steps. Method: one
    /// minute in steps of 7 ms.
    #[test]
    fn nothing_is_lost() {
        let limits = limits(77, 1);
        let mut bucket = RateBucket::full(&limits, 0);
        let taken = (1..=60_000 / 7).filter(|step| bucket.take(&limits, step * 7).is_ok());
        assert_eq!(taken.count(), 77);
    }

    /// Goal: 0 switches the rate off.
    #[test]
    fn off() {
        let limits = limits(0, 1);
        let mut bucket = RateBucket::full(&limits, 0);
        assert!((0..1_000).all(|_| bucket.take(&limits, 0).is_ok()));
    }
}
