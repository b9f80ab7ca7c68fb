//! Faults planted in the shipped code: the simulation must find each within 200 seeds.

use parley::interference::Flaw;

use crate::meddler::Fault;
use crate::seeds::STEPS;
use crate::world::{Plan, run};

/// Seeds within which a fault must be found.
const SEEDS: u64 = 200;

/// Runs seeds until one finds the fault.
fn found(fault: Fault) {
    for seed in 1..=SEEDS {
        if let Err(wrong) = run(Plan { seed, steps: STEPS, fault: Some(fault) }) {
            assert!(wrong.planted > 0, "seed {seed}: {wrong}");
            let wrong: String = wrong.to_string().chars().take(300).collect();
            println!("{fault:?}: found by seed {seed}, {wrong}");
            return;
        }
    }
    panic!("{fault:?}: not found within {SEEDS} seeds");
}

/// Goal: an acknowledgement that does not wait for the sync is found. Method: half of the batches
/// are answered before they are written.
#[test]
fn acknowledge_before_sync() {
    found(Fault::Flaw(Flaw::AcknowledgeBeforeSync));
}

/// Goal: a listener that is not told is found. Method: the hub passes over one act in sixteen.
#[test]
fn drop_one_notification() {
    found(Fault::Flaw(Flaw::DropNotification));
}

/// Goal: a feed that resumes too late is found. Method: one in sixteen begins an entry later than
/// its cursor says.
#[test]
fn skip_one_cursor() {
    found(Fault::Flaw(Flaw::SkipCursor));
}

/// Goal: two actors of one thread are found. Method: one request in sixteen that comes by way of
/// the router wakes its thread again, though it is awake.
#[test]
fn two_actors() {
    found(Fault::Flaw(Flaw::TwoActors));
}

/// Goal: a number that is given twice is found. Method: one message in sixteen has the number of
/// the one before.
#[test]
fn reuse_an_id() {
    found(Fault::Flaw(Flaw::ReuseId));
}

/// Goal: a revocation that a restart takes back is found. Method: half of them are not stored.
#[test]
fn forget_a_revocation() {
    found(Fault::Flaw(Flaw::ForgetRevocation));
}

/// Goal: state that is ahead of judgement is found. Method: at one act in eight what is asked for
/// is applied before anyone has judged it.
#[test]
fn apply_before_admit() {
    found(Fault::ApplyBeforeAdmit);
}

/// Goal: a permit that does not come back is found. Method: one in sixteen is lost.
#[test]
fn lose_a_permit() {
    found(Fault::Flaw(Flaw::LosePermit));
}

/// Goal: a replay that tells something twice is found. Method: one step in sixteen of a replay
/// does not move its place on.
#[test]
fn replay_twice() {
    found(Fault::Flaw(Flaw::ReplayTwice));
}

/// Goal: a confirmation by who may not is found. Method: whoever confirms is judged as a lock
/// holder.
#[test]
fn confirm_without_lock() {
    found(Fault::ConfirmWithoutLock);
}

/// Goal: a call that is carried out twice under one key is found. Method: half of the known keys
/// are not looked up.
#[test]
fn forget_a_key() {
    found(Fault::Flaw(Flaw::ForgetKey));
}

/// Goal: a refusal that tells of what is not on disk is found. Method: half of the answers do not
/// wait for it.
#[test]
fn skip_the_barrier() {
    found(Fault::SkipBarrier);
}
