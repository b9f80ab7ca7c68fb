//! Measures of a round: latencies, outcomes, medians.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies above a minute are recorded as a minute.
const MICROS_MAX: u64 = 60_000_000;
const DIGITS: u8 = 3;
/// Connections share histograms, to bound their memory.
const SHARDS: usize = 8;

/// Histograms of latencies in microseconds, one for each slice of time.
#[derive(Debug)]
pub struct Latencies {
    shards: Vec<Mutex<Vec<Histogram<u64>>>>,
}

impl Latencies {
    /// Histograms for `slices` slices, at least one.
    pub fn new(slices: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::new(vec![empty(); slices.max(1)])).collect();
        Self { shards }
    }

    /// Records a latency of connection `index` in a slice, at most the last one.
    pub fn record(&self, index: usize, slice: usize, micros: u64) {
        if let Ok(mut slices) = self.shards[index % SHARDS].lock() {
            let last = slices.len() - 1;
            slices[slice.min(last)].saturating_record(micros.clamp(1, MICROS_MAX));
        }
    }

    /// Removes all values.
    pub fn clear(&self) {
        for shard in &self.shards {
            if let Ok(mut slices) = shard.lock() {
                slices.iter_mut().for_each(Histogram::reset);
            }
        }
    }

    /// The values of one slice, or of all.
    pub fn merged(&self, slice: Option<usize>) -> Histogram<u64> {
        let mut merged = empty();
        for shard in &self.shards {
            let Ok(slices) = shard.lock() else { continue };
            for (index, histogram) in slices.iter().enumerate() {
                if slice.is_none_or(|slice| slice == index) {
                    // All histograms have the same bounds, so adding cannot fail.
                    let _ = merged.add(histogram);
                }
            }
        }
        merged
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MICROS_MAX, DIGITS)
        .unwrap_or_else(|_| unreachable!("fixed bounds"))
}

/// The percentiles that are reported, in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Percentiles {
    /// Number of values.
    pub count: u64,
    /// The median.
    pub p50_ms: f64,
    /// The 90th percentile.
    pub p90_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The 99.9th percentile.
    pub p99_9_ms: f64,
    /// The largest.
    pub max_ms: f64,
}

impl From<&Histogram<u64>> for Percentiles {
    fn from(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Self {
            count: histogram.len(),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p99_9_ms: at(0.999),
            max_ms: histogram.max() as f64 / 1000.0,
        }
    }
}

/// Counts of outcomes.
#[derive(Debug, Default)]
pub struct Tally {
    /// Acknowledged acts.
    pub acknowledged: AtomicU64,
    /// Calls without an answer, or with an answer outside the specification.
    pub failed: AtomicU64,
    refused: Mutex<BTreeMap<String, u64>>,
    failures: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts an acknowledgement.
    pub fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a refusal by its reason.
    pub fn refuse(&self, reason: &str) {
        if let Ok(mut refused) = self.refused.lock() {
            *refused.entry(reason.to_owned()).or_insert(0) += 1;
        }
    }

    /// Counts a failure and keeps the texts of the first five.
    pub fn fail(&self, text: impl Into<String>) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut failures) = self.failures.lock()
            && failures.len() < 5
        {
            failures.push(text.into());
        }
    }

    /// Discards the failures after the first `before`, which a kill provoked; returns their number.
    pub fn discard_failures(&self, before: u64) -> u64 {
        let failed = self.failed.swap(before, Ordering::Relaxed);
        if let Ok(mut failures) = self.failures.lock() {
            failures.truncate(before as usize);
        }
        failed - before
    }

    /// Refusals by reason and the first failure, in one line.
    pub fn summary(&self) -> String {
        let refused = self.refused();
        format!("refused {refused:?}, first failure {:?}", self.failures().first())
    }

    /// Refusals by reason.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        self.refused.lock().map(|refused| refused.clone()).unwrap_or_default()
    }

    /// The texts of the first failures.
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().map(|failures| failures.clone()).unwrap_or_default()
    }
}

/// The median; 0 without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[length / 2],
        length => f64::midpoint(sorted[length / 2 - 1], sorted[length / 2]),
    }
}

/// The value that `share` of the values do not exceed; 0 without values.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Largest minus smallest value, as a share of the median.
pub fn spread(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let middle = median(values);
    if middle > 0.0 { (high - low) / middle } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: medians and spreads are right. Method: small lists.
    #[test]
    fn medians() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!((spread(&[90.0, 100.0, 105.0]) - 0.15).abs() < 1e-9);
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert!((percentile(&hundred, 0.99) - 99.0).abs() < 1e-9);
        assert!((percentile(&[7.0], 0.99) - 7.0).abs() < 1e-9);
    }

    /// Goal: no latency is lost between shards and slices. Method: record and merge.
    #[test]
    fn merges() {
        let latencies = Latencies::new(2);
        for index in 0..100 {
            latencies.record(index, index % 3, 1000);
        }
        assert_eq!(latencies.merged(None).len(), 100);
        assert_eq!(latencies.merged(Some(0)).len(), 34);
        let percentiles = Percentiles::from(&latencies.merged(None));
        assert!((percentiles.p50_ms - 1.0).abs() < 0.01);
    }
}
