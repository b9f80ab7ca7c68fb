//! Listening: from committed entries to feeds (bindings.md §6).

pub mod client;
pub mod connection;
pub mod encode;
pub mod hub;
pub mod inbox;
pub mod inbox_listeners;
pub mod listener;
pub mod publication;
pub mod publish;
pub mod replay;
pub mod replay_cache;
pub mod sse;
pub mod subscriber;
pub mod tickets;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use parley_protocol::entry::{Act, Due};
use parley_protocol::identity::Identity;

/// Counts one thing less of an identity.
fn release(counts: &mut HashMap<Identity, usize>, identity: &Identity) {
    if let Some(count) = counts.get_mut(identity) {
        *count -= 1;
        if *count == 0 {
            counts.remove(identity);
        }
    }
}

/// The participants due before and after an act, where it changes that.
fn dues(act: &Act) -> impl Iterator<Item = &Due> {
    let now = act.awaiting.as_ref().filter(|_| act.awaiting_set);
    now.into_iter().chain(&act.awaiting_was).map(|awaiting| &awaiting.due)
}

/// Locks a mutex, also after a panic of another holder.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
