//! The seeds that must pass.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::world::{Plan, Report, run};

/// Steps of a run.
pub const STEPS: u64 = 500;

/// A number from the environment.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// Goal: whatever happens, and in whatever order, nothing acknowledged is lost, no refusal is taken
/// back, listeners and inboxes are told what is so, and every caller has its answer. Method: the
/// shipped parts under seeded delays, panics, crashes, failing disks, clock jumps, slow listeners,
/// retries and revocations, compared after every step with what the language makes of the log.
/// `PARLEY_SEEDS` says how many seeds, `PARLEY_SEED` which is the first, `PARLEY_STEPS` how long.
#[test]
fn seeds() {
    let (first, count) = (number("PARLEY_SEED").unwrap_or(1), number("PARLEY_SEEDS"));
    let count = count.unwrap_or(if number("PARLEY_SEED").is_some() { 1 } else { 500 });
    let steps = number("PARLEY_STEPS").unwrap_or(STEPS);
    let next = AtomicU64::new(first);
    let work = || {
        let mut sum = Report::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return Ok(sum);
            }
            match run(Plan { seed, steps, fault: None }) {
                Ok(report) => add(&mut sum, &report),
                Err(wrong) => {
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    return Err(format!("seed {seed}, {wrong}"));
                }
            }
        }
    };
    let outcomes = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, usize::from).min(count as usize);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let mut sum = Report::default();
    for outcome in outcomes {
        add(&mut sum, &outcome.unwrap_or_else(|wrong| panic!("{wrong}")));
    }
    println!("seeds {first} to {}, {steps} steps each: {sum:?}", first + count - 1);
    assert!(sum.acknowledged > sum.refused, "most calls are to succeed");
    assert!(sum.frames > 0 && sum.lives > count);
}

fn add(sum: &mut Report, report: &Report) {
    sum.sum ^= report.sum;
    sum.lives += report.lives;
    sum.entries += report.entries;
    sum.acknowledged += report.acknowledged;
    sum.refused += report.refused;
    sum.frames += report.frames;
}

/// Goal: a seed is the whole of a run. Method: some seeds twice, all that happened compared.
#[test]
fn again() {
    for seed in [1, 2, 3, 5, 8, 13, 21, 34] {
        let plan = Plan { seed, steps: STEPS, fault: None };
        assert_eq!(run(plan), run(plan), "seed {seed}");
    }
}
