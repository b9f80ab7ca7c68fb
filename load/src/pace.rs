//! The schedule of an open loop: when each request is due.

use std::time::{Duration, Instant};

use crate::clock;

/// The schedule of one connection in an open loop; a closed loop has none.
///
/// The latency of a request counts from the moment at which the request was due, not from the
/// moment at which the generator sent it: a stall of the server delays every request due meanwhile.
#[derive(Debug, Clone)]
pub struct Pace {
    start: Instant,
    due: Duration,
    interval: Duration,
    burst: f64,
}

/// The burst takes the last second of this period.
const BURST_PERIOD_SECONDS: u64 = 10;

impl Pace {
    /// A share of `rate` for connection `index` of `count`, beginning at `start`.
    pub fn new(start: Instant, rate: f64, burst: f64, index: usize, count: usize) -> Self {
        let interval = Duration::from_secs_f64(count as f64 / rate);
        let due = interval.mul_f64(index as f64 / count as f64);
        Self { start, due, interval, burst }
    }

    /// The next moment at which a request is due.
    pub fn next(&mut self) -> Instant {
        let due = self.start + self.due;
        let bursting = self.due.as_secs() % BURST_PERIOD_SECONDS == BURST_PERIOD_SECONDS - 1;
        let factor = if bursting { self.burst } else { 1.0 };
        self.due += self.interval.div_f64(factor);
        due
    }
}

/// Waits until shortly before `due`; returns the moment from which the latency counts, or none if
/// `due` is not before `until`.
///
/// The runtime's timers have a resolution of a millisecond and fire late. Waking a millisecond
/// early keeps the rate; the latency of a request sent early counts from its sending.
pub async fn wait_until_due(due: Instant, until: Instant) -> Option<Instant> {
    const GRAIN: Duration = Duration::from_millis(1);
    if due >= until {
        return None;
    }
    if let Some(early) = due.checked_sub(GRAIN)
        && early > clock::now()
    {
        tokio::time::sleep_until(tokio::time::Instant::from_std(early)).await;
    }
    Some(due.min(clock::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: all connections together keep the rate, and bursts. Method: count a period.
    #[test]
    fn keeps_rate() {
        let start = crate::clock::now();
        let count = |burst| {
            let mut total = 0;
            for index in 0..4 {
                let mut pace = Pace::new(start, 100.0, burst, index, 4);
                while pace.next() < start + Duration::from_secs(10) {
                    total += 1;
                }
            }
            total
        };
        assert!((995..=1005).contains(&count(1.0)), "{}", count(1.0));
        assert!((1390..=1410).contains(&count(5.0)), "{}", count(5.0));
    }
}
