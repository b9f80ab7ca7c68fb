//! The seeds that must pass.

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parley_kit::number;

use super::world::{Plan, Report, run};

/// Steps of a run.
pub const STEPS: u64 = 500;

/// Seeds that may find something before the rest is left out.
const FOUND_MAX: usize = 12;

/// Goal: whatever happens, and in whatever order, nothing acknowledged is lost, no refusal is taken
/// back, listeners and inboxes are told what is so, and every caller has its answer. Method: the
/// shipped parts under seeded delays, panics, crashes, failing disks, clock jumps, slow listeners,
/// repeated calls and revocations, compared after each step with what the language makes of the
/// log. `PARLEY_SEEDS` says how many seeds, `PARLEY_SEED` which is the first, `PARLEY_STEPS` how
/// long a run is.
#[test]
fn seeds() {
    let seeds = parley_kit::seeds(if env::var_os("PARLEY_SEED").is_some() { 1 } else { 500 });
    let (steps, count) = (number("PARLEY_STEPS", STEPS), seeds.end - seeds.start);
    let next = AtomicU64::new(seeds.start);
    let (sum, found) = (Mutex::new(Report::default()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || found.lock().unwrap().len() >= FOUND_MAX {
                return;
            }
            match run(Plan { seed, steps, fault: None }) {
                Ok(report) => add(&mut sum.lock().unwrap(), &report),
                Err(wrong) => found.lock().unwrap().push(format!("seed {seed}, {wrong}")),
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, usize::from).min(count as usize);
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let (sum, found) = (sum.into_inner().unwrap(), found.into_inner().unwrap());
    println!("seeds {seeds:?}, {steps} steps each: {sum:?}");
    assert!(found.is_empty(), "{}", found.join("\n"));
    if count >= 100 {
        let refused = sum.reasons.values().sum();
        assert!(sum.acknowledged > refused, "most calls are to succeed");
        assert!(sum.frames > sum.entries / 4 && sum.runs > count, "little happens");
    }
}

fn add(sum: &mut Report, report: &Report) {
    sum.sum ^= report.sum;
    sum.runs += report.runs;
    sum.entries += report.entries;
    sum.acknowledged += report.acknowledged;
    for (reason, count) in &report.reasons {
        *sum.reasons.entry(reason).or_default() += count;
    }
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
