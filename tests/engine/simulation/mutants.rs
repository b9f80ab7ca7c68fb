//! Faults injected at the seams of the simulation: it must find each within 200 seeds. Those that
//! have no seam are patches in `tests/planted`, tried by a script (docs/TESTING.md).

use super::injector::Fault;
use super::seeds::STEPS;
use super::world::{Plan, run};

/// Seeds within which a fault must be found.
const SEEDS: u64 = 200;

/// Whether a seed finds the fault.
fn is_found(fault: Fault) -> bool {
    let found = (1..=SEEDS).find_map(|seed| {
        let wrong = run(Plan { seed, steps: STEPS, fault: Some(fault) }).err()?;
        Some((seed, wrong))
    });
    found.is_some_and(|(seed, wrong)| {
        assert!(wrong.injected > 0, "{fault:?}, seed {seed}: {wrong}");
        let wrong: String = wrong.to_string().chars().take(300).collect();
        println!("{fault:?}: found by seed {seed}, {wrong}");
        true
    })
}

/// Goal: each fault is found. Method: a row a fault, injected where [`Fault`] says and as often as
/// [`Fault::rarity`] says.
#[test]
fn each_fault_is_found() {
    let mut missed = Fault::ALL.to_vec();
    missed.retain(|fault| !is_found(*fault));
    assert!(missed.is_empty(), "{missed:?}: not found within {SEEDS} seeds");
}
