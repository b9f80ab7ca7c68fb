//! Faults injected at the seams of the simulation: it must find each within 200 seeds. Those that
//! have no seam are patches in `tests/planted`, tried by a script (docs/TESTING.md).

use super::injector::Fault;
use super::seeds::STEPS;
use super::world::{Plan, run};

/// Seeds within which a fault must be found.
const SEEDS: u64 = 200;

/// Runs seeds until one finds the fault.
fn found(fault: Fault) {
    for seed in 1..=SEEDS {
        if let Err(wrong) = run(Plan { seed, steps: STEPS, fault: Some(fault) }) {
            assert!(wrong.injected > 0, "seed {seed}: {wrong}");
            let wrong: String = wrong.to_string().chars().take(300).collect();
            println!("{fault:?}: found by seed {seed}, {wrong}");
            return;
        }
    }
    panic!("{fault:?}: not found within {SEEDS} seeds");
}

/// Goal: an acknowledgement that does not wait for the sync is found. Method: half of the syncs of
/// the log do nothing.
#[test]
fn acknowledge_before_sync() {
    found(Fault::AcknowledgeBeforeSync);
}

/// Goal: a listener that is not told is found. Method: one frame in sixteen does not reach its
/// listener.
#[test]
fn drop_one_notification() {
    found(Fault::DropNotification);
}

/// Goal: a feed that resumes too late is found. Method: one in sixteen begins an entry later than
/// its cursor says.
#[test]
fn skip_one_cursor() {
    found(Fault::SkipCursor);
}

/// Goal: a revocation that a restart takes back is found. Method: from half of the revocations on
/// no sync of the tokens does anything.
#[test]
fn forget_a_revocation() {
    found(Fault::ForgetRevocation);
}

/// Goal: a permit that does not come back is found. Method: one call in sixteen loses one.
#[test]
fn lose_a_permit() {
    found(Fault::LosePermit);
}

/// Goal: a replay that tells something twice is found. Method: one step in sixteen of a replay
/// reaches its listener twice.
#[test]
fn replay_twice() {
    found(Fault::ReplayTwice);
}

/// Goal: a confirmation by who may not is found. Method: the author of each is taken for a lock
/// holder.
#[test]
fn confirm_without_lock() {
    found(Fault::ConfirmWithoutLock);
}

/// Goal: a call that is carried out twice under one key is found. Method: half of the calls with a
/// key come without it.
#[test]
fn forget_a_key() {
    found(Fault::ForgetKey);
}
