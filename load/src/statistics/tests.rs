//! Tests of the judgement on synthetic pairs.

use super::*;

const BLOCK: usize = 12;
const PAIRS_MAX: usize = 36;
const SEEDS: u64 = 30;

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9
}

/// Goal: the interval is that of the percentile bootstrap. Method: the survival times of mice from
/// Efron and Tibshirani, "An Introduction to the Bootstrap", table 2.1. The bootstrap distribution
/// of their median can be reckoned: it exceeds the k-th of n values unless at least half of n draws
/// fall on the first k. For seven values 1.0 % lie on the first and 10.8 % on the first two, for
/// nine 0.1 % and 3.0 %, so that 2.5 % are reached on the second from each end.
#[test]
fn interval_of_known_table() {
    let treated = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];
    let control = [52.0, 104.0, 146.0, 10.0, 51.0, 30.0, 40.0, 27.0, 46.0];
    let table: [(&[f64], [f64; 3]); 4] = [
        (&treated, [23.0, 94.0, 141.0]),
        (&control, [27.0, 46.0, 104.0]),
        (&[2.5], [2.5; 3]),
        (&[], [0.0; 3]),
    ];
    for (values, [low, median, high]) in table {
        assert_eq!(Estimate::of(values, 1, 0), Estimate { median, low, high });
    }
}

/// Goal: a sample's median is that of its values, sorted. Method: draws of even and odd number
/// beside the same draws from a second generator, put through the plain median.
#[test]
fn median_of_sample() {
    for count in 1..20_usize {
        let sorted: Vec<f64> = (0..count).map(|value| (value * value) as f64).collect();
        let (mut rng, mut same) = (Rng::new(count as u64, 0), Rng::new(count as u64, 0));
        let sample: Vec<f64> =
            sorted.iter().map(|_| sorted[same.below(count as u64) as usize]).collect();
        assert!(is_near(resampled_median(&sorted, &mut rng), median(&sample)), "{sample:?}");
    }
}

/// Goal: a seed reproduces an interval. Method: the same values under one seed twice and under
/// others.
#[test]
fn seed_reproduces_interval() {
    let mut rng = Rng::new(7, 7);
    let values: Vec<f64> = (0..36).map(|_| unit(&mut rng)).collect();
    let estimates: Vec<Estimate> =
        [1, 1, 2, 3, 4].map(|seed| Estimate::of(&values, seed, 0)).into();
    assert_eq!(estimates[0], estimates[1]);
    assert!(estimates[2..].iter().any(|it| it != &estimates[0]), "{estimates:?}");
}

/// Goal: the bounds are those of the rule. Method: 97 % and 100 %.
#[test]
fn bounds_of_share() {
    let bounds = Bounds::of_share(0.97);
    assert!(is_near(bounds.rate_min, 0.97) && is_near(bounds.rate_low_min, 0.94));
    assert!((bounds.cpu_max - 1.06).abs() < 0.005, "{bounds:?}");
    assert!(is_near(Bounds::of_share(1.0).cpu_max, 1.0));
}

/// Goal: each bound counts, and an interval that leaves it open asks for more. Method: a table of
/// estimates at 97 %.
#[test]
fn judges_estimates() {
    let even = (1.0, 0.99, 1.01);
    let table = [
        (even, even, Judgement::Kept),
        // The bounds themselves are kept.
        ((0.97, 0.94, 1.0), (2.0 / 0.97 - 1.0, 1.0, 1.1), Judgement::Kept),
        // The rate lies below its bound as a whole, or closely around it.
        ((0.95, 0.92, 0.969), even, Judgement::Slower),
        ((0.965, 0.955, 0.98), even, Judgement::Slower),
        // The rate's median or its lower end is too low, and the bound lies within a wide interval.
        ((0.965, 0.93, 1.0), even, Judgement::Undecided),
        ((1.0, 0.93, 1.05), even, Judgement::Undecided),
        // The same for the processor time.
        (even, (1.1, 1.07, 1.2), Judgement::Slower),
        (even, (1.065, 1.055, 1.075), Judgement::Slower),
        (even, (1.1, 1.0, 1.2), Judgement::Undecided),
        (even, (1.0, 0.9, 1.2), Judgement::Kept),
        // What is slower in one respect stays so, whatever the other leaves open.
        ((1.0, 0.9, 1.05), (1.1, 1.07, 1.2), Judgement::Slower),
    ];
    let of = |(median, low, high)| Estimate { median, low, high };
    for (rate, cpu, expected) in table {
        let outcome = Bounds::of_share(0.97).judge_ratios(&of(rate), &of(cpu));
        assert_eq!(outcome, expected, "rate {rate:?}, processor time {cpu:?}");
    }
}

/// A number from 0 to 1.
fn unit(rng: &mut Rng) -> f64 {
    rng.below(1 << 52) as f64 / (1_u64 << 52) as f64
}

/// One pair of rounds whose values lie within `noise` of the truth, which is 1 for the base.
fn noisy(rng: &mut Rng, rate: f64, cpu: f64, noise: f64) -> Ratios {
    let mut ratio = |truth: f64| {
        let mut round = || 1.0 + noise * (2.0 * unit(rng) - 1.0);
        truth * round() / round()
    };
    Ratios { rate: ratio(rate), p99: ratio(1.0), cpu: ratio(cpu) }
}

/// The conclusions of as many comparisons as there are seeds, and the pairs that each took.
fn compare(rate: f64, cpu: f64, noise: f64) -> Vec<(Judgement, usize)> {
    let one = |seed| {
        let mut rng = Rng::new(seed, 99);
        let mut series = Series::new(BLOCK, PAIRS_MAX, Bounds::of_share(0.97), seed);
        loop {
            if let Some(conclusion) = series.conclusion() {
                return (conclusion.outcome, series.pairs());
            }
            series.push(Some(noisy(&mut rng, rate, cpu, noise)));
        }
    };
    (0..SEEDS).map(one).collect()
}

fn count(outcomes: &[(Judgement, usize)], wanted: Judgement) -> usize {
    outcomes.iter().filter(|(outcome, _)| *outcome == wanted).count()
}

/// Goal: a slowdown of 10 % is found beside noise of 5 %, in the rate and in the processor time.
/// Method: synthetic pairs under many seeds; each comparison must end as slower.
#[test]
fn finds_planted_slowdown() {
    for (rate, cpu) in [(0.9, 1.0), (0.9, 1.0 / 0.9), (1.0, 1.0 / 0.9)] {
        let outcomes = compare(rate, cpu, 0.05);
        assert_eq!(
            count(&outcomes, Judgement::Slower),
            outcomes.len(),
            "{rate} {cpu} {outcomes:?}"
        );
    }
}

/// Goal: noise of 5 % around equality is not called slower. Method: synthetic pairs under many
/// seeds; each comparison must end as kept, most with the first block.
#[test]
fn forgives_noise() {
    let outcomes = compare(1.0, 1.0, 0.05);
    assert_eq!(count(&outcomes, Judgement::Kept), outcomes.len(), "{outcomes:?}");
    let short = outcomes.iter().filter(|(_, pairs)| *pairs == BLOCK).count();
    assert!(short * 2 > outcomes.len(), "{short} of {} ended with one block", outcomes.len());
}

/// Goal: noise too large for the pairs is not called slower, and pairs are added before that is
/// said. Method: equality under noise of 30 %.
#[test]
fn adds_pairs_in_noise() {
    let outcomes = compare(1.0, 1.0, 0.3);
    assert!(count(&outcomes, Judgement::Slower) * 20 <= outcomes.len(), "{outcomes:?}");
    let undecided: Vec<_> = outcomes.iter().filter(|it| it.0 == Judgement::Undecided).collect();
    assert!(!undecided.is_empty());
    assert!(undecided.iter().all(|(_, pairs)| *pairs == PAIRS_MAX), "{undecided:?}");
}

/// Goal: void pairs do not count, are replaced, and make the whole void where they are too many.
/// Method: equal rounds with some void pairs before them.
#[test]
fn void_pairs() {
    let even = Ratios { rate: 1.0, p99: 1.0, cpu: 1.0 };
    let run = |void: usize| {
        let mut series = Series::new(BLOCK, PAIRS_MAX, Bounds::of_share(0.97), 1);
        (0..void).for_each(|_| series.push(None));
        let conclusion = loop {
            if let Some(conclusion) = series.conclusion() {
                break conclusion;
            }
            series.push(Some(even));
        };
        (conclusion.outcome, series.counted(), series.void())
    };
    assert_eq!(run(0), (Judgement::Kept, 12, 0));
    assert_eq!(run(5), (Judgement::Kept, 12, 5));
    // More void pairs than others: pairs are added until they are as many.
    assert_eq!(run(18), (Judgement::Kept, 18, 18));
    assert_eq!(run(19), (Judgement::Void, 17, 19));
    assert_eq!(run(30), (Judgement::Void, 6, 30));
}

/// Goal: a ratio that is not finite or not above 0 is unusable. Method: one of each kind.
#[test]
fn unusable_ratios() {
    let even = Ratios { rate: 1.0, p99: 1.0, cpu: 1.0 };
    assert!(even.are_usable());
    for value in [f64::NAN, f64::INFINITY, 0.0] {
        assert!(!Ratios { rate: value, ..even }.are_usable());
        assert!(!Ratios { p99: value, ..even }.are_usable());
        assert!(!Ratios { cpu: value, ..even }.are_usable());
    }
}
