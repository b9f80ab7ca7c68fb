//! Statistics of a comparison: medians of the ratios of pairs of rounds, their intervals by
//! bootstrap, and the bounds of both. No clock, no server.

use std::iter::repeat_n;

use serde::Serialize;

use crate::measure::{median, percentile};
use crate::rng::Rng;

/// Resamples of one interval.
const RESAMPLES: usize = 10_000;
/// The share outside the interval at each end: 95 % lie within.
const TAIL: f64 = 0.025;
/// How far the lower end of the rate's interval may lie below the bound of its median. An interval
/// wider than that cannot decide about a bound within it.
const MARGIN: f64 = 0.03;

/// A median with its interval of 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The median of the values.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// Estimates the median of `values` by the percentile bootstrap; all 0 without values.
    /// The same seed and stream give the same interval.
    pub fn of(values: &[f64], seed: u64, stream: u64) -> Self {
        let mut rng = Rng::new(seed, stream);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let medians: Vec<f64> =
            (0..RESAMPLES).map(|_| resampled_median(&sorted, &mut rng)).collect();
        let (low, high) = (percentile(&medians, TAIL), percentile(&medians, 1.0 - TAIL));
        Self { median: median(values), low, high }
    }

    /// Whether the interval is too wide to decide about a bound within it.
    fn is_open(&self, bound: f64) -> bool {
        (self.low..=self.high).contains(&bound) && self.high - self.low > MARGIN
    }
}

/// The median of one resample, drawn with replacement. Counting the draws of each value avoids
/// sorting the sample.
fn resampled_median(sorted: &[f64], rng: &mut Rng) -> f64 {
    let mut draws = vec![0_usize; sorted.len()];
    for _ in sorted {
        draws[rng.below(sorted.len() as u64) as usize] += 1;
    }
    let mut drawn = sorted.iter().zip(draws).flat_map(|(value, draws)| repeat_n(*value, draws));
    let middle = sorted.len() / 2;
    if !sorted.len().is_multiple_of(2) {
        return drawn.nth(middle).unwrap_or(0.0);
    }
    let below = middle.checked_sub(1).and_then(|place| drawn.nth(place)).unwrap_or(0.0);
    f64::midpoint(below, drawn.next().unwrap_or(0.0))
}

/// The ratios of one pair of rounds: the new build's value over the base's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratios {
    /// Acts (frames in `fanout`) a second.
    pub rate: f64,
    /// 99th percentile of the latencies.
    pub p99: f64,
    /// The server's processor time an act.
    pub cpu: f64,
}

impl Ratios {
    /// Whether each ratio is finite and above 0.
    pub fn are_usable(&self) -> bool {
        [self.rate, self.p99, self.cpu].iter().all(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}

/// The bounds of "no slower than X %".
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Bounds {
    /// The median ratio of rates must be at least this.
    pub rate_min: f64,
    /// The lower end of the interval of that median must be at least this.
    pub rate_low_min: f64,
    /// The median ratio of processor times an act must be at most this.
    pub cpu_max: f64,
}

impl Bounds {
    /// The bounds for `share`, which is X as a fraction of 1.
    pub fn of_share(share: f64) -> Self {
        Self { rate_min: share, rate_low_min: share - MARGIN, cpu_max: 2.0 / share - 1.0 }
    }

    fn judge_ratios(&self, rate: &Estimate, cpu: &Estimate) -> Judgement {
        let rate_kept = rate.median >= self.rate_min && rate.low >= self.rate_low_min;
        let cpu_kept = cpu.median <= self.cpu_max;
        let rate_slower = !rate_kept && !rate.is_open(self.rate_min);
        let cpu_slower = !cpu_kept && !cpu.is_open(self.cpu_max);
        if rate_kept && cpu_kept {
            Judgement::Kept
        } else if rate_slower || cpu_slower {
            Judgement::Slower
        } else {
            Judgement::Undecided
        }
    }
}

/// The judgement of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// All bounds are kept.
    Kept,
    /// A bound is missed, and its interval is narrow enough or lies beyond the bound.
    Slower,
    /// A bound is missed, its interval is too wide to decide, and no pair may be added.
    Undecided,
    /// Too many pairs were void.
    Void,
}

/// The conclusion of a comparison.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Conclusion {
    /// Ratios of rates.
    pub rate: Estimate,
    /// Ratios of 99th percentiles.
    pub p99: Estimate,
    /// Ratios of processor times an act.
    pub cpu: Estimate,
    /// The judgement.
    pub outcome: Judgement,
}

/// A series of pairs, judged after each block of pairs that count.
///
/// A judgement after each pair would end a comparison at its most favourable pair; blocks keep
/// judgements few.
#[derive(Debug)]
pub struct Series {
    block: usize,
    pairs_max: usize,
    bounds: Bounds,
    seed: u64,
    counted: Vec<Ratios>,
    void: usize,
}

impl Series {
    /// An empty series: blocks of `block` pairs, at most `pairs_max` pairs with the void ones.
    pub fn new(block: usize, pairs_max: usize, bounds: Bounds, seed: u64) -> Self {
        Self { block, pairs_max, bounds, seed, counted: Vec::new(), void: 0 }
    }

    /// Adds the next pair; none if it is void.
    pub fn push(&mut self, pair: Option<Ratios>) {
        match pair {
            Some(ratios) => self.counted.push(ratios),
            None => self.void += 1,
        }
    }

    /// Number of all pairs, void ones included.
    pub fn pairs(&self) -> usize {
        self.counted.len() + self.void
    }

    /// Number of pairs that count.
    pub fn counted(&self) -> usize {
        self.counted.len()
    }

    /// Number of void pairs.
    pub fn void(&self) -> usize {
        self.void
    }

    /// The conclusion; none while more pairs are needed.
    pub fn conclusion(&self) -> Option<Conclusion> {
        let counted = self.counted.len();
        let is_last = self.pairs() >= self.pairs_max;
        let is_block_end = counted >= self.block && counted.is_multiple_of(self.block);
        if !is_last && !is_block_end {
            return None;
        }
        let estimate = |stream, ratio: fn(&Ratios) -> f64| {
            let values: Vec<f64> = self.counted.iter().map(ratio).collect();
            Estimate::of(&values, self.seed, stream)
        };
        let rate = estimate(0, |it| it.rate);
        let p99 = estimate(1, |it| it.p99);
        let cpu = estimate(2, |it| it.cpu);
        let outcome = if counted < self.block || self.void > counted {
            Judgement::Void
        } else {
            self.bounds.judge_ratios(&rate, &cpu)
        };
        let is_open = matches!(outcome, Judgement::Undecided | Judgement::Void);
        (is_last || !is_open).then_some(Conclusion { rate, p99, cpu, outcome })
    }
}

#[cfg(test)]
mod tests;
